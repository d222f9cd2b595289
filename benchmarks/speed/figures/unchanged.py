"""From an edit that cannot change the trace to the diagnostics in their new places."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..editor import Editor
from ..rows import Row, quartiles

SECONDS = 240
_LIMIT = 10.0
_UNRELATED = "def of_nobody(x):\n"
_EDITS = ("# a comment\n", "\n", "    x = x + 1\n", "\n\n", "# another one\n")
"""What is put in: where it is indented into a function that nothing calls, else above it."""


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """Lines are put in above the function that breaks, and the file is saved: what is published with the save, and that nothing is traced
    again. What is stored lies outside the workspace, as it does for users: a new folder beside the program could be a module of its."""
    path = folder / "workspace" / "program.py"
    path.parent.mkdir()
    head, _, rest = programs.small(0).partition("\n")
    moved, again = [], []
    with Editor(path.parent, folder / "store") as editor:
        editor.open(path, f"{head}\n\n\n{_UNRELATED}    return x\n{rest}")
        editor.traced(path, 0.0)
        for number in range(pairs):
            editor.rest(0.3)
            moved.append(_moved(editor, path, _EDITS[number % len(_EDITS)]))
            again.append(_is_traced(editor))
    times = sorted(time * 1000 for time in moved)
    words = f"from the save; {sum(again)} of {len(again)} were traced again"
    yield Row(
        "edit that cannot change the trace → diagnostics moved",
        statistics.median(times),
        "ms",
        _LIMIT,
        len(times),
        *quartiles(times),
        words,
    )


def _moved(editor: Editor, path: Path, inserted: str) -> float:
    """The seconds from the save to diagnostics of the version that was saved, in their new place."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    line = lines.index('    print("mid")\n') + inserted.count("\n")
    at = lines.index(_UNRELATED) + inserted.startswith(" ")
    editor.change(path, at, 0, 0, inserted)
    path.write_text("".join((*lines[:at], inserted, *lines[at:])), encoding="utf-8")
    begin = time.perf_counter()
    editor.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    _, arrived = editor.wait(lambda message: _line_of(message, path) == line, begin)
    return arrived - begin


def _line_of(message: dict[str, object], path: Path) -> int | None:
    params = message.get("params")
    if message.get("method") != "textDocument/publishDiagnostics" or not isinstance(params, dict) or params["uri"] != path.as_uri():
        return None
    places = [found["range"]["start"]["line"] for found in params["diagnostics"] if found.get("code") == "GB0059"]
    return places[0] if places else None


def _is_traced(editor: Editor) -> bool:
    """Whether a trace is begun all the same."""
    time.sleep(1.0)
    states = [message["params"]["state"] for _, message in list(editor.messages) if message.get("method") == "graphbreak/status"]
    return "tracing" in states
