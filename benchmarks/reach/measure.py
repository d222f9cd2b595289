"""One program with guessed inputs and with its true ones, through the real engine."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from graphbreak.core.findings import FunctionResult, Kind, Outcome, Report
from graphbreak.core.requests import AnalysisRequest, Settings
from graphbreak.tracer.engine import Engine
from graphbreak.tracer.files import read_source

from .corpus import Entry

Break = tuple[str, int, int, str]
"""File, line (from 1), column and type."""
_COUNTED = (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED)


@dataclass(frozen=True)
class Measured:
    """What came of one program. `missed` are the marks that were not traced, with why; `lost` and `extra` the breaks that differ."""

    entry: Entry
    marks: int
    missed: tuple[str, ...]
    lost: frozenset[Break]
    extra: frozenset[Break]
    expressions: tuple[str, ...]
    seconds: float

    @property
    def traced(self) -> bool:
        """Whether every mark was traced."""
        return self.marks > 0 and not self.missed

    @property
    def same(self) -> bool:
        """Whether the guesses showed the same breaks as the true inputs."""
        return not self.lost and not self.extra

    def as_json(self) -> str:
        """On one line, for `from_json`."""
        plain = [self.entry.name, self.marks, self.missed, sorted(self.lost), sorted(self.extra), self.expressions, self.seconds]
        return json.dumps(plain)


def from_json(line: str, entries: Mapping[str, Entry]) -> Measured:
    """What was measured before of one of the entries."""
    name, marks, missed, lost, extra, expressions, seconds = json.loads(line)
    less, more = (frozenset((file, row, column, kind) for file, row, column, kind in found) for found in (lost, extra))
    return Measured(entries[name], marks, tuple(missed), less, more, tuple(expressions), seconds)


async def measure(engine: Engine, entry: Entry, interpreter: str | None = None) -> Measured:
    """Run one program in both forms."""
    with tempfile.TemporaryDirectory(prefix="graphbreak-reach-") as folder:
        guessed = await _analyse(engine, entry.write(Path(folder) / "guessed", true=False), 180.0, interpreter)
        true = await _analyse(engine, entry.write(Path(folder) / "true", true=True), entry.timeout, interpreter)
    rows = [row for row in guessed.functions if row.mark_path == guessed.path]
    found, wanted = _breaks(guessed, _is_guess), _breaks(true, _is_true)
    if not any(_is_true(row) for row in true.functions):
        raise RuntimeError(
            f"{entry.name}: its true program comes to no mark: {[row.detail for row in true.functions]} {true.output[-500:]}"
        )
    missed = tuple(f"{row.name}: {row.outcome.value}: {row.detail}" for row in rows if not _is_guess(row))
    expressions = tuple(inputs.expression for row in rows for inputs in row.inputs)
    return Measured(entry, len(rows), missed, wanted - found, found - wanted, expressions, sum(row.seconds for row in rows))


def _is_guess(row: FunctionResult) -> bool:
    reached = row.graphs or row.breaks or row.skipped or "compiled as part of" in row.detail
    return row.outcome is Outcome.TRACED and bool(reached) and all(inputs.source == "inferred" for inputs in row.inputs)


def _is_true(row: FunctionResult) -> bool:
    return bool(row.inputs) and all(inputs.source == "call" for inputs in row.inputs)


def _breaks(report: Report, counts: Callable[[FunctionResult], bool]) -> frozenset[Break]:
    names = {row.name for row in report.functions if counts(row)}
    root = os.path.dirname(report.path)
    return frozenset(
        (os.path.relpath(found.path, root), found.span.start.line + 1, found.span.start.column, found.gb_type)
        for found in report.diagnostics
        if found.kind in _COUNTED and names.intersection(found.functions)
    )


async def _analyse(engine: Engine, path: Path, timeout: float, interpreter: str | None) -> Report:
    source = read_source(str(path))
    assert source is not None
    folder = str(path.parent)
    settings = Settings(interpreter=interpreter or sys.executable, timeout=timeout)
    return await engine.analyse(AnalysisRequest(source, folder, (folder,), settings, run_unmarked=True), lambda sentence: None)
