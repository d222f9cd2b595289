"""What the trace of one edited function by itself says, as a provisional report: it may only add, and says of itself what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..worker.protocol import BreakSeen, Ended, MarkSeen
from .breaks import break_diagnostics
from .causes import Cause, gather_causes
from .findings import Diagnostic, Outcome, Report
from .focus import Edited
from .functions import Traced
from .parts import Part
from .places import Sources
from .project import Projects
from .reporting import report_so_far
from .requests import AnalysisRequest
from .tracing import Finished, Run
from .workspace import Workspace


@dataclass(frozen=True)
class Whole:
    """The last whole trace of an entry: what was asked, the run that was kept of it, and what was reported."""

    request: AnalysisRequest
    run: Run
    report: Report

    @property
    def marked(self) -> set[tuple[str, int]]:
        """The marked functions, by path and line."""
        return {(row.path, row.line) for row in self.report.functions}

    def answers(self, request: AnalysisRequest) -> bool:
        """Whether a request differs from the one that was traced in nothing but texts."""
        own = self.request
        same = replace(request, source=own.source, overlay=own.overlay, version=own.version, run_unmarked=own.run_unmarked, fresh=own.fresh)
        return same == own


def foreseen(
    whole: Whole, edited: Edited, request: AnalysisRequest, seen: Sequence[BreakSeen], sources: Sources, projects: Projects
) -> Report:
    """What breaks in the edited function and below it, at all its callers too, as a trace of the whole would place it.

    What it does to the frames around it is left open: that is known only once they are traced.
    """
    workspace = Workspace(request.roots, whole.run.libraries, whole.run.torch_folder)
    causes = gather_causes([_from_the_mark(record) for record in seen], [], workspace, sources)
    for cause in causes:
        _leave_effects_open(cause)
    rows = _rows(whole, {record.mark for record in seen})
    run = replace(whole.run, messages=tuple(seen), end=Finished(Ended(0, [], [])))
    part = Part(run, rows, causes, workspace)
    found = break_diagnostics(causes, rows, run, workspace, sources)
    part.diagnostics = [_as_foreseen(diagnostic, edited) for diagnostic in found]
    return replace(report_so_far(request, [part], sources, projects), functions=())


def _from_the_mark(record: BreakSeen) -> BreakSeen:
    """The frames between the compiled callable and the edited function are those that a trace of the whole goes through."""
    return replace(record, above=[], frames=[*record.above, *record.frames])


def _leave_effects_open(cause: Cause) -> None:
    cause.frames.clear()
    for frames in cause.callers.values():
        frames.clear()


def _rows(whole: Whole, marks: set[int]) -> list[Traced]:
    """The functions that were traced, each with those of the run's marks that it stands for.

    They go together by their names; a mark that has another one, as a compiled class does, belongs to the functions that are left.
    """
    traced = [row for row in whole.report.functions if row.outcome is Outcome.TRACED]
    numbers = [
        {seen.mark for seen in whole.run.of(MarkSeen) if seen.file == row.path and _last(seen.name) == _last(row.name)} for row in traced
    ]
    left = marks.difference(*numbers)
    alone = not all(numbers)
    return [Traced(row, frozenset(own if own and alone else own | left), None) for row, own in zip(traced, numbers)]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _as_foreseen(diagnostic: Diagnostic, edited: Edited) -> Diagnostic:
    message = f"Provisional, `{edited.name}` was traced by itself: {diagnostic.message}"
    return replace(diagnostic, message=message, cost=None, provisional=True)
