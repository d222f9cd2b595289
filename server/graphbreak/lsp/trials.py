"""Fixes are tried in the background, once the diagnostics are out: what is looked at first, never while something is traced.

An edit of any file that a trace involved ends its trials; what they showed belongs to the text before it.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ..core.differences import edits_between
from ..core.findings import Diagnostic, Fix, Report, Safety
from ..core.fixall import Choice, FixAll, TryOne, changed_texts
from ..core.requests import Analyser, AnalysisRequest
from ..core.source import Span
from ..core.trials import Trial, can_be_tried

if TYPE_CHECKING:
    from .session import Session

Key = tuple[str, str]
"""A diagnostic's id and the title of one of its fixes."""


@dataclass
class Work:
    """What there is to try for one entry document: its newest report, what was shown of it, and all of its fixes together."""

    request: AnalysisRequest
    report: Report
    together: FixAll
    try_one: TryOne
    known: dict[tuple[int, Key], Trial] = field(default_factory=dict)
    """What was tried, by the texts that it was tried on."""
    tried: set[Key] = field(default_factory=set)
    done: bool = False

    def waiting(self) -> Iterator[tuple[Diagnostic, Fix]]:
        """What has not been tried."""
        for diagnostic in self.report.diagnostics:
            for fix in diagnostic.fixes:
                key = (diagnostic.id, fix.title)
                if can_be_tried(diagnostic, fix) and not diagnostic.ignored and key not in self.tried:
                    yield diagnostic, fix

    def is_open(self) -> bool:
        """Whether anything is still to be tried."""
        return not self.done or next(self.waiting(), None) is not None


class Trials:
    """The trials of a session. At most one runs, and one more where something is looked at."""

    def __init__(self, session: Session, analyser: Analyser) -> None:
        self._session = session
        self._analyser = analyser
        self._work: dict[str, Work] = {}
        self._running: dict[asyncio.Task[None], tuple[str, Key]] = {}
        self._looked_at: tuple[str, Span] | None = None
        self._paused = False

    def take(self, entry: str, request: AnalysisRequest, report: Report) -> None:
        """A report has arrived, for the very texts there are now. What was shown of the same texts before still holds."""
        before = self._work.pop(entry, None)
        self._cancel(entry)
        settings = self._session.configuration.of(entry)
        in_sight = any(self._session.documents.get(found.path) is not None for found in report.diagnostics if found.fixes)
        if settings.try_fixes and settings.trusted and in_sight and not report.stale:
            work = self._work[entry] = self._new(request, report)
            if before is not None and replace(before.request, version=request.version) == request:
                work.known.update(before.known)
            self._pump()
        self._tell()

    def _new(self, request: AnalysisRequest, report: Report) -> Work:
        async def try_one(now: AnalysisRequest, before: Report, diagnostic: Diagnostic, fix: Fix, others: Sequence[Diagnostic]) -> Trial:
            key = (hash((now.source.text, frozenset(now.overlay.items()))), _key(diagnostic, fix))
            if key not in work.known:
                work.known[key] = await self._analyser.try_fix(now, before, diagnostic, fix, others)
            return work.known[key]

        together = FixAll(
            request, report, try_one, lambda job: self._analyser.compare(request, job), Choice(Safety.SAFE, together_first=False)
        )
        work = Work(request, report, together, try_one)
        return work

    def looked_at(self, path: str, span: Span) -> None:
        """The user's attention is here: try what belongs to it first."""
        self._looked_at = (path, span)
        self._pump()

    def edited(self, path: str) -> None:
        """A file is another one now: nothing that was shown of it counts any more."""
        for entry in [entry for entry, work in self._work.items() if path == entry or path in work.report.sources]:
            self.drop(entry)
            self._session.results.forget_verdicts(entry)

    def drop(self, entry: str) -> None:
        """Try nothing more of an entry document."""
        self._work.pop(entry, None)
        self._cancel(entry)
        self._tell()

    def pause(self) -> None:
        """Something is traced: that comes first."""
        self._paused = True
        self._cancel()

    def resume(self) -> None:
        """Nothing is traced any more."""
        self._paused = False
        self._pump()

    def together(self, path: str) -> tuple[FixAll, Fix] | None:
        """All safe fixes of a file that are verified so far, as one; its own trace's first."""
        for entry in sorted(self._work, key=lambda entry: entry != path):
            work = self._work[entry].together
            changes = changed_texts(work.original, work.best)
            if path in changes:
                edits = {name: edits_between(old, new) for name, (old, new) in changes.items()}
                return work, Fix("Fix all safe graph breaks", Safety.SAFE, edits)
        return None

    def is_busy(self, path: str) -> bool:
        """Whether more may become known of a file's fixes."""
        return any(not work.done and path in work.report.sources for work in self._work.values())

    def settings_changed(self) -> None:
        """Try nothing where that is not wanted any more."""
        of = self._session.configuration.of
        for entry in [entry for entry in self._work if not of(entry).try_fixes or not of(entry).trusted]:
            self.drop(entry)

    async def stop(self) -> None:
        """End everything, and wait until it has ended."""
        self._work.clear()
        tasks = list(self._running)
        self._cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _cancel(self, entry: str | None = None) -> None:
        for task, (path, _) in self._running.items():
            if entry in (None, path):
                task.cancel()

    def _pump(self) -> None:
        """Begin what comes next, if there is room for it."""
        if self._paused:
            return
        taken = set(self._running.values())
        urgent = next((one for one in self._urgent() if (one[0], _key(one[2], one[3])) not in taken), None)
        if urgent is not None and len(self._running) < 2:
            self._start(urgent[0], _key(urgent[2], urgent[3]), self._try(*urgent))
        elif not self._running:
            self._next()

    def _next(self) -> None:
        """What may be applied unseen first, alone and together; then the rest."""
        for entry, work in self._work.items():
            waiting = list(work.waiting())
            safe = [pair for pair in waiting if pair[1].safety is Safety.SAFE]
            if safe or (waiting and work.done):
                following = (safe or waiting)[0]
                self._start(entry, _key(*following), self._try(entry, work, *following))
                return
            if not work.done:
                self._start(entry, ("", ""), self._try_together(work))
                return

    def _urgent(self) -> Iterator[tuple[str, Work, Diagnostic, Fix]]:
        if self._looked_at is None:
            return
        path, span = self._looked_at
        touched = {found.id for found in self._session.results.at(path) if found.span.touches(span)}
        for entry, work in self._work.items():
            yield from ((entry, work, found, fix) for found, fix in work.waiting() if found.id in touched)

    def _start(self, entry: str, key: Key, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._running[task] = (entry, key)
        self._tell()
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._pump()
        self._tell()

    def _tell(self) -> None:
        """What waits while something is traced counts too: whoever waits for the fixes of a report waits for these from its arrival on."""
        self._session.extension.trying(bool(self._running) or any(work.is_open() for work in self._work.values()))

    async def _try(self, entry: str, work: Work, diagnostic: Diagnostic, fix: Fix) -> None:
        try:
            trial = await work.try_one(work.request, work.report, diagnostic, fix, ())
        except Exception as error:  # a bug in the engine costs this one verdict
            self._log(error)
        else:
            if self._work.get(entry) is work:
                self._session.results.verdict(entry, diagnostic.id, fix.title, trial.verdict)
                self._session.publisher.now()
        work.tried.add(_key(diagnostic, fix))

    async def _try_together(self, work: Work) -> None:
        try:
            await work.together.run()
            work.done = True
        except Exception as error:
            work.done = True
            self._log(error)

    def _log(self, error: Exception) -> None:
        self._session.notices.log("".join(traceback.format_exception(error)), types.MessageType.Error)


def _key(diagnostic: Diagnostic, fix: Fix) -> Key:
    return diagnostic.id, fix.title
