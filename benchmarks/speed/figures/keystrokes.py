"""Keystrokes in a file of 5,000 lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..editor import Editor
from ..rows import Row, tail_row

SECONDS = 420
_LIMIT = 5.0
_LINES = 5000
_KEYS, _BURST = 600, 20


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """From sending a change to the answer of a request behind it that is about no document, less than what that takes alone.

    The file has twenty marked functions with a break each, whose diagnostics move at every key. After each burst of keys there is a
    pause, in which the moved diagnostics are published and the editor asks for its lenses, and then the typing goes on.
    """
    path = folder / "program.py"
    text = programs.long_file(_LINES)
    line = text.split("\n").index("class Layer60(nn.Module):")
    keys, nothing = [], []
    with Editor(folder, folder / "store", {"tryFixes": False}) as editor:
        editor.open(path, text)
        _, diagnostics = editor.traced(path, 0.0, timeout=240)
        editor.rest(2.0)
        for number in range(_KEYS):
            nothing.append(_asked(editor))
            keys.append(_typed(editor, path, line - 1, number % _BURST))
            if number % _BURST == _BURST - 1:
                editor.change(path, line - 1, 0, _BURST, "")
                editor.begin("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
                time.sleep(0.35)
            time.sleep(0.01)
        editor.rest(0.5)
    words = f"{text.count(chr(10))} lines, {len(diagnostics)} diagnostics; a request alone"
    rest = sorted(nothing)[len(nothing) // 2]
    handled = [max(0.0, key - rest) for key in keys]
    yield tail_row("keystroke (didChange) handling, p99, 5,000-line file", handled, _LIMIT, f"{words} {rest * 1000:.1f} ms")


def _asked(editor: Editor) -> float:
    return editor.timed("graphbreak/rule", {"code": "GB0059"})


def _typed(editor: Editor, path: Path, line: int, column: int) -> float:
    begin = time.perf_counter()
    editor.change(path, line, column, column, "#" if column == 0 else "x")
    number = editor.begin("graphbreak/rule", {"code": "GB0059"})
    _, arrived = editor.wait(lambda message: message.get("id") == number and "method" not in message)
    return arrived - begin
