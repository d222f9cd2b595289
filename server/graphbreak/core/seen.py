"""What the runs of one analysis have shown while they go on: the breaks found so far, as if each run had just ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..worker.protocol import BreakSeen, Ended, Failure, FrameCompiled, Hello, Message
from .findings import Report
from .parts import Part
from .tracing import Finished, Run

News = Callable[[Callable[[], Report]], None]
"""Hears that more is known, with what makes a provisional report of it: that takes its time for a long trace, and may be called in another
thread."""

_GOES_ON = Finished(Ended(0, [], []))
"""In place of an end: what a run has not come to is left out of a provisional report, so that it does not matter which."""


class Seen:
    """The runs of one analysis by their numbers. `report` makes a provisional report of what they show; without `news` nobody wants one."""

    def __init__(self, news: News | None, report: Callable[[Sequence[Part]], Report]) -> None:
        self._news = news
        self._report = report
        self._parts: dict[int, Callable[[], Part | None]] = {}

    def listener(self, number: int, understand: Callable[[Run], Part]) -> Callable[[Message], None]:
        """What is to hear the messages of a run that begins; it may be the second one of its number."""
        if self._news is None:
            return lambda message: None
        messages: list[Message] = []
        broken = False

        def hear(message: Message) -> None:
            nonlocal broken
            messages.append(message)
            broken = broken or isinstance(message, (BreakSeen, Failure))
            if broken and isinstance(message, (BreakSeen, Failure, FrameCompiled)):
                self._tell()

        self._parts[number] = lambda: _so_far(messages, understand)
        return hear

    def ended(self, number: int, part: Part) -> None:
        """A run has ended, and others may follow."""
        self._parts[number] = lambda: part
        if part.diagnostics:
            self._tell()

    def _tell(self) -> None:
        if self._news is not None:
            self._news(self._so_far)

    def _so_far(self) -> Report:
        parts = [make() for _, make in sorted(self._parts.items())]
        return self._report([part for part in parts if part is not None])


def _so_far(messages: list[Message], understand: Callable[[Run], Part]) -> Part | None:
    """A run as far as it has come. Where the worker's files lie it says first; without that nobody can be blamed."""
    hello, *said = list(messages)
    if not isinstance(hello, Hello):
        return None
    return understand(Run(tuple(said), _GOES_ON, libraries=tuple(hello.library_folders), torch_folder=hello.torch_folder))
