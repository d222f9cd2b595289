"""What the runs of one file say together -> its report, at the end or before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..fixes.model import FixContext
from ..worker.protocol import BreakSeen, CallSeen, Cut, Failure, GraphSeen
from .breaks import directive_diagnostic, not_analysed_diagnostic
from .denials import stopped as stopped_sentences
from .findings import Diagnostic, FunctionResult, Outcome, Report, merged_environment
from .functions import Traced, death_sentence, settled
from .ignores import with_ignores
from .marks import Marks, find_marks
from .parts import Part
from .places import Sources
from .project import Projects
from .provisional import as_provisional
from .reach import reach_of
from .requests import AnalysisRequest
from .source import SourceFile
from .tracing import Finished, NoEnvironment, Refused, Run, TimedOut, WorkerDied
from .unused import check_ignores

_KILLED = -9
"""The status of a process that SIGKILL ended."""


def unreadable(request: AnalysisRequest, marks: Marks) -> Report:
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


def whole_report(
    request: AnalysisRequest, marks: Marks, parts: Sequence[Part], sources: Sources, projects: Projects
) -> tuple[Report, FixContext]:
    """All that the runs of a file say, without fixes, and what fixes have to know."""
    path = request.source.path
    rows = settled([part.rows for part in parts])
    diagnostics = [diagnostic for part in parts for diagnostic in part.diagnostics]
    diagnostics += [hint for row in rows if (hint := not_analysed_diagnostic(row)) is not None]
    diagnostics += [directive_diagnostic(path, directive) for directive in marks.stray if not directive.recorded]
    texts = _texts(path, parts, diagnostics, sources)
    diagnostics = [_inside(diagnostic, texts) for diagnostic in diagnostics]
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


def report_so_far(request: AnalysisRequest, parts: Sequence[Part], sources: Sources, projects: Projects) -> Report:
    """What runs that still go on have shown, as a provisional report."""
    path = request.source.path
    diagnostics = _distinct([diagnostic for part in parts for diagnostic in part.diagnostics])
    texts = _texts(path, parts, diagnostics, sources)
    diagnostics = [_inside(diagnostic, texts) for diagnostic in diagnostics]
    ignores = {name: find_marks(source).ignores for name, source in texts.items()}
    shown = with_ignores(diagnostics, ignores, _hidden(request, projects), texts.get)
    rows = tuple(row.result for row in settled([part.rows for part in parts]))
    return as_provisional(Report(path, request.version, rows, tuple(shown), sources=texts))


def _inside(diagnostic: Diagnostic, texts: Mapping[str, SourceFile]) -> Diagnostic:
    """The diagnostic in the text that is shown: the file may have become shorter since the program read it."""
    text = texts.get(diagnostic.path)
    return diagnostic if text is None else replace(diagnostic, span=text.inside(diagnostic.span))


def _texts(path: str, parts: Sequence[Part], diagnostics: Sequence[Diagnostic], sources: Sources) -> dict[str, SourceFile]:
    """The file itself, what its runs read of the workspace, and what diagnostics name of it."""
    read = {file for part in parts if isinstance(part.run.end, Finished) for file in part.run.end.ended.files if part.workspace.owns(file)}
    named = {diagnostic.path for diagnostic in diagnostics}
    named |= {frame.path for diagnostic in diagnostics for frame in diagnostic.stack if not frame.library}
    return {name: source for name in sorted(read | named | {path}) if (source := sources(name)) is not None}


def _hidden(request: AnalysisRequest, projects: Projects) -> Callable[[str, str], bool]:
    """Whether settings ask to ignore, in a file, a code."""
    everywhere = {code.upper() for code in request.settings.ignore}
    return lambda path, code: code.upper() in everywhere or projects(path).hides(path, code)


def _ignoring(
    request: AnalysisRequest,
    diagnostics: Sequence[Diagnostic],
    rows: Sequence[Traced],
    parts: Sequence[Part],
    texts: Mapping[str, SourceFile],
    projects: Projects,
) -> tuple[list[Diagnostic], frozenset[str]]:
    """The diagnostics with those marked that are to be ignored, those for comments that ignore nothing, and the ids of those that do."""
    marks = {path: find_marks(source) for path, source in texts.items()}
    hidden = _hidden(request, projects)
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
    """Whether more is known after a run than before it: it ended by itself, or came to a marked function before it was ended.

    One that was killed says too little: that came from outside, at any moment, and not of what is in the program.
    """
    if isinstance(run.end, WorkerDied) and run.end.status == _KILLED:
        return False
    return isinstance(run.end, Finished) or any(isinstance(message, (BreakSeen, CallSeen, GraphSeen)) for message in run.messages)


def _distinct(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    found: dict[tuple[object, ...], Diagnostic] = {}
    for diagnostic in diagnostics:
        found.setdefault((diagnostic.id, diagnostic.path, diagnostic.span, diagnostic.kind), diagnostic)
    return list(found.values())


def _fix_context(rows: Sequence[Traced], parts: Sequence[Part], texts: dict[str, SourceFile]) -> FixContext:
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


def _cut(run: Run) -> list[str]:
    """Sentences about what was more than is shown."""
    return [f"there were more than {what}; only the first of them are shown" for what in dict.fromkeys(cut.what for cut in run.of(Cut))]


def _problems(what: str, run: Run) -> list[str]:
    """Sentences about a run that did not end by itself, or in which something was not understood: never silent about what was not seen.

    `what` is the file or the entry.
    """
    stopped = [f"{what}: {sentence}" for sentence in (*stopped_sentences(run), *_cut(run))]
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
