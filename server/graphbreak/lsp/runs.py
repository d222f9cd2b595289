"""The newest request wins: of each document one analysis runs and at most one waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Run:
    """One analysis of one entry document, as of a revision of the open texts."""

    path: str
    revision: int
    unmarked: bool
    """The user asked for this very document: run it even where nothing in it is marked."""
    cancelled: bool = False
    task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """End it; what it still finds is not wanted any more."""
        self.cancelled = True
        if self.task is not None:
            self.task.cancel()


class Runs:
    """All analyses, by the path of their entry document. `analyse` does one; `revision` says how new the texts are."""

    def __init__(self, analyse: Callable[[Run], Coroutine[Any, Any, None]], revision: Callable[[], int], idle: Callable[[], None]) -> None:
        self._analyse = analyse
        self._revision = revision
        self._idle = idle
        self._running: dict[str, Run] = {}
        self._waiting: dict[str, bool] = {}

    def request(self, path: str, *, unmarked: bool = False) -> None:
        """Analyse a document. If that is being done for the very texts there are now, its result is the answer."""
        run = self._running.get(path)
        if run is None:
            self._start(path, unmarked)
        elif run.cancelled or run.revision != self._revision() or unmarked > run.unmarked:
            self._waiting[path] = unmarked
            run.cancel()

    def again(self, path: str) -> None:
        """Analyse a document once more when the running analysis has ended."""
        self._waiting.setdefault(path, False)

    def cancel(self, path: str) -> None:
        """End the analysis of a document, and do not begin the one that waits."""
        self._waiting.pop(path, None)
        if path in self._running:
            self._running[path].cancel()

    async def stop(self) -> None:
        """End all of them, and wait until they have ended."""
        self._waiting.clear()
        runs = list(self._running.values())
        for run in runs:
            run.cancel()
        await asyncio.gather(*(run.task for run in runs if run.task is not None), return_exceptions=True)

    def _start(self, path: str, unmarked: bool) -> None:
        run = Run(path, self._revision(), unmarked)
        self._running[path] = run
        run.task = asyncio.create_task(self._analyse(run))
        # Not `finally` in a coroutine around it: a task that is cancelled before its first step never enters one.
        run.task.add_done_callback(lambda task: self._ended(run))

    def _ended(self, run: Run) -> None:
        del self._running[run.path]
        if run.path in self._waiting:
            self._start(run.path, self._waiting.pop(run.path))
        if not self._running:
            self._idle()
