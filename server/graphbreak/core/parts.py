"""One planned run -> causes -> diagnostics, and what two runs for the same marks say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..worker.protocol import BreakSeen, Failure, FrameCompiled, GraphSeen, Recompiled
from .believing import believed
from .breaks import break_diagnostics, raised_diagnostic
from .causes import Cause, gather_causes
from .findings import Diagnostic, Kind, Outcome, Severity
from .functions import Traced, traced_functions
from .inferred import as_guessed, combined
from .inputs import PlannedRun
from .places import Sources
from .recompiles import recompile_diagnostics
from .regions import graphs_of, regions_of
from .requests import AnalysisRequest
from .tracing import Run
from .workspace import Workspace


class Part:
    """What one planned run showed, or has shown so far."""

    def __init__(self, run: Run, rows: list[Traced], causes: list[Cause], workspace: Workspace, what: str = "") -> None:
        self.run, self.rows, self.causes, self.workspace = run, rows, causes, workspace
        self.what = what
        """The entry that was run, in the words of who named it."""
        self.diagnostics: list[Diagnostic] = []
        self.guessed = False
        """Its inputs were guessed, so that what it did not show may still be there."""


def understand(request: AnalysisRequest, planned: PlannedRun, run: Run, sources: Sources) -> Part:
    """Place all that a run said."""
    run = believed(run, planned)
    workspace = Workspace(request.roots, run.libraries, run.torch_folder)
    rows = traced_functions(request.source.path, planned, run, sources)
    causes = gather_causes(run.of(BreakSeen), run.of(FrameCompiled), workspace, sources)
    part = Part(run, rows, causes, workspace, f"`{planned.entry.text}`" if planned.entry else "")
    part.diagnostics = break_diagnostics(causes, rows, run, workspace, sources)
    part.diagnostics += recompile_diagnostics(run, rows, workspace, sources)
    broken = any(record.error for record in run.of(BreakSeen))
    for failure in run.of(Failure):
        again = bool(planned.guesses) and failure.directive < 0  # the import alone, which the run before it has shown
        if not again and not (failure.compiler and broken):
            raised = raised_diagnostic(failure, rows, workspace, sources)
            part.diagnostics += [raised] if raised is not None else []
    part.rows = [_counted(_with_regions(row, run, causes, workspace, sources), part.diagnostics) for row in rows]
    return part


def _with_regions(row: Traced, run: Run, causes: Sequence[Cause], workspace: Workspace, sources: Sources) -> Traced:
    recompiles = sum(record.mark in row.numbers for record in run.of(Recompiled))
    return replace(
        row,
        result=replace(
            row.result,
            recompiles=recompiles,
            regions=regions_of(row.numbers, run, workspace, sources),
            graph_list=graphs_of(row.numbers, run, causes),
        ),
    )


def _counted(row: Traced, diagnostics: Sequence[Diagnostic]) -> Traced:
    """The row with the number of causes that reach it."""
    mine = [diagnostic.kind for diagnostic in diagnostics if row.result.name in diagnostic.functions]
    return replace(row, result=replace(row.result, breaks=mine.count(Kind.BREAK), skipped=mine.count(Kind.SKIPPED)))


def combine(parts: Sequence[Part]) -> None:
    """Let the last part, whose inputs were guessed, say of each mark only what no other part knows."""
    *others, guesses = parts
    for part in others:
        part.rows, better = combined(part.rows, guesses.rows)
    guesses.rows, guesses.guessed = better, True
    guesses.diagnostics = [as_guessed(diagnostic) for diagnostic in guesses.diagnostics]


def with_further(first: Part, again: Part) -> Part:
    """What a run shows that stopped at a break under `fullgraph=True`, with what lay behind: the same marks traced without it.

    Functions that the first run came to keep its numbers; a further break of a `fullgraph=True` function is an error too.
    """
    failed = {row.result.name for row in first.rows if row.result.fullgraph and row.result.outcome is Outcome.TRACED}
    known = {(diagnostic.id, diagnostic.path, diagnostic.span) for diagnostic in first.diagnostics}
    late = [row for row in again.rows if not any(_same(row, other) and other.result.outcome is Outcome.TRACED for other in first.rows)]
    late_names = {row.result.name for row in late}
    strict = failed | {row.result.name for row in late if row.result.fullgraph}
    further = []
    for diagnostic in again.diagnostics:
        wanted = failed | late_names
        if (diagnostic.id, diagnostic.path, diagnostic.span) in known or not wanted.intersection(diagnostic.functions):
            continue
        further.append(_as_error(diagnostic) if strict.intersection(diagnostic.functions) else diagnostic)
    result = Part(again.run if late else first.run, [], [*first.causes, *again.causes], first.workspace, first.what)
    result.run = replace(first.run, messages=(*first.run.messages, *again.run.of(GraphSeen)))
    result.diagnostics = first.diagnostics + further
    kept = [_with_regions_of(row, again.rows) for row in first.rows if not any(_same(row, other) for other in late)]
    result.rows = [_counted(row, result.diagnostics) for row in (*kept, *late)]
    return result


def _with_regions_of(row: Traced, others: Sequence[Traced]) -> Traced:
    """A function that stopped at its first break shows the regions of the run that went on."""
    other = next((other for other in others if _same(row, other)), None)
    return (
        replace(row, result=replace(row.result, regions=other.result.regions, graph_list=other.result.graph_list))
        if other is not None and row.result.fullgraph
        else row
    )


def _same(row: Traced, other: Traced) -> bool:
    return (row.result.mark_path, row.result.mark_span, row.result.name) == (
        other.result.mark_path,
        other.result.mark_span,
        other.result.name,
    )


def _as_error(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.kind not in (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED):
        return diagnostic
    return replace(
        diagnostic, kind=Kind.BREAK, severity=Severity.ERROR, message="Behind an earlier break under fullgraph=True: " + diagnostic.message
    )
