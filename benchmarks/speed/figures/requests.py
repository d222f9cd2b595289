"""Hovers and code actions while a trace runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..editor import Editor
from ..rows import Row, seconds, tail_row

SECONDS = 300
_LIMIT = 30.0
_TRACES = 4


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """Round trips, a hover and a code action in turns, through traces from their save to their diagnostics; and without a trace."""
    path = folder / "program.py"
    busy: list[float] = []
    with Editor(folder, folder / "store", {"tryFixes": False}) as editor:
        editor.open(path, programs.model(0, layers=2))
        editor.traced(path, 0.0)
        editor.rest(3.0)
        quiet = [took for _ in range(60) for took in _both(editor, path)]
        for number in range(1, _TRACES + 1):
            editor.rest(1.0)
            busy += _while_traced(editor, path, programs.model(number, layers=2))
    words = f"median {seconds(statistics.median(busy))}; without a trace {seconds(statistics.median(quiet))}, at most {seconds(max(quiet))}"
    yield tail_row("hover and code action while a trace runs, p99", busy, _LIMIT, words)


def _while_traced(editor: Editor, path: Path, text: str) -> list[float]:
    line = programs.MODEL_LINE
    old = path.read_text(encoding="utf-8").split("\n")[line]
    editor.change(path, line, 0, len(old), text.split("\n")[line])
    path.write_text(text, encoding="utf-8")
    begin = time.perf_counter()
    editor.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    found: list[float] = []
    while not _is_over(editor, path, begin) and time.perf_counter() < begin + 60:
        found += _both(editor, path)
        time.sleep(0.015)
    for _ in range(20):  # and while the report is taken in
        found += _both(editor, path)
    return found


def _both(editor: Editor, path: Path) -> tuple[float, float]:
    document, place = {"uri": path.as_uri()}, {"line": programs.MODEL_LINE - 1, "character": 6}
    action = {"textDocument": document, "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    return (
        editor.timed("textDocument/hover", {"textDocument": document, "position": place}),
        editor.timed("textDocument/codeAction", action),
    )


def _is_over(editor: Editor, path: Path, begin: float) -> bool:
    return any(
        at > begin and one.get("method") == "graphbreak/status" and one["params"]["state"] != "tracing" for at, one in list(editor.messages)
    )
