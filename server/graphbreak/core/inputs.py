"""Where example inputs come from: which runs of a file show its marks, in the order of the sources.

The sources that exist now are `directive` (example calls in comments), `project` (example calls and entries in pyproject.toml), `recorded`
(calls that `graphbreak record` noted) and `call` (running the file itself). A further source is one more function in `_SOURCES`: it looks
at the marks that no earlier source has taken, and says with which runs it can show some of them. `inferred` comes last and
apart (`plan_guesses`): only the other runs tell which marks they do not come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..worker.protocol import ExampleCall, Guess, Job, KnownMark, Place
from .entries import Entry, EntryKind
from .marks import Directive, Mark, MarkForm, Marks
from .programs import defined_tests, is_test_file
from .requests import AnalysisRequest
from .source import Position, SourceFile


@dataclass(frozen=True)
class PlannedRun:
    """One run of the file: from which source, with which example calls (none: as a program), and for which marks.

    `owners` has the mark of each call, or of each guess, `elsewhere` the marks that an earlier run shows. `entry` says how the file is run,
    where it is not as a program without arguments.
    """

    source: str
    marks: tuple[Mark, ...]
    calls: tuple[ExampleCall, ...] = ()
    owners: tuple[Mark, ...] = ()
    elsewhere: tuple[Mark, ...] = ()
    entry: Entry | None = None
    guesses: tuple[Guess, ...] = ()

    @property
    def settles(self) -> bool:
        """Whether its marks need no further source even if it does not come to them: their own example calls are right, or an error."""
        return bool(self.calls) and self.source != "recorded"

    def after(self, shown: Iterable[Mark]) -> PlannedRun | None:
        """The run once some marks are shown; None when it was for these alone."""
        elsewhere = tuple(dict.fromkeys((*self.elsewhere, *shown)))
        left = tuple(mark for mark in self.marks if mark not in elsewhere)
        own = [(call, owner) for call, owner in zip(self.calls, self.owners) if owner in left]
        calls, owners = tuple(call for call, _ in own), tuple(owner for _, owner in own)
        return replace(self, marks=left, calls=calls, owners=owners, elsewhere=elsewhere) if left or not self.marks else None


@dataclass(frozen=True)
class Given:
    """What inputs can be taken from: the file, and what is known beside it. What a further source needs to know is a field here."""

    source: SourceFile
    entries: Sequence[Entry] = ()


def plan_runs(source: SourceFile, marks: Marks, run_unmarked: bool = False, entries: Sequence[Entry] = ()) -> list[PlannedRun]:
    """The runs that a file needs, in order; those behind one that does not settle its marks are for what that leaves (see `after`).

    `run_unmarked` runs it as a program even where its source shows no mark; `entries` are the ways to run this file that its project names.
    """
    given = Given(source, entries)
    left = [mark for mark in marks.marks if not mark.options.disabled]
    runs: list[PlannedRun] = []
    for plan in _SOURCES:
        for run in plan(given, left):
            runs.append(replace(run, elsewhere=tuple(mark for earlier in runs if earlier.settles for mark in earlier.marks)))
            left = [mark for mark in left if not (run.settles and mark in run.marks)]
    if not runs and run_unmarked and not marks.problem:
        runs.append(PlannedRun("call", (), entry=all_tests(source)))
    return runs


def plan_guesses(source: SourceFile, marks: Sequence[Mark]) -> PlannedRun:
    """The run that finds inputs for marks that no other run came to."""
    return PlannedRun("inferred", tuple(marks), owners=tuple(marks), guesses=tuple(_guess(source, mark) for mark in marks))


def _guess(source: SourceFile, mark: Mark) -> Guess:
    span, decorated = mark.span, mark.form is MarkForm.DECORATOR
    start, end = (_utf8(source, position) for position in (span.start, span.end))
    place = Place(source.path, span.start.line + 1, "<module>", span.end.line + 1, start, end)
    return Guess(mark.name, mark.line + 1, place, decorated, bool(mark.options.fullgraph), mark.options.dynamic)


def _utf8(source: SourceFile, position: Position) -> int:
    return len(source.line(position.line)[: position.column].encode("utf-8", "surrogatepass"))


def request_runs(request: AnalysisRequest, marks: Marks, entries: Sequence[Entry]) -> list[PlannedRun]:
    """The runs that a request is for: those of the entries that it names, else all that the file needs. `entries` are the project's."""
    if request.entries:
        return _from_entries(Given(request.source, request.entries), list(marks.marks))
    return plan_runs(request.source, marks, request.run_unmarked, entries)


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


def stages(runs: Sequence[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """The runs in their order, those together that need not wait for each other: what all but the last of them leave to those behind is
    known before they run."""
    stage: list[PlannedRun] = []
    for run in runs:
        stage.append(run)
        if not run.settles:
            yield stage
            stage = []
    if stage:
        yield stage


def begun(stage: Sequence[PlannedRun], shown: Sequence[Mark]) -> list[PlannedRun]:
    """The runs of a stage as they are to be once some marks are shown, each without those that one before it settles."""
    taken = list(shown)
    found: list[PlannedRun] = []
    for run in stage:
        left = run.after(taken)
        found += [left] if left is not None else []
        taken += run.marks if run.settles else ()
    return found


def in_order(stage: Sequence[PlannedRun], marks: Sequence[Mark], line: int | None) -> list[int]:
    """The numbers of the runs of a stage in the order in which they are begun: first that of the function that a line (0-based) is in or
    behind, then the others as they come."""
    above = [mark for mark in marks if line is not None and mark.span.start.line <= line]
    here = max(above, key=lambda mark: mark.span.start, default=None)
    return sorted(range(len(stage)), key=lambda number: here is None or here not in stage[number].marks)


def job_for(request: AnalysisRequest, planned: PlannedRun) -> Job:
    """What a worker is asked for a planned run of the request's file."""
    path, entry = request.source.path, planned.entry
    return Job(
        path=path,
        text=request.source.text,
        root=request.root,
        overlay={**request.overlay, path: request.source.text},
        calls=list(planned.calls),
        guesses=list(planned.guesses),
        marks=[KnownMark(path, mark.lines.start + 1, mark.lines.stop) for mark in planned.marks],
        arguments=list(entry.arguments) if entry is not None and entry.kind is EntryKind.SCRIPT else [],
        function=entry.function if entry is not None else "",
        tests=entry.tests if entry is not None and entry.kind is EntryKind.TEST else [],
        device=request.settings.device,
    )


def _from_directives(given: Given, marks: list[Mark]) -> list[PlannedRun]:
    return _example_calls(given.source, "directive", [(mark, one) for mark in marks for one in mark.directives if not one.file])


def _from_examples(given: Given, marks: list[Mark]) -> list[PlannedRun]:
    return _example_calls(
        given.source, "project", [(mark, one) for mark in marks for one in mark.directives if one.file and not one.recorded]
    )


def _from_recorded(given: Given, marks: list[Mark]) -> list[PlannedRun]:
    return _example_calls(given.source, "recorded", [(mark, one) for mark in marks for one in mark.directives if one.recorded])


def _example_calls(source: SourceFile, origin: str, written: Iterable[tuple[Mark, Directive]]) -> list[PlannedRun]:
    calls, owners = [], []
    for mark, directive in written:
        if not directive.error:
            start, options = directive.span.start, mark.options
            utf8 = directive.utf8 if directive.file else _utf8(source, start)
            to_compile, fullgraph = _to_compile(mark, directive), bool(options.fullgraph)
            place = directive.expression, start.line + 1, utf8
            calls.append(ExampleCall(*place, to_compile, fullgraph, options.dynamic, directive.file, directive.recorded))
            owners.append(mark)
    return [PlannedRun(origin, tuple(dict.fromkeys(owners)), tuple(calls), tuple(owners))] if calls else []


def _to_compile(mark: Mark, directive: Directive) -> str:
    """What the worker has to compile before the call: what the source does not, or compiles under another name than the call uses."""
    above_definition = mark.form is MarkForm.CALL and directive.target_line != mark.span.start.line
    return mark.name if mark.form is MarkForm.DIRECTIVE or above_definition else ""


def _from_entries(given: Given, marks: list[Mark]) -> list[PlannedRun]:
    return [PlannedRun(entry.source, _marks_of(entry, given.source, marks), entry=entry) for entry in given.entries]


def _marks_of(entry: Entry, source: SourceFile, marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """The marks that an entry may come to: all that the source compiles, but for those in tests that are not run. Of tests that the user
    names only those in them: what else they call is no more theirs than what is in other files."""
    called = _compiled_by_the_source(marks)
    if entry.kind is not EntryKind.TEST:
        return called
    if entry.source == "call" and entry.arguments:
        own = [lines for name, lines in defined_tests(source) if entry.has_test(name)]
        return tuple(mark for mark in called if any(mark.span.start.line in lines for lines in own))
    others = [lines for name, lines in defined_tests(source) if not entry.has_test(name)]
    return tuple(mark for mark in called if not any(mark.span.start.line in lines for lines in others))


def _from_the_program(given: Given, marks: list[Mark]) -> list[PlannedRun]:
    """The file as a program, unless the project says with which arguments that is; a file of tests as pytest runs it."""
    called = _compiled_by_the_source(marks)
    told = any(entry.kind is EntryKind.SCRIPT for entry in given.entries)
    if not called or told:
        return []
    return [PlannedRun("call", called, entry=all_tests(given.source, called))]


def all_tests(source: SourceFile, marks: Sequence[Mark] = ()) -> Entry | None:
    """The tests of a file that is for pytest to run; only those in which something is marked, where nothing is outside of them."""
    if not is_test_file(source.path, source):
        return None
    tests = list(defined_tests(source))
    holding = {mark: next((name for name, lines in tests if mark.span.start.line in lines), "") for mark in marks}
    wanted = tuple(dict.fromkeys(holding.values())) if all(holding.values()) else ()
    return Entry(source.path.replace("\\", "/").rpartition("/")[2], EntryKind.TEST, source.path, wanted, source="call")


def _compiled_by_the_source(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    return tuple(mark for mark in marks if mark.form is not MarkForm.DIRECTIVE)


_SOURCES: tuple[Callable[[Given, list[Mark]], list[PlannedRun]], ...] = (
    _from_directives,
    _from_examples,
    _from_entries,
    _from_recorded,
    _from_the_program,
)
