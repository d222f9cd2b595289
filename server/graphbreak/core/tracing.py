"""What we ask of a tracer, and the closed set of ways a run can end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, Union

from ..worker.protocol import Ended, Job, Message
from .findings import Environment


@dataclass(frozen=True)
class Finished:
    """The program ended, by itself or because it had shown enough."""

    ended: Ended


@dataclass(frozen=True)
class TimedOut:
    """It was ended at the time limit."""

    seconds: float


@dataclass(frozen=True)
class WorkerDied:
    """The process went away without a word: `os._exit`, a crash, a kill. `status` is its exit status, or minus the signal."""

    status: int | None
    detail: str = ""


@dataclass(frozen=True)
class NoEnvironment:
    """There is no interpreter with a usable torch; `sentence` says what to do."""

    sentence: str


@dataclass(frozen=True)
class Refused:
    """Nothing was run because it is not allowed to."""

    sentence: str


RunEnd = Union[Finished, TimedOut, WorkerDied, NoEnvironment, Refused]


_M = TypeVar("_M")


@dataclass(frozen=True)
class Run:
    """One run of a program in a worker: everything it said, in order, and how it ended."""

    messages: tuple[Message, ...]
    end: RunEnd
    environment: Environment = field(default_factory=Environment)
    libraries: tuple[str, ...] = ()
    torch_folder: str = ""
    output: str = ""
    job: Job | None = None

    def of(self, kind: type[_M]) -> list[_M]:
        """The messages of one type, in order."""
        return [message for message in self.messages if isinstance(message, kind)]


class Tracer(Protocol):
    """Runs jobs in workers. Cancelling the task of `trace` ends the job with its children."""

    async def together(self, works: Sequence[Callable[[], Awaitable[_M]]]) -> list[_M]:
        """The results of some works in their order. One is begun after the other, and beside it where there is an idle core."""

    async def trace(self, job: Job, interpreter: str, timeout: float, on_message: Callable[[Message], None]) -> Run:
        """Run the job under the interpreter, for at most `timeout` seconds; `on_message` hears messages as they come, the worker's greeting
        first."""

    async def aside(self, work: Callable[[], _M]) -> _M:
        """The result of a work that takes its time, done where nothing waits for it."""

    async def missing(self, names: frozenset[str], interpreter: str) -> frozenset[str]:
        """Those of some dotted names that the interpreter's torch does not have; all of them where that cannot be found out."""
