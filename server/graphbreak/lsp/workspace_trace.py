"""Tracing the whole workspace: one marked file after another, whenever nothing runs that somebody waits for."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from ..tracer.walking import belongs
from .progress import Bar
from .workspace_files import is_marked, marked_files

if TYPE_CHECKING:
    from .session import Session

_PAUSE = 0.3
"""Seconds in which more changes on disk are waited for."""


class WorkspaceTrace:
    """At most one goes on; another request is answered by the one that is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bar: Bar | None = None
        self._total = 0
        self._search: object = None
        """What stands for the search that goes on, as long as its result is wanted."""
        self._folders: list[str] = []
        """Those that were searched: what changes in them later is looked at too."""
        self._changed: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def start(self, folders: list[str]) -> None:
        """Find the files in the trusted ones of some folders, and begin."""
        configuration, notices = self._session.configuration, self._session.notices
        await configuration.heard()
        trusted = [folder for folder in folders if configuration.of(folder).trusted]
        if len(trusted) < len(folders):
            notices.untrusted()
        if self._bar is not None or not trusted:
            return
        search = self._search = object()
        self._folders = trusted
        self._bar = self._session.progress.begin("Graphbreak: workspace", self.cancel)
        self._bar.say("looking for marked files")
        found = await asyncio.to_thread(marked_files, trusted, self._session.documents.overlay(), lambda: self._search is not search)
        if self._search is search:
            self._search = None
            paths = [path for path in found if configuration.of(path).trusted]
            self._total = len(paths)
            if not paths:
                notices.log("Graphbreak found nothing in the workspace that is marked for compile.")
            self._session.runs.request_in_background(paths)
            self.update()

    @property
    def goes_on(self) -> bool:
        """Whether the workspace is being traced: then files that are not open have their entries run too."""
        return self._bar is not None

    def update(self) -> None:
        """Say how far it has come. Files that were added since, to be traced again, count too."""
        left = self._session.runs.in_background
        if self._bar is None or self._search is not None:
            return
        if left:
            self._total = max(self._total, len(left))
            self._bar.say(f"{self._total - len(left) + 1} of {self._total}: {os.path.basename(left[0])}")
        else:
            self._bar.end()
            self._bar = None

    def changed_on_disk(self, path: str) -> None:
        """A file that is not open was written by another program, and may have marks now. Several at once are looked at together."""
        if self._folders and path.endswith(".py") and self._session.triggers.is_automatic(path):
            self._changed.add(path)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_PAUSE, lambda: self._session.soon(self._look_again()))

    async def _look_again(self) -> None:
        self._timer, paths, self._changed = None, sorted(self._changed), set()
        found = await asyncio.to_thread(_still_marked, paths, self._folders)
        closed = [path for path in found if self._session.documents.get(path) is None]
        self._session.runs.request_in_background([path for path in closed if self._session.configuration.of(path).trusted])

    def stop(self) -> None:
        """Look at nothing any more."""
        self.cancel()
        self._folders = []
        if self._timer is not None:
            self._timer.cancel()

    def cancel(self) -> None:
        """Stop looking, and trace no more of what was found."""
        self._search = None
        self._session.runs.cancel_background()
        self.update()


def _still_marked(paths: list[str], folders: list[str]) -> list[str]:
    """Those of some files that are marked, and that a search of the folders would come to. Slow: in a thread."""
    return [path for path in paths if any(belongs(path, folder) for folder in folders) and is_marked(path)]
