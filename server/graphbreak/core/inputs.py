"""Where example inputs come from: which runs of a file show its marks, in the order of the sources.

The sources that exist now are `directive` (example calls in comments) and `call` (running the file itself). A further source is one
more function in `_SOURCES`: it looks at the marks that no earlier source has taken, and takes those that it can show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..worker.protocol import ExampleCall, Job, KnownMark
from .marks import Directive, Mark, MarkForm, Marks
from .requests import AnalysisRequest
from .source import SourceFile


@dataclass(frozen=True)
class PlannedRun:
    """One run of the file: from which source, with which example calls (none: as a program), and for which marks.

    `owners` has the mark that each call stands above, `elsewhere` the marks that an earlier run shows.
    """

    source: str
    marks: tuple[Mark, ...]
    calls: tuple[ExampleCall, ...] = ()
    owners: tuple[Mark, ...] = ()
    elsewhere: tuple[Mark, ...] = ()


def plan_runs(source: SourceFile, marks: Marks, run_unmarked: bool = False) -> list[PlannedRun]:
    """The runs that a file needs. `run_unmarked` runs it as a program even where its source shows no mark."""
    left = [mark for mark in marks.marks if not mark.options.disabled]
    runs: list[PlannedRun] = []
    for plan in _SOURCES:
        run = plan(source, left)
        if run is not None:
            runs.append(replace(run, elsewhere=tuple(mark for earlier in runs for mark in earlier.marks)))
            left = [mark for mark in left if mark not in run.marks]
    if not runs and run_unmarked and not marks.problem:
        runs.append(PlannedRun("call", ()))
    return runs


def runs_for(name: str, runs: list[PlannedRun]) -> list[PlannedRun]:
    """Those runs that show one function, of example calls only its own; all of them where none is for it.

    A run of a program stays what it is: what it shows of other functions comes for nothing.
    """
    return [_narrowed(run, name) for run in runs if any(mark.name == name for mark in run.marks)] or runs


def _narrowed(run: PlannedRun, name: str) -> PlannedRun:
    if not run.calls:
        return run
    own = [(call, owner) for call, owner in zip(run.calls, run.owners) if owner.name == name]
    mine, others = (tuple(mark for mark in run.marks if (mark.name == name) is wanted) for wanted in (True, False))
    return replace(
        run, marks=mine, calls=tuple(call for call, _ in own), owners=tuple(owner for _, owner in own), elsewhere=run.elsewhere + others
    )


def job_for(request: AnalysisRequest, planned: PlannedRun) -> Job:
    """What a worker is asked for a planned run of the request's file."""
    path = request.source.path
    return Job(
        path=path,
        text=request.source.text,
        root=request.root,
        overlay={**request.overlay, path: request.source.text},
        calls=list(planned.calls),
        marks=[KnownMark(path, mark.lines.start + 1, mark.lines.stop) for mark in planned.marks],
    )


def _from_directives(source: SourceFile, marks: list[Mark]) -> PlannedRun | None:
    calls, owners = [], []
    for mark in marks:
        for directive in mark.directives:
            if not directive.error:
                start = directive.span.start
                utf8 = len(source.line(start.line)[: start.column].encode("utf-8", "surrogatepass"))
                path, options = _to_compile(mark, directive), mark.options
                calls.append(ExampleCall(directive.expression, start.line + 1, utf8, path, bool(options.fullgraph), options.dynamic))
                owners.append(mark)
    taken = tuple(dict.fromkeys(owners))
    return PlannedRun("directive", taken, tuple(calls), tuple(owners)) if calls else None


def _to_compile(mark: Mark, directive: Directive) -> str:
    """What the worker has to compile before the call: what the source does not, or compiles under another name than the call uses."""
    above_definition = mark.form is MarkForm.CALL and directive.target_line != mark.span.start.line
    return mark.name if mark.form is MarkForm.DIRECTIVE or above_definition else ""


def _from_the_program(source: SourceFile, marks: list[Mark]) -> PlannedRun | None:
    called = tuple(mark for mark in marks if mark.form is not MarkForm.DIRECTIVE)
    return PlannedRun("call", called) if called else None


_SOURCES: tuple[Callable[[SourceFile, list[Mark]], PlannedRun | None], ...] = (_from_directives, _from_the_program)
