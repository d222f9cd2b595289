"""How bad a break is: what it splits, how often it was hit, and in which order breaks are listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..worker.protocol import BreakSeen, FrameCompiled, GraphSeen
from .findings import Cost, Diagnostic, Kind, Severity
from .tracing import Finished, Run

_EARLIER = "caused by an earlier graph break"
_ORDER = (Kind.SKIPPED, Kind.BREAK, Kind.RAISED, Kind.RECOMPILE, Kind.INTENDED)


def cost_of(records: Sequence[BreakSeen], marks: Sequence[int], run: Run, graphs: int, ops: int, in_loop: bool) -> Cost:
    """The cost of a cause from its records.

    `graphs` and `ops` are those of the functions that it reaches, and `marks` their numbers. Operations before it are those of the frames
    it cut short; operations after it those of the frames that Dynamo resumed behind it. `frames` counts the frames that were compiled
    only because of it.
    """
    compiled = run.of(FrameCompiled)
    runs = run.end.ended.runs if isinstance(run.end, Finished) else {}
    last = {frame.compile_id: frame for frame in compiled}
    roots = {record.compile_id: record for record in records if record.frames}
    resumed = [frame for frame in compiled if any(_resumes(frame, record) for record in roots.values())]
    deeper = {record.compile_id for record in roots.values() if _is_inner(record, roots.values())}
    hits = sum(runs.get(compile_id, 0) for compile_id in roots if compile_id not in deeper)
    before = _graphs_before(records[0], marks, run) if records else 0
    return Cost(
        graphs=graphs,
        hits=max(hits, 1),
        in_loop=in_loop,
        ops=ops,
        ops_before=sum(last[compile_id].ops or 0 for compile_id in roots if compile_id in last),
        ops_after=sum(frame.ops or 0 for frame in resumed),
        frames=len({frame.compile_id.partition("/")[0] for frame in resumed} | {compile_id.partition("/")[0] for compile_id in deeper}),
        graphs_before=min(before, graphs),
        graphs_after=max(graphs - before, 0),
    )


def _graphs_before(record: BreakSeen, marks: Sequence[int], run: Run) -> int:
    """The graphs captured before a break was met; that of its own frame is made only when Dynamo tries the frame again, up to the break."""
    seen = 0
    met = False
    for message in run.messages:
        met = met or message is record
        if isinstance(message, GraphSeen) and message.mark in marks and (not met or message.compile_id == record.compile_id):
            seen += 1
    return seen


def _resumes(frame: FrameCompiled, record: BreakSeen) -> bool:
    """Whether a compiled frame is what runs behind a break of a record's own frame."""
    root = record.frames[0]
    return frame.file == root.file and frame.function == f"torch_dynamo_resume_in_{root.function}_at_{root.line}"


def _is_inner(record: BreakSeen, others: Iterable[BreakSeen]) -> bool:
    """Whether a record is of a callee that was compiled by itself because its caller had broken at the same place."""
    own = _places(record)
    return any(len(other.frames) > len(own) and _places(other)[-len(own) :] == own for other in others)


def _places(record: BreakSeen) -> list[tuple[str, int]]:
    return [(place.file, place.line) for place in record.frames]


def rank(diagnostic: Diagnostic) -> tuple[object, ...]:
    """The key that lists the costliest first: errors, lost frames, breaks in loops, those hit most often, those that cut most."""
    cost = diagnostic.cost or Cost()
    kind = _ORDER.index(diagnostic.kind) if diagnostic.kind in _ORDER else len(_ORDER)
    cut = min(cost.ops_before, cost.ops_after)
    calm = diagnostic.severity is not Severity.ERROR
    return (calm, kind, not cost.in_loop, -cost.hits, -cut, -cost.graphs, diagnostic.path, diagnostic.span)


def by_cost(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The costliest first; callers and consequences right behind their cause."""
    main = sorted((found for found in diagnostics if found.kind is not Kind.CALLER), key=rank)
    callers = sorted((found for found in diagnostics if found.kind is Kind.CALLER), key=lambda found: (found.path, found.span))
    known = {found.id for found in main}
    ordered: list[Diagnostic] = []
    for found in main:
        if found.caused_by not in known or found.caused_by == found.id:
            ordered += _family(found, main, callers, {found.id})
    ordered += [found for found in (*main, *callers) if found not in ordered]
    return ordered


def _family(found: Diagnostic, main: Sequence[Diagnostic], callers: Sequence[Diagnostic], seen: set[str]) -> list[Diagnostic]:
    family = [found, *(caller for caller in callers if caller.id == found.id)]
    for other in main:
        if other.caused_by == found.id and other.id not in seen:
            seen.add(other.id)
            family += _family(other, main, callers, seen)
    return family


def is_consequence(diagnostic: Diagnostic) -> bool:
    """Whether PyTorch itself says that an earlier break may be behind this one."""
    return any(_EARLIER in hint for hint in diagnostic.hints)
