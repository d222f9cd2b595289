"""How soon the verdict on a fix is there: the cursor on a break, saved, until a code action's title says what its trial showed.

    python -m benchmarks.fixes.verdict [ROUNDS]

Through the real server over stdio; beside each round the same file is traced in a process that is warm. The file has two breaks, and the
cursor is on the second. The exit status is 1 where the median is over its limit.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.speed import machine
from benchmarks.speed.editor import Editor
from benchmarks.speed.reference import Reference

PROGRAM = """\
import torch

NUMBER = {number}


@torch.compile
def f(x):
    x = x * NUMBER
    if x.sum() > 0:
        x = x + 1
    print("mid")
    return x * 2


f(torch.randn(8, 16))
"""
LINE = 10
"""Of the second break, from 0."""
LIMIT = 1.0
"""Seconds from the diagnostics to the verdict."""
_EVERY = 0.02


def main() -> int:
    """Print a line per round, and the medians: the exit status."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(machine.words())
    waited, traces = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "program.py"
        with Editor(folder, folder / "store") as editor, Reference(folder) as reference:
            begin = time.perf_counter()
            editor.open(path, PROGRAM.format(number=1))
            editor.traced(path, begin)
            for number in range(2, rounds + 4):
                editor.rest(2.0)
                trace = reference.trace(path)
                took, title = verdict(editor, path, PROGRAM.format(number=number))
                if number > 3:  # the first rounds make ready what the others find
                    waited.append(took)
                    traces.append(trace)
                    print(f"{took:.2f} s, a warm trace {trace:.2f} s: {title}", flush=True)
    took, trace = statistics.median(waited), statistics.median(traces)
    verdict_on_it, status = judged(took)
    beside = f"{took / trace:.1f} warm traces of {trace:.2f} s"
    print(f"{verdict_on_it:7} median of {rounds}: {took:.2f} s from the diagnostics to the verdict (at most {LIMIT:.2f} s), {beside}")
    return status


def judged(took: float) -> tuple[str, int]:
    """What is said of a median, and the exit status."""
    return ("ok", 0) if took <= LIMIT else ("MISSED", 1)


def verdict(editor: Editor, path: Path, text: str) -> tuple[float, str]:
    """Save a text; the seconds from its diagnostics until a title at the cursor has a verdict, and that title."""
    editor.save(path, text, 2)
    begin = time.perf_counter()
    cursor = {"line": LINE, "character": 6}
    params = {"textDocument": {"uri": path.as_uri()}, "range": {"start": cursor, "end": cursor}, "context": {"diagnostics": []}}
    while time.perf_counter() - begin < 60:
        actions = editor.ask("textDocument/codeAction", params) or []
        title = next((action["title"] for action in actions if " — " in action["title"]), "")
        if title:
            return time.perf_counter() - begin, str(title)
        time.sleep(_EVERY)
    raise RuntimeError("no verdict came within 60 s")


if __name__ == "__main__":
    sys.exit(main())
