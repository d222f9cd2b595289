"""The whole flow on one screen: a file -> its marks -> runs that show them -> causes -> diagnostics -> a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..fixes import alternatives, chosen
from ..fixes.model import FixContext
from ..worker.protocol import BreakSeen, CallSeen, Denied, Failure, FrameCompiled, GraphSeen, Inferred, Recompiled
from .breaks import break_diagnostics, directive_diagnostic, not_analysed_diagnostic, raised_diagnostic
from .causes import Cause, gather_causes
from .denials import denial_sentence, with_denials
from .findings import Diagnostic, FunctionResult, Kind, Outcome, Report, merged_environment
from .functions import Traced, death_sentence, settled, traced_functions
from .ignores import with_ignores
from .inferred import as_guessed, combined, left_over, settled_job
from .inputs import PlannedRun, job_for, plan_guesses, request_runs, runs_for
from .marks import Mark, Marks, find_marks
from .places import Sources
from .project import Projects, no_project
from .reach import reach_of
from .recompiles import recompile_diagnostics
from .regions import graphs_of, regions_of
from .requests import AnalysisRequest
from .source import SourceFile
from .tracing import Finished, NoEnvironment, Refused, Run, TimedOut, Tracer, WorkerDied
from .unused import check_ignores
from .workspace import Workspace

Progress = Callable[[str], None]
_IMPORT_SECONDS = 10.0
"""How long a module whose program did not end is given, to be imported and tried."""


async def analyse(
    request: AnalysisRequest, tracer: Tracer, interpreter: str, sources: Sources, progress: Progress, projects: Projects = no_project
) -> Report:
    """Find the marks of one file, run it, and place what PyTorch said of them. Raises nothing that user code can cause."""
    path = request.source.path
    settings = projects(path)
    marks = find_marks(request.source, settings.examples_of(path))
    parts: list[_Part] = []
    shown: list[Mark] = []

    async def run_planned(planned: PlannedRun) -> _Part:
        progress(f"running {planned.entry.text if planned.entry else path.rpartition('/')[2]} ({planned.source})")
        run = await _trace(request, planned, tracer, interpreter, honour_fullgraph=True)
        part = _understand(request, planned, run, sources)
        if any(record.error for record in run.of(BreakSeen)):
            progress("looking for further breaks behind the one that fullgraph=True stopped at")
            again = await _trace(request, planned, tracer, interpreter, honour_fullgraph=False)
            part = _with_further(part, _understand(request, planned, again, sources))
        return part

    runs = request_runs(request, marks, settings.entries_of(path))
    for plan in runs_for(request.only, runs) if request.only else runs:
        planned = plan.after(shown)
        if planned is None:
            continue
        parts.append(part := await run_planned(planned))
        if marks.problem is not None and not _read_after_all(request, part.run):
            return _unreadable(request, marks)
        shown += [row.mark for row in part.rows if row.mark and row.result.mark_path == path and row.result.outcome is Outcome.TRACED]
        shown += planned.marks if planned.settles else ()
    if not parts and marks.problem is not None:
        return _unreadable(request, marks)
    left = left_over(request, [row for part in parts for row in part.rows], marks.stray)
    if left:
        if any(isinstance(part.run.end, TimedOut) for part in parts):  # the import may take as long again
            request = replace(request, settings=replace(request.settings, timeout=min(request.settings.timeout, _IMPORT_SECONDS)))
        parts.append(await run_planned(plan_guesses(request.source, left)))
        _combine(parts)
    report, context = _report(request, marks, parts, sources, projects)
    return await _with_fixes(report, context, tracer, interpreter, settings.file)


async def _with_fixes(report: Report, context: FixContext, tracer: Tracer, interpreter: str, settings_file: str) -> Report:
    """The report with the fixes that this torch has what they need for."""
    offered = [alternatives(diagnostic, context) if diagnostic.path != settings_file else [] for diagnostic in report.diagnostics]
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


async def _trace(request: AnalysisRequest, planned: PlannedRun, tracer: Tracer, interpreter: str, honour_fullgraph: bool) -> Run:
    job = replace(job_for(request, planned), honour_fullgraph=honour_fullgraph)
    run = await tracer.trace(job, interpreter, request.settings.timeout, lambda message: None)
    return replace(with_denials(run), job=settled_job(job, run.of(Inferred)))


class _Part:
    """What one planned run showed."""

    def __init__(self, run: Run, rows: list[Traced], causes: list[Cause], workspace: Workspace, what: str = "") -> None:
        self.run, self.rows, self.causes, self.workspace = run, rows, causes, workspace
        self.what = what
        """The entry that was run, in the words of who named it."""
        self.diagnostics: list[Diagnostic] = []
        self.guessed = False
        """Its inputs were guessed, so that what it did not show may still be there."""


def _understand(request: AnalysisRequest, planned: PlannedRun, run: Run, sources: Sources) -> _Part:
    workspace = Workspace(request.roots, run.libraries, run.torch_folder)
    rows = traced_functions(request.source.path, planned, run, sources)
    causes = gather_causes(run.of(BreakSeen), run.of(FrameCompiled), workspace, sources)
    part = _Part(run, rows, causes, workspace, f"`{planned.entry.text}`" if planned.entry else "")
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


def _combine(parts: list[_Part]) -> None:
    """Let the last part, whose inputs were guessed, say of each mark only what no other part knows."""
    *others, guesses = parts
    for part in others:
        part.rows, better = combined(part.rows, guesses.rows)
    guesses.rows, guesses.guessed = better, True
    guesses.diagnostics = [as_guessed(diagnostic) for diagnostic in guesses.diagnostics]


def _with_further(first: _Part, again: _Part) -> _Part:
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
    result = _Part(again.run if late else first.run, [], [*first.causes, *again.causes], first.workspace, first.what)
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
    from .findings import Severity

    if diagnostic.kind not in (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED):
        return diagnostic
    return replace(
        diagnostic, kind=Kind.BREAK, severity=Severity.ERROR, message="Behind an earlier break under fullgraph=True: " + diagnostic.message
    )


def _unreadable(request: AnalysisRequest, marks: Marks) -> Report:
    """A file with a syntax error: its marks are named, and nothing was run."""
    problem = marks.problem
    assert problem is not None
    path = request.source.path
    detail = f"{problem.message.rstrip('.')} (line {problem.span.start.line + 1})"
    rows = [
        Traced(
            FunctionResult(
                path, mark.name, mark.line, path, mark.span, Outcome.SYNTAX_ERROR, detail, fullgraph=bool(mark.options.fullgraph)
            ),
            frozenset(),
            mark,
        )
        for mark in marks.marks
    ]
    hints = [hint for row in rows if (hint := not_analysed_diagnostic(row)) is not None]
    return Report(
        path,
        request.version,
        tuple(row.result for row in rows),
        tuple(hints),
        problems=(f"{path}: {detail}",),
        sources={path: request.source},
        stale=True,
    )


def _report(request: AnalysisRequest, marks: Marks, parts: list[_Part], sources: Sources, projects: Projects) -> tuple[Report, FixContext]:
    path = request.source.path
    rows = settled([part.rows for part in parts])
    diagnostics = [diagnostic for part in parts for diagnostic in part.diagnostics]
    diagnostics += [hint for row in rows if (hint := not_analysed_diagnostic(row)) is not None]
    diagnostics += [directive_diagnostic(path, directive) for directive in marks.stray if not directive.recorded]
    read = {file for part in parts if isinstance(part.run.end, Finished) for file in part.run.end.ended.files if part.workspace.owns(file)}
    named = (
        read
        | {diagnostic.path for diagnostic in diagnostics}
        | {frame.path for diagnostic in diagnostics for frame in diagnostic.stack if not frame.library}
    )
    texts = {name: source for name in sorted(named | {path}) if (source := sources(name)) is not None}
    diagnostics, used_ignores = _ignoring(request, _distinct(diagnostics), rows, parts, texts, projects)
    report = Report(
        path=path,
        version=request.version,
        functions=tuple(row.result for row in rows),
        diagnostics=tuple(diagnostics),
        environment=merged_environment([part.run.environment for part in parts]),
        problems=tuple(dict.fromkeys((*_gone(marks), *(line for part in parts for line in _problems(part.what or path, part.run))))),
        output="".join(part.run.output for part in parts),
        used_ignores=used_ignores,
        jobs=tuple(part.run.job for part in parts if part.run.job is not None),
        sources=texts,
        stale=bool(parts) and not any(_shows_something(part.run) for part in parts),
    )
    return report, _fix_context(rows, parts, texts)


def _ignoring(
    request: AnalysisRequest,
    diagnostics: Sequence[Diagnostic],
    rows: Sequence[Traced],
    parts: Sequence[_Part],
    texts: Mapping[str, SourceFile],
    projects: Projects,
) -> tuple[list[Diagnostic], frozenset[str]]:
    """The diagnostics with those marked that are to be ignored, those for comments that ignore nothing, and the ids of those that do."""
    marks = {path: find_marks(source) for path, source in texts.items()}
    everywhere = {code.upper() for code in request.settings.ignore}

    def hidden(path: str, code: str) -> bool:
        return code.upper() in everywhere or projects(path).hides(path, code)

    shown = with_ignores(diagnostics, {path: found.ignores for path, found in marks.items()}, hidden, texts.get)
    own = [texts[path] for path in texts if path == request.source.path or any(part.workspace.owns(path) for part in parts)]
    reach = reach_of([part.run for part in parts if not part.guessed])
    idle, used = check_ignores([(source, marks[source.path]) for source in own], diagnostics, [row.result for row in rows], reach)
    return [*shown, *with_ignores(idle, {}, hidden, texts.get)], used


def _gone(marks: Marks) -> list[str]:
    """Sentences about functions that inputs were recorded for and that are not there any more."""
    gone = dict.fromkeys((directive.file, directive.error) for directive in marks.stray if directive.recorded)
    return [f"{error.rstrip('.')} any more, which {file} has inputs for; record again." for file, error in gone]


def _shows_something(run: Run) -> bool:
    """Whether more is known after a run than before it: it ended by itself, or came to a marked function before it was ended."""
    return isinstance(run.end, Finished) or any(isinstance(message, (BreakSeen, CallSeen, GraphSeen)) for message in run.messages)


def _distinct(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    found: dict[tuple[object, ...], Diagnostic] = {}
    for diagnostic in diagnostics:
        found.setdefault((diagnostic.id, diagnostic.path, diagnostic.span, diagnostic.kind), diagnostic)
    return list(found.values())


def _fix_context(rows: Sequence[Traced], parts: Sequence[_Part], texts: dict[str, SourceFile]) -> FixContext:
    marked: dict[str, set[int]] = {}
    for row in rows:
        marked.setdefault(row.result.path, set()).add(row.result.line)
    captured: dict[str, set[int]] = {}
    for part in parts:
        for graph in part.run.of(GraphSeen):
            for file, line in graph.lines:
                captured.setdefault(str(file), set()).add(int(line) - 1)
    return FixContext(
        texts,
        {path: frozenset(lines) for path, lines in marked.items()},
        {path: frozenset(lines) for path, lines in captured.items()},
        {(row.result.path, row.result.line): frozenset(one.summary for one in row.result.inputs) for row in rows if row.result.inputs},
        {row.result.name: (row.result.mark_path, row.result.mark_span) for row in rows},
    )


def _problems(what: str, run: Run) -> list[str]:
    """Sentences about a run that did not end by itself, or in which something was not understood: never silent about what was not seen.

    `what` is the file or the entry.
    """
    stopped = [f"{what}: {denial_sentence(denied)}" for denied in run.of(Denied)]
    if isinstance(run.end, TimedOut):
        return [f"{what} had not ended after {run.end.seconds:g} s and was stopped; what was found until then is kept.", *stopped]
    if isinstance(run.end, WorkerDied):
        return [f"{what}: {death_sentence(run.end)}; what was found until then is kept.", *stopped]
    if isinstance(run.end, (NoEnvironment, Refused)):
        return [run.end.sentence]
    ended = run.end.ended
    # A program that ends so by itself has its reasons; an entry should not.
    failed = ended.status and not ended.problem and what.startswith("`")
    status = [f"ended with exit status {ended.status}"] if failed and not run.of(Failure) else []
    notes = [f"{what}: {note}" for note in [*status, *ended.notes]]
    return [*([ended.problem] if ended.problem else []), *notes, *stopped]
