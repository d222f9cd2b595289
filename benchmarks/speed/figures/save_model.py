"""From a save to the diagnostics of a script whose imports cost seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..rows import Row
from ..saving import measure_saves

SECONDS = 600


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """Against a warm trace, in a process that has imported `transformers`, and against the cold command, which a warm trace of Dynamo's
    own takes about a third of: there it is the break that is waited for, which is published while the trace goes on."""
    words = "`transformers` script, a tiny BART"
    line = programs.MODEL_LINE - 1
    return measure_saves(words, programs.model_broken, line, pairs, folder, warm=(1.3, 0.06), cold=1 / 5, code=programs.break_of)
