"""From a save to the diagnostics of a small function."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..rows import Row
from ..saving import measure_saves

SECONDS = 300


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """Against a warm trace, and against the cold command."""
    return measure_saves("small function", programs.small, programs.SMALL_LINE, pairs, folder, warm=(1.5, 0.0), cold=1 / 20)
