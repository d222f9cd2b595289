"""The whole flow on one screen: a file -> its marks -> runs that show them -> causes -> diagnostics -> a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..fixes import alternatives, chosen
from ..fixes.model import FixContext
from ..worker.protocol import BreakSeen, Failure, Inferred, Message
from .believing import believed
from .denials import with_denials
from .findings import Outcome, Report
from .inferred import as_guessed, left_over, settled_job
from .inputs import PlannedRun, begun, in_order, job_for, plan_guesses, request_runs, runs_for, stages
from .marks import Mark, find_marks
from .parts import Part, combine, understand, with_further
from .places import Sources
from .project import Projects, no_project
from .reporting import report_so_far, unreadable, whole_report
from .requests import AnalysisRequest
from .seen import News, Seen
from .tracing import Finished, Run, TimedOut, Tracer

Progress = Callable[[str], None]
_IMPORT_SECONDS = 10.0
"""How long a module whose program did not end is given, to be imported and tried."""


async def analyse(
    request: AnalysisRequest,
    tracer: Tracer,
    interpreter: str,
    sources: Sources,
    progress: Progress,
    projects: Projects = no_project,
    news: News | None = None,
) -> Report:
    """Find the marks of one file, run it, and place what PyTorch said of them. Raises nothing that user code can cause.

    `news` hears whenever more was found while it runs.
    """
    path = request.source.path
    settings = projects(path)
    marks = find_marks(request.source, settings.examples_of(path))
    seen = Seen(news if marks.problem is None else None, lambda parts: report_so_far(request, parts, sources, projects))
    parts: list[Part] = []
    shown: list[Mark] = []

    async def run_planned(number: int, planned: PlannedRun) -> Part:
        progress(f"running {planned.entry.text if planned.entry else path.rpartition('/')[2]} ({planned.source})")
        listener = seen.listener(number, lambda run: _placed(request, planned, run, sources))
        run = await _trace(request, planned, tracer, interpreter, listener, honour_fullgraph=True)
        part = first = await tracer.aside(partial(understand, request, planned, run, sources))
        if any(record.error for record in run.of(BreakSeen)):
            progress("looking for further breaks behind the one that fullgraph=True stopped at")
            listener = seen.listener(number, lambda run: with_further(first, _placed(request, planned, run, sources)))
            again = await _trace(request, planned, tracer, interpreter, listener, honour_fullgraph=False)
            part = with_further(first, await tracer.aside(partial(understand, request, planned, again, sources)))
        seen.ended(number, part)
        return part

    runs = request_runs(request, marks, settings.entries_of(path))
    for stage in stages(runs_for(request.only, runs) if request.only else runs):
        planned = begun(stage, shown)
        order = in_order(planned, marks.marks, request.line)
        works = [partial(run_planned, len(parts) + number, planned[number]) for number in order]
        found = [part for _, part in sorted(zip(order, await tracer.together(works)), key=lambda pair: pair[0])]
        parts += found
        if marks.problem is not None and not all(_read_after_all(request, part.run) for part in found):
            return unreadable(request, marks)
        rows = [row for part in found for row in part.rows if row.result.mark_path == path and row.result.outcome is Outcome.TRACED]
        shown += [row.mark for row in rows if row.mark]
        shown += [mark for plan in planned if plan.settles for mark in plan.marks]
    if not parts and marks.problem is not None:
        return unreadable(request, marks)
    left = left_over(request, [row for part in parts for row in part.rows], marks.stray)
    if left:
        if any(isinstance(part.run.end, TimedOut) for part in parts):  # the import may take as long again
            request = replace(request, settings=replace(request.settings, timeout=min(request.settings.timeout, _IMPORT_SECONDS)))
        parts.append(await run_planned(len(parts), plan_guesses(request.source, left)))
        combine(parts)
    report, context = await tracer.aside(partial(whole_report, request, marks, parts, sources, projects))
    return await _with_fixes(report, context, tracer, interpreter, settings.file)


async def _with_fixes(report: Report, context: FixContext, tracer: Tracer, interpreter: str, settings_file: str) -> Report:
    """The report with the fixes that this torch has what they need for."""
    offered = [
        await tracer.aside(partial(alternatives, diagnostic, context)) if diagnostic.path != settings_file else []
        for diagnostic in report.diagnostics
    ]
    names = frozenset(name for fixes in offered for fix in fixes for name in fix.needs)
    missing = await tracer.missing(names, interpreter) if names else frozenset()
    pairs = zip(report.diagnostics, offered)
    return replace(report, diagnostics=tuple(diagnostic.with_fixes(chosen(fixes, missing)) for diagnostic, fixes in pairs))


def _read_after_all(request: AnalysisRequest, run: Run) -> bool:
    """Whether the worker's Python, which may be newer than the server's, could read a file that the server's could not."""

    def unread(failure: Failure) -> bool:
        if failure.type in ("SyntaxError", "IndentationError", "TabError"):
            return [place.file for place in failure.frames] == [request.source.path]
        return failure.type == "ValueError" and not failure.frames  # a null byte

    return isinstance(run.end, Finished) and not any(map(unread, run.of(Failure)))


async def _trace(
    request: AnalysisRequest,
    planned: PlannedRun,
    tracer: Tracer,
    interpreter: str,
    listener: Callable[[Message], None],
    honour_fullgraph: bool,
) -> Run:
    job = replace(job_for(request, planned), honour_fullgraph=honour_fullgraph)
    run = await tracer.trace(job, interpreter, request.settings.timeout, listener)
    run = believed(run, planned)
    return replace(with_denials(run), job=settled_job(job, run.of(Inferred)))


def _placed(request: AnalysisRequest, planned: PlannedRun, run: Run, sources: Sources) -> Part:
    """What a run that still goes on has shown, in the words of its end."""
    part = understand(request, planned, run, sources)
    if planned.guesses:
        part.diagnostics = [as_guessed(diagnostic) for diagnostic in part.diagnostics]
    return part
