"""From a save to the diagnostics of a script whose imports cost seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..rows import Row
from ..saving import measure_saves

SECONDS = 600


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """Against a warm trace, in a process that has imported `transformers`, and against the cold command."""
    words = "`transformers` script, a tiny BART"
    return measure_saves(words, programs.model, programs.MODEL_LINE, pairs, folder, warm=(1.3, 0.06), cold=1 / 5)
