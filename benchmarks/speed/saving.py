"""Saves through the server, with warm traces and the cold command in turns."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .editor import Editor, environment
from .machine import run_quietly
from .reference import Reference
from .rows import Row, ratio_row


def measure_saves(
    words: str,
    program: Callable[[int], str],
    line: int,
    pairs: int,
    folder: Path,
    warm: tuple[float, float],
    cold: float,
) -> Iterator[Row]:
    """Two rows. `warm` is the limit against a warm trace and the seconds that are free, `cold` that against the cold command."""
    path, alone = folder / "program.py", folder / "alone.py"
    saves, traces, commands = [], [], []
    # Trials of fixes begin after a save and give way to the next one; here they would only be waited for.
    with Editor(folder, folder / "store", {"tryFixes": False}) as editor, Reference(folder) as reference:
        settle(editor, reference, path, program, line)
        for number in range(100, 100 + pairs):
            editor.rest()
            saves.append(saved(editor, path, program(number), line))
            editor.rest()
            traces.append(reference.trace(path))
            alone.write_text(program(number), encoding="utf-8")
            begin = time.perf_counter()
            told = run_quietly([sys.executable, str(alone)], cold_environment(folder), folder)
            commands.append(time.perf_counter() - begin)
            if "Graph break" not in told:
                raise RuntimeError(f"the command found no graph break: {told[-300:]}")
    yield ratio_row(f"save → published, {words}, against a warm trace", saves, traces, warm[0], "save / trace", warm[1])
    yield ratio_row(f"save → published, {words}, against the cold command", saves, commands, cold, "save / command")


def cold_environment(folder: Path) -> dict[str, str]:
    """The variables of the cold command: as for the server, and PyTorch's own words for graph breaks."""
    return {**environment(folder / "store"), "TORCH_LOGS": "graph_breaks"}


def settle(editor: Editor, reference: Reference, path: Path, program: Callable[[int], str], line: int) -> None:
    """Open the program and save it a few times, until what can be made ready is ready."""
    begin = time.perf_counter()
    editor.open(path, program(0))
    editor.traced(path, begin)
    before = 0.0
    for number in range(1, 7):
        editor.rest(2.0)
        reference.trace(path)
        took = saved(editor, path, program(number), line)
        if number > 2 and took < 1.2 * before:
            break
        before = took


def saved(editor: Editor, path: Path, text: str, line: int) -> float:
    """The seconds from a save to its diagnostics, of which there must be a graph break."""
    took, diagnostics = editor.save(path, text, line)
    if not any(found.get("code") == "GB0059" for found in diagnostics):
        raise RuntimeError(f"a save gave other diagnostics than the graph break: {[found.get('code') for found in diagnostics]}")
    return took
