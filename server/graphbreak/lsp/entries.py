"""Which other files are run to see what happens in the open ones: those that their projects name, and those found in the workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..core.findings import Kind, Report
from ..core.merging import is_open
from ..core.project import FILE_NAME, ProjectSettings
from ..tracer.project import ProjectReader
from ..tracer.scan import WorkspaceScan
from .folders import folder_of

if TYPE_CHECKING:
    from .session import Session

_PAUSE = 0.3
"""Seconds that more changes on disk are waited for before they are looked into."""


def _ended_well(report: Report | None) -> bool:
    return (
        report is not None
        and not report.stale
        and not report.provisional
        and not any(found.kind is Kind.RAISED for found in report.diagnostics)
    )


class Entries:
    """Looks for the entries of each open file, and has those run of which nothing is known yet. `folders` are those of the workspace."""

    def __init__(self, session: Session, folders: Callable[[], list[str]]) -> None:
        self._session = session
        self._folders = folders
        self._of: dict[str, tuple[str, ...]] = {}
        self._scans: dict[str, WorkspaceScan] = {}
        self._timer: asyncio.TimerHandle | None = None

    def is_entry(self, path: str) -> bool:
        """Whether a file is run in behalf of an open one, be anything marked in it or not."""
        return any(path in found for found in self._of.values())

    def of(self, path: str) -> list[str]:
        """The entries of an open file, but for those whose last trace came to its end without it: that it is involved was a guess."""
        results = self._session.results
        known = results.entries_with(path)
        return [entry for entry in self._of.get(path, ()) if entry in known or not _ended_well(results.reports.get(entry))]

    def running(self, path: str) -> str | None:
        """The entry that is run in behalf of a file just now."""
        return next((entry for entry in self._of.get(path, ()) if self._session.runs.is_running(entry)), None)

    def has_inputs(self, path: str) -> bool:
        """Whether a file is to be traced although nothing is marked in it: its project says how, or another file needs it."""
        settings = self._settings(path)
        return bool(settings.examples_of(path) or settings.entries_of(path)) or self.is_entry(path)

    def look(self, path: str, closed_too: bool = False) -> None:
        """A file is about to be traced, or was: see that its entries are too, if it is (still) open or `closed_too`."""
        if closed_too or self._session.documents.get(path) is not None:
            self._session.soon(self._look(path, closed_too))

    def changed_on_disk(self, path: str) -> None:
        """Another program wrote a file, which may have become an entry of an open one."""
        if path.endswith(".py") or os.path.basename(path) == FILE_NAME:
            self.stop()
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._look_again)

    def below(self, project: str) -> list[str]:
        """The open files that a pyproject.toml may count for."""
        folder = os.path.join(os.path.dirname(project), "")
        return [document.path for document in self._session.documents if document.path.startswith(folder)]

    def closed(self, path: str) -> None:
        """A document was closed: nothing is run in its behalf any more."""
        self._of.pop(path, None)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_again(self) -> None:
        self._timer = None
        for document in self._session.documents:
            if self._session.triggers.is_automatic(document.path):
                self.look(document.path)

    async def _look(self, path: str, closed_too: bool) -> None:
        session = self._session
        overlay, is_open = session.documents.overlay(), self._is_open(path)
        found = await asyncio.to_thread(self._search, path, overlay, is_open)
        if session.documents.get(path) is None and not closed_too:
            return
        trusted = [entry for entry in found if session.configuration.of(entry).trusted]
        self._of[path] = tuple(trusted)
        known = {entry for entry, report in session.results.reports.items() if not report.provisional}
        session.runs.request_in_background([entry for entry in trusted if entry not in known and not session.runs.is_running(entry)])

    def _search(self, path: str, overlay: dict[str, str], is_open: bool) -> list[str]:
        """The entries of a file. Slow: in a thread."""
        configured = [entry.path for entry in self._settings(path).entries if entry.path != path]
        if not configured and not is_open:
            return []
        root = folder_of(path, self._folders()) or os.path.dirname(path)
        scan = self._scans.setdefault(root, WorkspaceScan([root]))
        if configured:
            reaching = scan.reaching(path, overlay)
            return [entry for entry in dict.fromkeys(configured) if entry in reaching] or list(dict.fromkeys(configured))
        return scan.entries_for(path, overlay)

    def _is_open(self, path: str) -> bool:
        """Whether another file may show more of one: nothing is marked in it, or something that its own trace did not come to."""
        document = self._session.documents.get(path)
        if document is not None and not document.marks.marks:
            return document.is_python
        report = self._session.results.reports.get(path)
        rows = [row for row in report.functions if row.mark_path == path] if report is not None else []
        return any(map(is_open, rows))

    def _settings(self, path: str) -> ProjectSettings:
        return ProjectReader(self._folders() or [os.path.dirname(path)])(path)
