"""What became of each marked function in one run: its outcome, its inputs, its graphs."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..worker.protocol import CUT_OFF, BreakSeen, CallSeen, Failure, FrameCompiled, GraphSeen, Inferred, MarkSeen
from .findings import FunctionResult, InputSet, Outcome
from .inputs import PlannedRun
from .marks import Mark, MarkForm, find_marks
from .places import Sources, definition_at, definition_line, node_span, span_of
from .source import SourceFile, Span
from .tracing import Finished, NoEnvironment, Refused, Run, TimedOut, WorkerDied

_WANTS = re.compile(r"^(?:.*: error|Error): (.+)$", re.MULTILINE)
"""What argparse and click print about arguments, on a line of its own."""
DISABLED_ABOVE = "`torch.compiler.disable` above the mark keeps it from being compiled"
"""Why a mark can never be reached, whatever it is called with."""

NOTHING_CALLS = "nothing in this file calls it"
"""What is said of a function that its own file's run did not come to."""


@dataclass(frozen=True)
class Traced:
    """A function of the report, the numbers of the run's marks that it stands for, and its mark in the source where one is seen."""

    result: FunctionResult
    numbers: frozenset[int]
    mark: Mark | None


def traced_functions(path: str, planned: PlannedRun, run: Run, sources: Sources) -> list[Traced]:
    """One row for each mark that the run is for, and for each further one that it showed."""
    marks_of = _marks_by_file(sources)
    groups: dict[tuple[object, ...], list[MarkSeen]] = {}
    statics: dict[tuple[object, ...], Mark | None] = {}
    for mark in run.of(MarkSeen):
        static = _static_mark(path, planned, mark)
        if static is None and (planned.owners or _at(path, mark, planned.elsewhere) is not None):
            continue  # another run shows it
        static = static or _at(mark.place.file, mark, marks_of(mark.place.file))
        identity = id(static) if static is not None else (mark.place.file, mark.place.line, mark.place.column)
        key = (identity, mark.file, mark.first_line)
        statics[key] = static
        groups.setdefault(key, []).append(mark)
    rows = [_row(path, planned, run, group, statics[key], sources) for key, group in groups.items()]
    shown = {row.mark for row in rows if row.result.mark_path == path}
    rows += [_missing(path, planned, run, mark) for mark in planned.marks if mark not in shown]
    expected = set(planned.marks)
    own = [row for row in rows if row.result.outcome is not Outcome.NOT_REACHED or (row.result.mark_path == path and row.mark in expected)]
    return sorted(own, key=lambda row: (row.result.mark_path != path, row.result.mark_path, row.result.mark_span, row.result.line))


_WORST_LAST = (Outcome.TRACED, Outcome.TIMED_OUT, Outcome.RAISED, Outcome.WORKER_DIED)


def settled(parts: Sequence[Sequence[Traced]]) -> list[Traced]:
    """The rows of several runs as one list: of a mark that some run showed what these say, of another the reason that says most."""
    if len(parts) == 1:
        return list(parts[0])
    rows: dict[tuple[object, ...], Traced] = {}
    for row in (row for part in parts for row in part):
        key = (*_identity(row), row.result.path, row.result.name)
        rows[key] = _better(rows[key], row) if key in rows else row
    shown = {_identity(row) for row in rows.values() if row.result.outcome is Outcome.TRACED}
    return [row for row in rows.values() if row.result.outcome is Outcome.TRACED or _identity(row) not in shown]


def _identity(row: Traced) -> tuple[object, ...]:
    return row.result.mark_path, row.result.mark_span


def _better(one: Traced, other: Traced) -> Traced:
    """Of two rows of one function the one that says more, with the inputs of both."""

    def place(row: Traced) -> int:
        return _WORST_LAST.index(row.result.outcome) if row.result.outcome in _WORST_LAST else len(_WORST_LAST)

    best = one if place(one) < place(other) or (one.result.outcome is Outcome.TRACED) else other
    inputs = tuple(dict.fromkeys((*one.result.inputs, *other.result.inputs)))
    return replace(best, result=replace(best.result, inputs=inputs))


def _marks_by_file(sources: Sources) -> Callable[[str], Sequence[Mark]]:
    """The marks of any file, each file's read once: a function has the same row whichever program shows it."""
    known: dict[str, Sequence[Mark]] = {}

    def marks_of(file: str) -> Sequence[Mark]:
        if file not in known:
            source = sources(file)
            known[file] = find_marks(source).marks if source is not None else ()
        return known[file]

    return marks_of


def _static_mark(path: str, planned: PlannedRun, seen: MarkSeen) -> Mark | None:
    if seen.directive >= 0 and (not seen.place.file or _is_within_its_call(planned, seen)):
        return planned.owners[seen.directive]
    return _at(path, seen, planned.marks)


def _is_within_its_call(planned: PlannedRun, seen: MarkSeen) -> bool:
    """Whether an example call compiles itself what it calls: `torch.compile(Net())(x)`."""
    return bool(planned.calls) and seen.place.line == planned.calls[seen.directive].line


def _at(path: str, seen: MarkSeen, marks: Iterable[Mark]) -> Mark | None:
    """The one of the file's marks whose place is that of a compile."""
    if seen.place.file != path:
        return None
    line = seen.place.line - 1
    fitting = [mark for mark in marks if line in mark.lines and mark.form is not MarkForm.DIRECTIVE]
    column = seen.place.column
    exact = [mark for mark in fitting if column is not None and mark.span.start.line == line and mark.span.start.column == column]
    return next(iter(exact or sorted(fitting, key=lambda mark: len(mark.lines))), None)


def _row(path: str, planned: PlannedRun, run: Run, group: list[MarkSeen], static: Mark | None, sources: Sources) -> Traced:
    first, numbers = group[0], frozenset(mark.mark for mark in group)
    where = first.place.file or path
    written = static is not None and static.form in (MarkForm.DECORATOR, MarkForm.DIRECTIVE) and first.file == where
    name = static.name if static is not None and written else first.name
    line = (
        static.line
        if static is not None and written
        else definition_line(sources(first.file), first.name, first.first_line - 1, max(first.first_line - 1, 0))
    )
    inlined = any(numbers & set(graph.inlined) for graph in run.of(GraphSeen))
    called = inlined or _was_called(numbers, run)
    outcome, detail = _outcome(planned, run, called, static)
    through, guess = _entry_of(path, planned, (where, first.file)), _guess_for(planned, run, static)
    own_graphs = [graph for graph in run.of(GraphSeen) if graph.mark in numbers]
    compiled = [frame for frame in run.of(FrameCompiled) if frame.mark in numbers]
    within = inlined or any((frame.file, frame.first_line) == (first.file, first.first_line) for frame in run.of(FrameCompiled))
    if outcome is Outcome.TRACED and not detail and not compiled:
        what = "compiled as part of another marked function that calls it" if within else "it was called, but nothing of it was compiled"
        detail = "" if any(record.mark in numbers for record in run.of(BreakSeen)) else what
    if outcome is Outcome.NOT_REACHED and static is not None and written and _is_disabled_above(sources(where), static):
        detail = DISABLED_ABOVE
    fullgraph = any(mark.fullgraph for mark in group)
    failed = fullgraph and any(record.error and record.mark in numbers for record in run.of(BreakSeen))
    ended = run.end.ended if isinstance(run.end, Finished) else None
    result = FunctionResult(
        path=first.file,
        name=name,
        line=line,
        mark_path=where if static is not None else first.place.file,
        mark_span=static.span if static is not None else span_of(sources(first.place.file), first.place),
        outcome=outcome,
        detail=detail,
        stopped=(ended.stopped or None) if ended else None,
        fullgraph=fullgraph,
        inputs=tuple(InputSet(planned.source, inputs, through, guess.expression if guess else "") for inputs in _inputs(numbers, run)),
        graphs=0 if failed else len(own_graphs),
        ops=0 if failed else sum(frame.ops or 0 for frame in compiled),
        seconds=round(sum(frame.seconds for frame in compiled), 4),
    )
    return Traced(result, numbers, static)


def _entry_of(path: str, planned: PlannedRun, places: tuple[str, str]) -> str:
    """Through what a function was called: an entry as it is named, or the file that was run where it is marked or written in another."""
    if planned.entry is not None:
        return planned.entry.text
    return path if places != (path, path) and not planned.calls else ""


def _is_disabled_above(source: SourceFile | None, mark: Mark) -> bool:
    """Whether a decorator above the one that compiles a function disables the result, so that nothing is ever compiled."""
    node = definition_at(source, mark.name, mark.line)
    if node is None or source is None:
        return False
    above = (node_span(source, decorator) for decorator in node.decorator_list if decorator.lineno - 1 < mark.span.start.line)
    return any(re.search(r"\bdisable\b", source.slice(span)) for span in above)


def _was_called(numbers: frozenset[int], run: Run) -> bool:
    return any(message.mark in numbers for message in run.messages if isinstance(message, (CallSeen, FrameCompiled, BreakSeen, GraphSeen)))


def _inputs(numbers: frozenset[int], run: Run) -> Iterable[str]:
    return dict.fromkeys(call.inputs for call in run.of(CallSeen) if call.mark in numbers)


def _guess_for(planned: PlannedRun, run: Run, mark: Mark | None) -> Inferred | None:
    """What was found for a mark by guessing."""
    return next((found for found in run.of(Inferred) if planned.owners[found.guess] == mark), None)


def _missing(path: str, planned: PlannedRun, run: Run, mark: Mark) -> Traced:
    """The row of a mark whose line the run never came to."""
    outcome, detail = _outcome(planned, run, False, mark)
    if _is_traced_over(path, mark, run):
        outcome, detail = Outcome.TRACED, "inside a compiled function, where `torch.compile` does nothing more"
    elif outcome is Outcome.NOT_REACHED and not planned.owners and planned.entry is None:
        detail = "the line that compiles it was not run" if mark.form is not MarkForm.DECORATOR else detail
    fullgraph = bool(mark.options.fullgraph)
    return Traced(FunctionResult(path, mark.name, mark.line, path, mark.span, outcome, detail, fullgraph=fullgraph), frozenset(), mark)


def _is_traced_over(path: str, mark: Mark, run: Run) -> bool:
    """Whether Dynamo traced the very line that compiles it."""
    lines = range(mark.span.start.line + 1, mark.span.end.line + 2)
    return any(file == path and line in lines for frame in run.of(FrameCompiled) for file, line in frame.lines)


def _outcome(planned: PlannedRun, run: Run, called: bool, mark: Mark | None) -> tuple[Outcome, str]:
    end = run.end
    if isinstance(end, NoEnvironment):
        return Outcome.NO_ENVIRONMENT, end.sentence
    if isinstance(end, Refused):
        return Outcome.REFUSED, end.sentence
    if isinstance(end, TimedOut):
        found = "what was found until then is shown" if called else "it had not been called by then"
        return Outcome.TIMED_OUT, f"the program had not ended after {end.seconds:g} s; {found}"
    if isinstance(end, WorkerDied):
        how = death_sentence(end)
        return (
            (Outcome.TRACED, f"{how}; what was found until then is shown")
            if called
            else (Outcome.WORKER_DIED, f"{how} before it was called")
        )
    if called:
        return Outcome.TRACED, ""
    if end.ended.problem:
        return Outcome.NO_ENVIRONMENT, end.ended.problem
    return _not_called(planned, run, mark)


def _not_called(planned: PlannedRun, run: Run, mark: Mark | None) -> tuple[Outcome, str]:
    failures = [
        failure for failure in run.of(Failure) if failure.directive < 0 or mark is None or planned.owners[failure.directive] == mark
    ]
    if failures:
        text = failure_text(failures[0])
        if planned.calls and failures[0].directive >= 0:
            return Outcome.NO_INPUTS, f"its example call raised {text}"
        return Outcome.RAISED, f"the program raised {text} before it was called"
    if planned.guesses:
        return _not_guessed(_guess_for(planned, run, mark))
    stale = _stale(run, mark) if planned.source == "recorded" else ""
    if stale:
        return Outcome.NO_INPUTS, stale
    if planned.calls:
        return Outcome.NOT_REACHED, "its example call ran without calling it"
    status = run.end.ended.status if isinstance(run.end, Finished) else 0
    if status:
        return Outcome.NOT_REACHED, f"{_ending(planned, run, status)} before it was called"
    if planned.entry is not None:
        return Outcome.NOT_REACHED, f"`{planned.entry.text}` does not call it"
    return Outcome.NOT_REACHED, NOTHING_CALLS


def _stale(run: Run, mark: Mark | None) -> str:
    """Why the recorded calls of a function cannot be made again, as the run says it."""
    notes = run.end.ended.notes if isinstance(run.end, Finished) else []
    return next((note for note in notes if mark is not None and f"`{mark.name}`" in note), "")


def _ending(planned: PlannedRun, run: Run, status: int) -> str:
    """How the program ended; one that was missing arguments (argparse, click and the like say so at the end) is told where they go."""
    asks = _WANTS.findall(run.output[-2000:]) if status == 2 else []
    if not asks:
        return f"the program ended with exit status {status}"
    where = "change" if planned.entry is not None else "give them to it with"
    return f"the program ended because of its arguments ({asks[-1].strip()}; {where} `[tool.graphbreak] entries` in pyproject.toml)"


def _not_guessed(found: Inferred | None) -> tuple[Outcome, str]:
    if found is None:
        return Outcome.RAISED, "the module ended before inputs were looked for"
    if found.expression:
        return Outcome.NOT_REACHED, f"the call `{found.expression}` that was guessed ran without calling it"
    return (Outcome.NO_INPUTS if found.reachable else Outcome.NOT_REACHED), found.error


def failure_text(failure: Failure) -> str:
    """An exception on one line."""
    if failure.type == "BdbQuit":
        return "BdbQuit: a debugger asked what to do, and a traced program has nobody to answer it; take it out, or use `breakpoint()`"
    first = failure.message.strip().partition("\n")[0]
    return f"{failure.type}: {first[:200]}" if first else failure.type


def death_sentence(end: WorkerDied) -> str:
    """How a process went away without a word."""
    if end.detail:
        return end.detail
    if end.status is None:
        return "the worker process ended"
    if end.status == CUT_OFF:
        return "the program closed the pipe that results are sent over"
    if end.status < 0:
        try:
            name = signal.Signals(-end.status).name
        except ValueError:
            name = f"signal {-end.status}"
        return f"the process was ended by {name}"
    return f"the program ended its own process with exit status {end.status}"


def mark_span(row: Traced) -> Span:
    """Where to show something about the function as a whole: its name in the source, else the mark."""
    return row.mark.name_span if row.mark is not None else row.result.mark_span
