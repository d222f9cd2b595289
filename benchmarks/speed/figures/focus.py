"""From an edit in one layer of a vendored model to its provisional diagnostics: measured by the benchmark of that name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

from ..rows import Row

SECONDS = 600
_TITLE = "edit in one layer of a vendored model → provisional diagnostics, against the full trace"


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """What `benchmarks.focus` gives, if it is there."""
    try:
        other = importlib.import_module("benchmarks.focus.figure")
    except ModuleNotFoundError as error:
        yield Row(_TITLE, None, limit=1 / 8, problem=f"not measured: {error}")
        return
    yield from other.measure(pairs, folder)
