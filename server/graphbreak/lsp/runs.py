"""The newest request wins: of each document one analysis runs and at most one waits. The document that the user is in comes
first, then the others, the one touched last first; what nobody waits for runs when nothing else does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from .attention import Attention

PLACES = 2
"""How many analyses run at once that somebody waits for, beside that of the document that the user is in."""

LONG = 5.0
"""Seconds after which a run gives its place to the next one, and goes on beside it: others need not wait for a program that trains."""


@dataclass(eq=False)
class Run:
    """One analysis of one entry document, as of a revision of the open texts."""

    path: str
    revision: int
    unmarked: bool = False
    """The user asked for this very document: run it even where nothing in it is marked."""
    background: bool = False
    """Nobody waits for it: it gives way to those that somebody waits for."""
    only: str = ""
    """The user asked for this one function of it."""
    cancelled: bool = False
    is_long: bool = False
    """It goes on for so long that others no longer wait for its place."""
    task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """End it; what it still finds is not wanted any more."""
        self.cancelled = True
        if self.task is not None:
            self.task.cancel()


class Runs:
    """All analyses, by the path of their entry document.

    `analyse` does one; `revision` says how new the texts are; `idle` is told when nothing runs any more, `background` when one of
    those in the background began or ended.
    """

    def __init__(
        self,
        analyse: Callable[[Run], Coroutine[Any, Any, None]],
        revision: Callable[[], int],
        idle: Callable[[], None],
        background: Callable[[], None] = lambda: None,
        attention: Attention | None = None,
    ) -> None:
        self._analyse = analyse
        self._revision = revision
        self._idle = idle
        self._background = background
        self._attention = attention or Attention()
        self._ready: dict[str, Run] = {}
        """Those that wait for a place."""
        self._running: dict[str, Run] = {}
        self._waiting: dict[str, Run] = {}
        """Those that begin when the one of their document has ended."""
        self._queue: list[str] = []

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being analysed."""
        return not self._running

    def is_running(self, path: str) -> bool:
        """Whether a document is being analysed now, and its result is still wanted."""
        return path in self._running and not self._running[path].cancelled

    def is_waiting(self, path: str) -> bool:
        """Whether a document is to be analysed when it is its turn."""
        return path in self._ready

    @property
    def in_background(self) -> list[str]:
        """What is left to do in the background, the running one first."""
        return [run.path for run in self._running.values() if run.background and run.path not in self._queue] + self._queue

    def request(self, path: str, *, unmarked: bool = False, only: str = "") -> None:
        """Analyse a document, or one function of it. If that is being done for the very texts there are now, its result is the answer."""
        if path in self._queue:
            self._queue.remove(path)
        run = self._running.get(path)
        if run is None:
            ready = self._ready.get(path, Run(path, 0, unmarked, only=only))
            self._ready[path] = Run(path, 0, unmarked or ready.unmarked, only=only if only == ready.only else "")
            self._give_way()
            self._next()
        elif run.cancelled or run.background or run.revision != self._revision() or unmarked > run.unmarked or run.only not in ("", only):
            # It ends the running one, and so has to do what that was to do as well.
            self._waiting[path] = Run(path, 0, unmarked, only=only if only == run.only else "")
            run.cancel()

    def request_in_background(self, paths: list[str]) -> None:
        """Analyse documents one after another, when nothing else is being done."""
        self._queue += [path for path in dict.fromkeys(paths) if path not in self._queue]
        for path in paths:
            run = self._running.get(path)
            if run is not None and run.background and run.revision != self._revision():
                run.cancel()  # what it would find is out of date, and it is in the queue again
        self._next()

    def again(self, path: str) -> None:
        """Analyse a document once more when the running analysis has ended."""
        if self._running[path].background:
            self._queue.append(path)
        else:
            self._waiting.setdefault(path, Run(path, 0))

    def attend(self, path: str) -> None:
        """The user went to a document: if it waits, it begins now."""
        self._attention.at(path)
        self._next()

    def outdated(self, path: str) -> None:
        """The texts that a document is analysed with are being changed, and it will be requested again: what runs now is of no more use."""
        run = self._running.get(path)
        if run is not None and not run.background:
            self._waiting.pop(path, None)
            run.cancel()

    def cancel(self, path: str) -> None:
        """End the analysis of a document, and do not begin the one that waits."""
        self._waiting.pop(path, None)
        self._ready.pop(path, None)
        if path in self._queue:
            self._queue.remove(path)
        if path in self._running:
            self._running[path].cancel()

    def cancel_background(self) -> None:
        """End what nobody waits for."""
        for path in self.in_background:
            self.cancel(path)

    def cancel_all(self) -> None:
        """End everything, and begin nothing that waits."""
        self._waiting.clear()
        self._ready.clear()
        self._queue.clear()
        for run in self._running.values():
            run.cancel()

    async def stop(self) -> None:
        """End all of them, and wait until they have ended."""
        self.cancel_all()
        tasks = [run.task for run in self._running.values() if run.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def _give_way(self) -> None:
        """Something that is waited for begins: what runs in the background begins anew when that is done."""
        for run in self._running.values():
            if run.background and not run.cancelled:
                self._queue.insert(0, run.path)
                run.cancel()

    def _start(self, run: Run) -> None:
        self._running[run.path] = run
        run.task = asyncio.create_task(self._analyse(run))
        patience = asyncio.get_running_loop().call_later(LONG, self._outstayed, run)
        # Not `finally` in a coroutine around it: a task that is cancelled before its first step never enters one.
        run.task.add_done_callback(lambda task: self._ended(run, patience))

    def _outstayed(self, run: Run) -> None:
        run.is_long = True
        self._next()

    def _ended(self, run: Run, patience: asyncio.TimerHandle) -> None:
        patience.cancel()
        del self._running[run.path]
        if run.path in self._waiting:
            waiting = self._waiting.pop(run.path)
            self._start(replace(waiting, revision=self._revision()))
        self._next()
        if run.background:
            self._background()
        if not self._running:
            self._idle()

    def _next(self) -> None:
        """Begin what comes next, as far as there is room for it."""
        for path in sorted(self._ready, key=self._attention.rank):
            taken = [run for run in self._running.values() if not run.background and not run.is_long]
            if len(taken) < PLACES or self._attention.is_at(path):
                self._start(replace(self._ready.pop(path), revision=self._revision()))
        if self._queue and not self._running and not self._ready:
            self._start(Run(self._queue.pop(0), self._revision(), background=True))
            self._background()
