"""Saves through the server, with warm traces and the cold command in turns."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from .editor import Editor, environment
from .machine import run_quietly
from .reference import Reference
from .rows import Row, ratio_row

BREAK = "GB0059"
"""The code of a `print` that breaks the graph."""


def measure_saves(
    words: str,
    program: Callable[[int], str],
    line: int,
    pairs: int,
    folder: Path,
    warm: tuple[float, float],
    cold: float,
    code: Callable[[int], str] | None = None,
) -> Iterator[Row]:
    """Two rows. `warm` is the limit against a warm trace and the seconds that are free, `cold` that against the cold command.

    Where each text breaks in another way than the one before, `code` says in which: then it is the publication of that break that is
    compared with the command, and a third row tells of the trace's end.
    """
    path, alone = folder / "program.py", folder / "alone.py"
    saves, shown, traces, commands = [], [], [], []
    # Trials of fixes begin after a save and give way to the next one; here they would only be waited for.
    with Editor(folder, folder / "store", {"tryFixes": False}) as editor, Reference(folder) as reference:
        settle(editor, reference, path, program, line, code)
        for number in range(100, 100 + pairs):
            editor.rest()
            took, first = saved(editor, path, program(number), line, code(number) if code else BREAK)
            saves.append(took)
            shown.append(first)
            editor.rest()
            traces.append(reference.trace(path))
            alone.write_text(program(number), encoding="utf-8")
            begin = time.perf_counter()
            told = run_quietly([sys.executable, str(alone)], cold_environment(folder), folder)
            commands.append(time.perf_counter() - begin)
            if "Graph break" not in told:
                raise RuntimeError(f"the command found no graph break: {told[-300:]}")
    yield ratio_row(f"save → published, {words}, against a warm trace", saves, traces, warm[0], "save / trace", warm[1])
    if code is None:
        yield ratio_row(f"save → published, {words}, against the cold command", saves, commands, cold, "save / command")
    else:
        yield ratio_row(f"save → its break published, {words}, against the cold command", shown, commands, cold, "save / command")
        end = ratio_row(f"save → the end of its trace, {words}, against the cold command", saves, commands, None, "save / command")
        yield replace(end, beyond=cold) if end.measured is not None and end.measured > cold else end


def cold_environment(folder: Path) -> dict[str, str]:
    """The variables of the cold command: as for the server, and PyTorch's own words for graph breaks."""
    return {**environment(folder / "store"), "TORCH_LOGS": "graph_breaks"}


def settle(
    editor: Editor, reference: Reference, path: Path, program: Callable[[int], str], line: int, code: Callable[[int], str] | None = None
) -> None:
    """Open the program and save it a few times, until what can be made ready is ready."""
    begin = time.perf_counter()
    editor.open(path, program(0))
    editor.traced(path, begin)
    before = 0.0
    for number in range(1, 7):
        editor.rest(2.0)
        reference.trace(path)
        took, _ = saved(editor, path, program(number), line, code(number) if code else BREAK)
        if number > 2 and took < 1.2 * before:
            break
        before = took


def saved(editor: Editor, path: Path, text: str, line: int, code: str = BREAK) -> tuple[float, float]:
    """The seconds from a save to the end of its trace, after which there must be a graph break of a code, and until one was published."""
    took, diagnostics = editor.save(path, text, line)
    if not any(found.get("code") == code for found in diagnostics):
        raise RuntimeError(f"a save gave other diagnostics than the graph break: {[found.get('code') for found in diagnostics]}")
    shown = [at for at, one in editor.published(path) if any(found.get("code") == code for found in one["params"]["diagnostics"])]
    return took, min((at - editor.saved_at for at in shown if at >= editor.saved_at), default=took)
