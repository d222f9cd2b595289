"""When a document is analysed: on open and save, while typing, or only when asked, as the `run` setting says."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from ..core.project import FILE_NAME
from .settings import MANUAL, ON_TYPE, ClientSettings

if TYPE_CHECKING:
    from .session import Session

PAUSE = 0.4
"""Seconds without a keystroke that count as a pause in typing."""


class Triggers:
    """Turns what happens in the editor into requests for analyses."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._considered: dict[str, tuple[object, ...]] = {}

    def opened(self, path: str) -> None:
        """A document was opened."""
        self._unless_manual(path)

    def settings_changed(self) -> None:
        """Settings were read. What was analysed with the same ones stays as it is."""
        self._session.documents.touch()
        for document in sorted(self._session.documents, key=lambda document: self._session.attention.rank(document.path)):
            settings = self._session.configuration.of(document.path)
            if not settings.trusted:
                self._session.forget(document.path)
            if self._considered.get(document.path) != _what_counts(settings):
                self._unless_manual(document.path)
        for entry in list(self._session.results.reports):
            if not self._session.configuration.of(entry).trusted:
                self._session.forget(entry)

    def typed(self, path: str) -> None:
        """A document was changed: analyse after a pause, what depends on it too, and end at once what that makes stale."""
        self._stop_timer(path)
        waiting = [entry for entry in self._affected(path) if self._session.configuration.of(entry).run == ON_TYPE]
        for entry in waiting:
            self._session.runs.outdated(entry)
        if waiting:
            self._timers[path] = asyncio.get_running_loop().call_later(PAUSE, self._paused, path)

    def _paused(self, path: str) -> None:
        self._stop_timer(path)
        for entry in self._affected(path):
            if self._session.configuration.of(entry).run == ON_TYPE:
                self.consider(entry)
        unopened = [entry for entry in self._unopened(path) if self._session.configuration.of(entry).run == ON_TYPE]
        self._session.runs.request_in_background(unopened)

    def saved(self, path: str) -> None:
        """A file was saved, or changed on disk: analyse it, and what involved it when last traced; what is not open in its turn."""
        self._stop_timer(path)
        for entry in self._affected(path):
            self._unless_manual(entry)
        self._session.runs.request_in_background(self._unopened(path))

    def closed(self, path: str) -> None:
        """A document was closed."""
        self._stop_timer(path)
        self._considered.pop(path, None)

    def asked(self, path: str, only: str = "") -> None:
        """The user asked for this document, or one function of it: whatever the settings say of when, and whether anything is marked."""
        self.consider(path, unmarked=True, only=only)
        if self._session.configuration.of(path).trusted:
            self._session.runs.request_in_background(self._session.entries.of(path))

    def consider(self, path: str, *, unmarked: bool = False, only: str = "") -> None:
        """Analyse a document if there is anything to analyse and the workspace is trusted."""
        document = self._session.documents.get(path)
        if document is None:
            return
        settings = self._session.configuration.of(path)
        self._considered[path] = _what_counts(settings)
        if not settings.trusted:
            self._session.notices.untrusted()
            return
        if unmarked or document.is_marked or self._session.entries.has_inputs(path):
            self._session.runs.request(path, unmarked=unmarked, only=only)
        else:
            self._session.forget(path)
        self._session.entries.look(path)

    def stop(self) -> None:
        """Let nothing begin any more."""
        for path in list(self._timers):
            self._stop_timer(path)

    def _unless_manual(self, path: str) -> None:
        """Until the settings are known nothing is run: the interpreter could be a wrong one."""
        if self.is_automatic(path):
            self.consider(path)

    def is_automatic(self, path: str) -> bool:
        """Whether a document is analysed without being asked for."""
        configuration = self._session.configuration
        return configuration.known and configuration.of(path).run != MANUAL

    def _unopened(self, path: str) -> list[str]:
        """What involved a file when last traced, or may do so, and is not open, as far as it may be run."""
        of = self._session.configuration.of
        entries = dict.fromkeys((*self._session.results.entries_with(path), *self._session.entries.of(path)))
        return [entry for entry in entries if self._session.documents.get(entry) is None and of(entry).run != MANUAL and of(entry).trusted]

    def _affected(self, path: str) -> list[str]:
        entries = [path, *self._session.results.entries_with(path), *self._session.entries.of(path)]
        entries += self._session.entries.below(path) if os.path.basename(path) == FILE_NAME else []
        found = [entry for entry in dict.fromkeys(entries) if self._session.documents.get(entry) is not None]
        return sorted(found, key=lambda entry: (entry != path, self._session.attention.rank(entry)))

    def _stop_timer(self, path: str) -> None:
        timer = self._timers.pop(path, None)
        if timer is not None:
            timer.cancel()


def _what_counts(settings: ClientSettings) -> tuple[object, ...]:
    """The part of the settings that an analysis, and when it is made, depends on."""
    return (settings.run, settings.for_analysis())
