"""How the time of a trace grows with the length of a function, and with its breaks."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .. import programs
from ..editor import Editor
from ..reference import Reference
from ..rows import Row, seconds

SECONDS = 840
_OPERATIONS, _BREAKS = (10, 100, 500, 1000, 2000), (1, 10, 30, 60, 100)
_FEWEST, _ENOUGH = 5, 90.0
"""Pairs for each point in any case, and the seconds after which there are no more: a trace of the largest takes seconds."""

_LIMIT = 1.5
Point = tuple[int, float, float, int]
"""The size, the medians of a save and of a warm trace (without what Dynamo leaves out in our workers) in seconds, and of how many pairs."""


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """One row each: what the second half of the largest size adds to our overhead, per piece, against what the first half does."""
    for name, sizes, program in (
        ("operations", _OPERATIONS, programs.many_operations),
        ("breaks", _BREAKS, programs.many_breaks),
    ):
        below = folder / name
        below.mkdir()
        points = list(_points(sizes, program, pairs, below))
        (folder / f"growth-{name}.json").write_text(json.dumps(points), encoding="utf-8")
        yield _row(name, points)


def _points(sizes: tuple[int, ...], program: Callable[[int, int], str], pairs: int, folder: Path) -> Iterator[Point]:
    path, line = folder / "program.py", programs.GROWTH_LINE
    with Editor(folder, folder / "store", {"tryFixes": False}) as editor, Reference(folder, measuring=False) as reference:
        editor.open(path, program(sizes[0], 0))
        editor.traced(path, 0.0)
        for size in sizes:
            saves, traces, begin = [], [], time.perf_counter()
            for number in range(pairs + 1):
                if number > _FEWEST and time.perf_counter() - begin > _ENOUGH:
                    break
                editor.rest()
                text = program(size, number + 1)
                saves.append(_replaced(editor, path, text) if number == 0 else editor.save(path, text, line)[0])
                traces.append(reference.trace(path))
            yield size, statistics.median(saves[1:]), statistics.median(traces[1:]), len(saves) - 1


def _replaced(editor: Editor, path: Path, text: str) -> float:
    """A first save of another size."""
    editor.replace_all(path, text)
    return editor.save(path, text, programs.GROWTH_LINE)[0]


def _row(name: str, points: list[Point]) -> Row:
    first, *_, last = points
    middle = min(points, key=lambda point: abs(point[0] - last[0] / 2))
    lower, upper = _slope(first, middle), _slope(middle, last)
    at_most = f"at {last[0]} {name} a save takes {seconds(last[1])}, a warm trace without its measuring {seconds(last[2])}"
    beside = f"{seconds(max(upper, 0))} more for each; {at_most}"
    # Where the first half adds too little to be told from noise, a tenth of what Dynamo itself adds stands in its place.
    least = max(last[2] - middle[2], 1e-3) / (last[0] - middle[0]) / 10
    return Row(
        f"growth with {name}: what each adds in the second half, against the first",
        upper / max(lower, least),
        "x",
        _LIMIT,
        min(point[3] for point in points),
        beside=beside,
    )


def _slope(one: Point, other: Point) -> float:
    return ((other[1] - other[2]) - (one[1] - one[2])) / (other[0] - one[0])
