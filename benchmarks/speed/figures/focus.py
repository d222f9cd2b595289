"""From an edit in one layer of a vendored model to its provisional diagnostics: the first case of the benchmark of that name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..rows import Row, ratio_row

SECONDS = 600


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """Both times are of the same save: to what the edited function by itself shows, and to the end of the whole trace."""
    from benchmarks.focus.__main__ import CASES, measure

    found = measure(CASES[0], pairs, folder.resolve())
    if found.wrong:
        raise RuntimeError(f"{len(found.wrong)} of {len(found.first)} were foreseen and did not come: {found.wrong[0][:200]}")
    words = f"edit in one layer of a vendored model ({CASES[0].name}) → provisional diagnostics, against the full trace"
    yield ratio_row(words, found.first, found.whole, 1 / 8, "provisional / full trace")
