"""Runs the programs of pages with torch. Reads pairs [code, before, after] as JSON, writes for each which types it reported and whether the
results agree. The backend is always eager; nothing of one program is left for the next."""

from __future__ import annotations

import contextlib
import json
import linecache
import logging
import re
import sys
import types
import warnings
from typing import Any

import torch
import torch._dynamo
from torch._dynamo.utils import counters

ID = re.compile(r"/(gb\d+)\.html")
reported: list[str] = []


class Trace(logging.Handler):
    """Keeps the texts of breaks, and of errors that compiling ends with."""

    def emit(self, record: logging.LogRecord) -> None:
        artifact = (getattr(record, "metadata", None) or {}).get("artifact") or {}
        if artifact.get("name") in ("dynamo_graph_break_reason", "dynamo_error"):
            payload = getattr(record, "payload", "")
            reported.append(str(payload() if callable(payload) else payload))


def run(name: str, text: str) -> tuple[list[str], int, Any]:
    """The types that a program reports, how many graphs were captured, and its `result`."""
    reported.clear()
    torch._dynamo.reset()
    counters.clear()
    module = types.ModuleType(name)
    file = f"/{name}.py"
    sys.modules[name] = module
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    config = torch._dynamo.config.save_config()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(text, file, "exec"), module.__dict__)
    finally:
        torch._dynamo.config.load_config(config)
        torch.set_grad_enabled(True)
    ids = {found.upper() for text in reported for found in ID.findall(text)} | {"?" for text in reported if not ID.search(text)}
    return sorted(ids), counters["stats"]["unique_graphs"], module.__dict__["result"]


def same(one: Any, other: Any) -> bool:
    """Whether two results agree."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.shape == other.shape and one.dtype == other.dtype and torch.allclose(one, other)
    return type(one) is type(other) and bool(one == other)


def outcome(code: str, before: str, after: str) -> dict[str, object]:
    """What became of one page's programs."""
    try:
        first, _, expected = run(f"{code}_before", before)
        second, graphs, got = run(f"{code}_after", after)
    except Exception as error:
        return {"code": code, "error": f"{type(error).__name__}: {error}"}
    return {"code": code, "error": "", "before": first, "after": second, "graphs": graphs, "same": same(expected, got)}


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    compiler = torch.compile
    torch.compile = lambda *args, **kwargs: compiler(*args, **{**kwargs, "backend": "eager"})
    trace = logging.getLogger("torch.__trace")
    trace.addHandler(Trace())
    trace.setLevel(logging.DEBUG)
    json.dump([outcome(*pair) for pair in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
