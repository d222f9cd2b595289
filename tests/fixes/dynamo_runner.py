"""Runs small programs under Dynamo and says what became of each. A script: programs come as JSON on stdin, results go to stdout.

A program is a folder of files with a `main.py` that has `run()`. The result has the operations and graphs captured, the ids of the breaks,
the lines whose operations are in a graph, what was printed and what was returned.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import logging
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch

_CALLS = ("call_function", "call_method", "call_module")


class _Breaks(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        artifact = getattr(record, "metadata", {}).get("artifact", {})
        if artifact.get("name") == "dynamo_graph_break_reason":
            payload: Any = getattr(record, "payload", "")
            self.texts.append(payload() if callable(payload) else payload)


class _Graphs:
    def __init__(self) -> None:
        self.graphs = 0
        self.operations = 0
        self.lines: set[tuple[str, int]] = set()

    def __call__(self, graph: torch.fx.GraphModule, inputs: object) -> torch.fx.GraphModule:
        calls = [node for node in graph.graph.nodes if node.op in _CALLS]
        self.graphs += 1
        self.operations += len(calls)
        for node in calls:
            for file, line in re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or ""):
                self.lines.add((Path(file).name, int(line)))
        return graph


def run(program: dict[str, str], folder: Path, breaks: _Breaks) -> dict[str, Any]:
    """One program, in a process that has run others before."""
    for name, text in program.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
        sys.modules.pop(name.removesuffix(".py"), None)
    breaks.texts.clear()
    graphs = _Graphs()
    original, torch.compile = torch.compile, functools.partial(torch.compile, backend=graphs)
    sys.path.insert(0, str(folder))
    printed = io.StringIO()
    try:
        torch._dynamo.reset()
        torch.manual_seed(0)
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():  # which also puts back what shows them
            importlib.invalidate_caches()
            returned = repr(importlib.import_module("main").run())
    finally:
        torch.compile = original
        sys.path.remove(str(folder))
    found = sorted({code.upper() for text in breaks.texts for code in re.findall(r"/(gb\d+)\.html", text)})
    lines = sorted(graphs.lines)
    return {
        "operations": graphs.operations,
        "graphs": graphs.graphs,
        "codes": found,
        "lines": lines,
        "printed": printed.getvalue(),
        "returned": returned,
    }


def main() -> None:
    """All programs of stdin, in their order."""
    breaks = _Breaks()
    logger = logging.getLogger("torch.__trace")
    logger.addHandler(breaks)
    logger.setLevel(logging.DEBUG)
    results = []
    for program in json.load(sys.stdin):
        with tempfile.TemporaryDirectory() as folder:
            results.append(run(program, Path(folder), breaks))
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
