"""A program that takes its time: its first breaks are shown before its last ones are known."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from lsprotocol import types

from .test_editor import RealEditor, place, real, spot

__all__ = ["real"]

SLOW = """\
import os
import time

import torch


@torch.compile
def first(x):
    print("first")
    return x + 1


@torch.compile
def then(x):
    y = x * 2
    if y.sum() > 0:
        y = y - 1
    print("then")
    return y


first(torch.ones(4))
while not os.path.exists(os.path.join(os.path.dirname(__file__), "go on")):
    time.sleep(0.05)
then(torch.ones(4))
"""
FIRST, BRANCH, THEN = (place(SLOW, expression) for expression in ('print("first")', "y.sum() > 0", 'print("then")'))


def shown(real: RealEditor, path: Path) -> list[list[types.Diagnostic]]:
    """Every list that was published for a file."""
    return [list(params.diagnostics) for params in real.published if params.uri == path.as_uri()]


async def test_breaks_are_shown_as_they_come_and_none_comes_and_goes(real: RealEditor, tmp_path: Path) -> None:
    path, go_on = tmp_path / "slow.py", tmp_path / "go on"
    path.write_text(SLOW, encoding="utf-8")
    await real.start(tmp_path, tryFixes=False)
    real.open(path, SLOW)
    (early,) = await real.diagnostics(path, bool, traced=False)
    assert spot(early) == FIRST
    assert real.status[-1] == ("tracing", "")
    go_on.touch()
    whole = await real.diagnostics(path, lambda found: len(found) == 3)
    assert [spot(found) for found in whole] == [FIRST, BRANCH, THEN]
    lists = shown(real, path)
    for before, after in pairwise(lists):
        assert [found for found in after if found in before] == before

    go_on.unlink()
    text = "# A line more.\n" + SLOW.replace("    if y.sum() > 0:\n        y = y - 1\n", "")
    count = len(lists)
    real.insert(path, 0, 0, "# A line more.\n")
    real.change(path, types.TextDocumentContentChangePartial(range_of(15, 17), ""))
    path.write_text(text, encoding="utf-8")
    real.save(path)
    await real.diagnostics(path, lambda found: len(found) == 2, traced=False)
    go_on.touch()
    whole = await real.diagnostics(path, lambda found: len(found) == 2 and real.status[-1][0] == "idle")
    assert [spot(found) for found in whole] == [place(text, 'print("first")'), place(text, 'print("then")')]
    assert [len(found) for found in shown(real, path)[count:]] == [2] * (len(shown(real, path)) - count)


def range_of(first: int, last: int) -> types.Range:
    """Whole lines, the last one not included."""
    return types.Range(types.Position(first + 1, 0), types.Position(last + 1, 0))
