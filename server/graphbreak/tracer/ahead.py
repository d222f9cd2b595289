"""Where nothing can be forked: a process for the next job, started while none runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ..sandbox.policy import Policy
from ..worker.protocol import Job, Message
from .forks import Ran
from .once import Started, begin
from .prepared import CannotStart, NotAllowed

_PAUSE_SECONDS = 0.5


@dataclass(frozen=True)
class Place:
    """What a process is started with: only a job that needs just the same can have it. `libraries` is what is installed."""

    interpreter: str
    policy: Policy
    folders: tuple[str, ...]
    libraries: dict[str, str] = field(default_factory=dict, hash=False)


class Ahead:
    """Runs jobs, each in a process of its own; at most one more waits for the next job, and ends when none comes for `idle` seconds."""

    def __init__(self, idle: float) -> None:
        self._idle = idle
        self._waiting: tuple[Place, Started] | None = None
        self._running = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Future[None]] = set()

    @property
    def count(self) -> int:
        """How many processes wait for a job."""
        return int(self._waiting is not None and self._waiting[1].alive)

    async def run(self, place: Place, job: Job, timeout: float, on_message: Callable[[Message], None]) -> Ran:
        """Run a job in the process that waits, if that is of its kind, else in a new one. Raises CannotStart and NotAllowed."""
        started = self._take(place) or await begin(place.interpreter, place.policy, place.folders)
        self._running += 1
        try:
            return await started.run(job, timeout, on_message)
        finally:
            self._running -= 1
            self._later(_PAUSE_SECONDS, lambda: self._start(place))

    def _take(self, place: Place) -> Started | None:
        self._stop_timer()
        if self._waiting is None or self._waiting[0] != place or not self._waiting[1].alive:
            return None
        started, self._waiting = self._waiting[1], None
        return started

    async def _start(self, place: Place) -> None:
        if self._running:
            return  # the end of that job comes here again
        await self._drop()
        try:
            self._waiting = place, await begin(place.interpreter, place.policy, place.folders)
        except (CannotStart, NotAllowed):
            return  # the next job says so
        self._later(self._idle, self._drop)

    async def _drop(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            await waiting[1].end()

    def _later(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._do, work)

    def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        self._timer = None
        task = asyncio.ensure_future(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def end(self) -> None:
        """End what waits."""
        self._stop_timer()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._stop_timer()
        await self._drop()
