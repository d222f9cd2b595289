"""How much of what one run says is kept: so much as a large model has to say, and no more than an editor can show at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..worker.protocol import (
    BreakSeen,
    CallSeen,
    Cut,
    Denied,
    DeviceSeen,
    Ended,
    Explained,
    Failure,
    FrameCompiled,
    GraphSeen,
    Inferred,
    LimitHit,
    MarkSeen,
    Message,
    Place,
    Recompiled,
)

MOST: Mapping[type, tuple[int, str]] = {
    BreakSeen: (1_000, "reports of graph breaks"),
    Recompiled: (1_000, "recompiles"),
    LimitHit: (1_000, "reports of a limit on recompiles"),
    Failure: (1_000, "exceptions"),
    MarkSeen: (10_000, "compiled callables"),
    CallSeen: (20_000, "sets of inputs"),
    Inferred: (10_000, "functions with guessed inputs"),
    FrameCompiled: (10_000, "compiled frames"),
    GraphSeen: (5_000, "graphs"),
    Explained: (500, "artifacts"),
    Denied: (1_000, "things that the sandbox stopped"),
    DeviceSeen: (100, "devices"),
    Cut: (20, "things that were left out"),
}
"""How many messages of a kind are kept of one run, and what those are."""

MOST_OPS = 100_000
MOST_LINES = 200_000
"""Operations, and lines of graphs and frames, of one run."""

MOST_FRAMES = 200
MOST_TEXT = 20_000
MOST_TEXTS = 100
_EARLY = 50


class Room:
    """What of one run was kept so far."""

    def __init__(self) -> None:
        self._counts: Counter[type] = Counter()
        self._ops = self._lines = 0
        self._told: set[str] = set()

    def taken(self, message: Message) -> Iterator[Message]:
        """What is to be kept of a message, and once for each kind what is left out."""
        kind = type(message)
        most, what = MOST.get(kind, (MOST_TEXTS, f"messages of the kind {kind.__name__}"))
        self._counts[kind] += 1
        if self._counts[kind] > most:
            yield from self._cut(f"{most:,} {what}")
            return
        if isinstance(message, GraphSeen):
            self._ops += len(message.ops)
            if self._ops > MOST_OPS:
                message = replace(message, ops=[])
                yield from self._cut(f"{MOST_OPS:,} operations in graphs")
        if isinstance(message, (GraphSeen, FrameCompiled)):
            self._lines += len(message.lines)
            if self._lines > MOST_LINES:
                message = replace(message, lines=[])
                yield from self._cut(f"{MOST_LINES:,} lines in graphs")
        yield shortened(message)

    def end(self, ended: Ended) -> Ended:
        """The last message."""
        return replace(ended, stopped=_text(ended.stopped), problem=_text(ended.problem), notes=_texts(ended.notes))

    def _cut(self, what: str) -> Iterator[Cut]:
        if what not in self._told:
            self._told.add(what)
            yield Cut(what)


def shortened(message: Message) -> Message:
    """The message without what is longer than anybody reads; that something is missing can be seen in each text."""
    if isinstance(message, BreakSeen):
        return replace(
            message,
            text=_text(message.text),
            above=_frames(message.above),
            frames=_frames(message.frames),
            registry_explanation=_text(message.registry_explanation),
            registry_hints=_texts(message.registry_hints),
        )
    if isinstance(message, Failure):
        return replace(
            message, type=_text(message.type), message=_text(message.message), frames=_frames(message.frames), eager=_text(message.eager)
        )
    if isinstance(message, Recompiled):
        return replace(message, reasons=_texts(message.reasons), actual=_texts(message.actual))
    if isinstance(message, LimitHit):
        return replace(message, reason=_text(message.reason))
    if isinstance(message, CallSeen):
        return replace(message, inputs=_text(message.inputs))
    if isinstance(message, Cut):
        return replace(message, what=message.what[:MOST_TEXTS])
    return message


def _text(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def _texts(texts: list[str]) -> list[str]:
    more = [f"… and {len(texts) - MOST_TEXTS} more"] if len(texts) > MOST_TEXTS else []
    return [*map(_text, texts[:MOST_TEXTS]), *more]


def _frames(frames: list[Place]) -> list[Place]:
    """The first and the last ones: where it begins, and what is to blame."""
    return frames if len(frames) <= MOST_FRAMES else [*frames[:_EARLY], *frames[_EARLY - MOST_FRAMES :]]
