"""The jobs that are kept for what comes next: at most two, of the entries traced last, for some minutes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..core.findings import Report
from ..core.focus import Edited, edited_function
from ..core.foreseen import Whole, foreseen
from ..core.places import Sources
from ..core.project import Projects
from ..core.requests import AnalysisRequest
from ..worker.protocol import BreakSeen, Focus, Message
from .kept import KeptJob

LEAST = 1.0
"""Seconds that Dynamo was at work in a job that is worth keeping: what is quicker is traced as a whole as soon."""

MOST = 2
IDLE = 600.0
"""Seconds after which a kept job ends that was not needed."""


@dataclass
class _Kept:
    job: KeptJob
    whole: Whole
    timer: asyncio.TimerHandle


class Focusing:
    """All kept jobs, by the path of their entry, the one used last at the end."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def jobs(self) -> Mapping[str, KeptJob]:
        """Those that are alive, by the path of their entry."""
        return {entry: kept.job for entry, kept in self._kept.items() if kept.job.alive}

    def keep(self, job: KeptJob, whole: Whole) -> None:
        """A whole trace has ended and its job stays."""
        entry = whole.request.source.path
        self.drop(entry)
        while len(self._kept) >= MOST:
            self.drop(next(iter(self._kept)))
        self._kept[entry] = _Kept(job, whole, asyncio.get_running_loop().call_later(IDLE, self.drop, entry))

    def drop(self, entry: str) -> None:
        """Keep the job of an entry no longer."""
        kept = self._kept.pop(entry, None)
        if kept is not None:
            kept.timer.cancel()
            self.end(kept.job)

    def end(self, job: KeptJob) -> None:
        """End a job in the background."""
        task = job.close()
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all of them, and wait until they are gone."""
        for entry in list(self._kept):
            self.drop(entry)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def focus(self, request: AnalysisRequest, sources: Sources, projects: Projects, found: Callable[[Report], None]) -> None:
        """If one function was edited since the last trace of an entry, trace that by itself and hand over what it says."""
        kept = self._kept.get(request.source.path)
        if kept is None or not kept.job.alive or not kept.whole.answers(request):
            return
        whole = kept.whole
        edited = await asyncio.to_thread(edited_function, whole.report.sources, sources, whole.marked)
        if edited is None:
            return
        await _Focus(kept, edited, request, sources, projects).run(found)


class _Focus:
    """One function that is traced by itself."""

    def __init__(self, kept: _Kept, edited: Edited, request: AnalysisRequest, sources: Sources, projects: Projects) -> None:
        self._kept, self._edited, self._request, self._sources, self._projects = kept, edited, request, sources, projects
        self._seen: list[BreakSeen] = []
        self._news = asyncio.Event()

    async def run(self, found: Callable[[Report], None]) -> None:
        """Tell of the first break at once, and of all of them at the end."""
        asking = asyncio.create_task(self._kept.job.focus(_asked(self._edited), self._hear))
        asking.add_done_callback(lambda task: self._news.set())
        try:
            await self._news.wait()
            told = await self._tell(found, 0)
            if await asking is not None:
                await self._tell(found, told)
        finally:
            asking.cancel()

    def _hear(self, message: Message) -> None:
        if isinstance(message, BreakSeen):
            self._seen.append(message)
            self._news.set()

    async def _tell(self, found: Callable[[Report], None], told: int) -> int:
        """Hand over what was seen, if that is more than was told; how much it was."""
        seen = tuple(self._seen)
        if len(seen) > told:
            report = await asyncio.to_thread(foreseen, self._kept.whole, self._edited, self._request, seen, self._sources, self._projects)
            if report.diagnostics:
                found(report)
        return len(seen)


def _asked(edited: Edited) -> Focus:
    name = edited.name.rpartition(".")[2]
    return Focus(0, edited.before.path, edited.before.text, edited.after.text, name, edited.first_line + 1)
