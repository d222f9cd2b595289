"""When the breaks found so far are told while a program still runs: not of short runs, not too often, and made beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..core.findings import Report

FIRST = 0.3
"""Seconds that a run goes on at least before anything of it is told: most have ended by then."""

EVERY = 0.5
"""Seconds between two reports at least."""

_SHARE = 10
"""Of a long trace even what there is so far takes its time: how many times longer than that it is waited for the next one."""


class Live:
    """Tells `tell` of one analysis while it goes on; `begin` it when its program begins, `stop` it when its own report is made."""

    def __init__(self, tell: Callable[[Report], None]) -> None:
        self._tell = tell
        self._told: Report | None = None
        self._make: Callable[[], Report] | None = None
        self._task: asyncio.Task[None] | None = None
        self._next: float | None = None

    def begin(self) -> None:
        """A program has begun. Called for each of several."""
        if self._next is None:
            self._next = asyncio.get_running_loop().time() + FIRST

    def news(self, make: Callable[[], Report]) -> None:
        """More was found; `make` makes the report of all there is by then."""
        self._make = make
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._tell_all())

    def stop(self) -> None:
        """Tell nothing more."""
        self._make = None
        if self._task is not None:
            self._task.cancel()

    async def _tell_all(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._make is not None:
            await asyncio.sleep(max((self._next or 0.0) - clock(), 0.0))
            make, self._make = self._make, None
            began = clock()
            report = await asyncio.to_thread(make)
            self._next = clock() + max(EVERY, _SHARE * (clock() - began))
            if report.diagnostics and report != self._told:
                self._told = report
                self._tell(report)
