"""Records -> causes: which reports are of one break, which frame is to blame, who calls it, and what each frame lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..worker.protocol import BreakSeen, FrameCompiled, Place
from .events import Reason, parse_reason
from .findings import CompiledFrame, Effect, StackFrame
from .ignores import is_code
from .places import Sources, definition_line, span_of
from .source import Span
from .workspace import Workspace


@dataclass(frozen=True)
class CauseKey:
    """What makes two reports one cause."""

    path: str
    span: Span
    gb_type: str
    inner_path: str
    inner_line: int

    @property
    def id(self) -> str:
        """A short name for the cause that is the same in each run of the same text."""
        return hashlib.sha1(repr(self).encode("utf-8", "replace")).hexdigest()[:12]


@dataclass
class Cause:
    """One thing that breaks graphs, with all that its reports say."""

    key: CauseKey
    reason: Reason
    error: bool = False
    marks: list[int] = field(default_factory=list)
    records: list[BreakSeen] = field(default_factory=list)
    stacks: list[tuple[StackFrame, ...]] = field(default_factory=list)
    callers: dict[tuple[str, Span], list[CompiledFrame]] = field(default_factory=dict)
    frames: dict[CompiledFrame, bool] = field(default_factory=dict)
    """Each frame that was compiled by itself and hit the break -> whether it is the workspace's."""
    intent: Place | None = None
    blamed_above: bool = False

    @property
    def stack(self) -> tuple[StackFrame, ...]:
        """The deepest of the chains."""
        return max(self.stacks, key=len)

    @property
    def eager(self) -> list[CompiledFrame]:
        """The workspace's frames that run wholly in eager mode because of it."""
        return [frame for frame, own in self.frames.items() if own and frame.effect is Effect.EAGER]


def gather_causes(records: Iterable[BreakSeen], compiled: Sequence[FrameCompiled], workspace: Workspace, sources: Sources) -> list[Cause]:
    """The causes behind the records, in the order in which they were first reported."""
    last = {_frame_id(frame.compile_id): frame for frame in compiled}
    causes: dict[CauseKey, Cause] = {}
    said = [(record, _with_registry(parse_reason(record.text), record)) for record in records if record.frames or record.above]
    headers: dict[tuple[Place, str], set[str]] = {}
    for record, reason in said:
        headers.setdefault(((record.frames or record.above)[-1], reason.gb_type), set()).update(reason.headers)
    for record, reason in said:
        announced = headers[(record.frames or record.above)[-1], reason.gb_type]
        _add(causes, record, reason, announced, last.get(_frame_id(record.compile_id)), workspace, sources)
    return list(causes.values())


def _frame_id(compile_id: str) -> str:
    return compile_id.partition("/")[0]


def _add(
    causes: dict[CauseKey, Cause],
    record: BreakSeen,
    reason: Reason,
    announced: set[str],
    compiled: FrameCompiled | None,
    workspace: Workspace,
    sources: Sources,
) -> None:
    """Add one record. `announced` has the headers of all records of the same break, so that all of them get the same span."""
    blamed, above = _blamed(record, workspace)
    inner = (record.frames or record.above)[-1]
    says = "\n".join((*sorted(announced), reason.gb_type, reason.explanation, reason.context))
    span = _span(blamed, record, says, sources)
    key = CauseKey(blamed.file, span, reason.gb_type, inner.file, inner.line - 1)
    cause = causes.setdefault(key, Cause(key, reason, blamed_above=above))
    cause.records.append(record)
    cause.error |= record.error
    cause.intent = cause.intent or record.intent
    if (reason.effects and not cause.reason.effects) or len(reason.headers) > len(cause.reason.headers):
        cause.reason = reason
    if record.mark not in cause.marks:
        cause.marks.append(record.mark)
    root = _compiled_frame(record, reason, compiled, sources)
    if root is not None:
        cause.frames[root] = workspace.owns(root.path)
    lead = [blamed] if above else []
    stack = tuple(_stack_frame(place, workspace, sources) for place in _shown(lead + record.frames, workspace))
    if stack not in cause.stacks:
        cause.stacks.append(stack)
    for place in [] if above else _callers(record.frames, blamed, workspace):
        frames = cause.callers.setdefault((place.file, _span(place, record, "", sources)), [])
        if root is not None and root not in frames:
            frames.append(root)


def _span(place: Place, record: BreakSeen, says: str, sources: Sources) -> Span:
    """What a frame's place covers: what PyTorch says is about the innermost frame, any other one calls the next."""
    chain = [*record.above, *record.frames]
    below = next((chain[index + 1 :] for index, frame in enumerate(chain) if frame is place), [])
    return span_of(sources(place.file), place, says, below[0].function if below else "")


def _with_registry(reason: Reason, record: BreakSeen) -> Reason:
    """The reason with what only the installed torch's registry knows: the id before 2.9, and wording where the record has none."""
    template = "{" in record.registry_explanation
    return Reason(
        reason.gb_type,
        reason.code or (record.registry_id if is_code(record.registry_id) else ""),
        reason.explanation or ("" if template else record.registry_explanation),
        reason.hints or tuple(hint for hint in record.registry_hints if "{" not in hint),
        reason.context,
        reason.url,
        reason.headers,
        reason.effects,
    )


def _blamed(record: BreakSeen, workspace: Workspace) -> tuple[Place, bool]:
    """The frame to blame, and whether it stands above the compiled one (everything from there on is library code)."""
    for place in reversed(record.frames):
        if workspace.owns(place.file):
            return place, False
    for place in reversed(record.above):
        if workspace.owns(place.file):
            return place, True
    return (record.frames or record.above)[-1], False


def _callers(frames: Sequence[Place], blamed: Place, workspace: Workspace) -> list[Place]:
    """The workspace's frames from the compiled one down to, not including, the blamed one."""
    end = max(index for index, place in enumerate(frames) if place is blamed) if blamed in frames else 0
    return [place for place in frames[:end] if workspace.owns(place.file)]


def _shown(frames: Sequence[Place], workspace: Workspace) -> list[Place]:
    """The stack without PyTorch's own frames that only pass the call on; the innermost always stays."""
    return [place for index, place in enumerate(frames) if index == len(frames) - 1 or not workspace.in_torch(place.file)]


def _stack_frame(place: Place, workspace: Workspace, sources: Sources) -> StackFrame:
    own = workspace.owns(place.file)
    span = span_of(sources(place.file), place) if own else None
    return StackFrame(place.file, place.line - 1, place.function, not own, span)


def _compiled_frame(record: BreakSeen, reason: Reason, compiled: FrameCompiled | None, sources: Sources) -> CompiledFrame | None:
    if not record.frames:
        return None
    root = record.frames[0]
    eager = reason.skips if compiled is None else compiled.ops is None
    fallback = (root.first_line or root.line) - 1
    line = definition_line(sources(root.file), root.function, root.line - 1, fallback)
    return CompiledFrame(root.function, root.file, line, Effect.EAGER if eager and not record.error else Effect.SPLIT)
