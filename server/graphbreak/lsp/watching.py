"""Changes on disk, for editors that do not tell of them: by git, by formatters, by other editors."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..core.project import FILE_NAME
from ..tracer.walking import NOT_THE_USERS

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

_PAUSE = 0.2
"""Seconds in which more changes are waited for: a checkout touches many files."""

_MOST_FOLDERS = 10_000
"""Folders below one that is watched; each takes one of the system's watches."""

_KINDS = frozenset({"created", "modified", "moved", "deleted"})


class Watching:
    """Watches the workspace folders in a thread. `changed` hears the paths, in the event loop; `problem` why nothing is heard."""

    def __init__(self, changed: Callable[[list[str]], None], problem: Callable[[str], None]) -> None:
        self._changed = changed
        self._problem = problem
        self._observer: BaseObserver | None = None
        self._paths: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def watch(self, folders: Sequence[str]) -> None:
        """Watch some folders, and no others any more."""
        self.stop()
        loop = asyncio.get_running_loop()
        large = [folder for folder in folders if not await asyncio.to_thread(_is_watchable, folder)]
        if large:
            self._problem(f"Changes by other programs are not seen in {', '.join(large)}: there are too many folders to watch.")
        try:
            self._observer = observer = _observer(
                [folder for folder in folders if folder not in large], lambda path: _told(loop, self._seen, path)
            )
            await asyncio.to_thread(observer.start)
        except Exception as error:  # as many folders as there are watches, a file system without them
            self._problem(f"Changes by other programs are not seen: {error}")

    def stop(self) -> None:
        """Watch nothing."""
        if self._observer is not None:
            self._observer.stop()
            self._observer = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _seen(self, path: str) -> None:
        self._paths.add(path)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._tell)

    def _tell(self) -> None:
        self._timer, paths, self._paths = None, sorted(self._paths), set()
        self._changed(paths)


def _observer(folders: Sequence[str], seen: Callable[[str], object]) -> BaseObserver:
    """Something that watches once it is started. `seen` is called in its thread, for files that can matter."""
    from watchdog import events
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    class Handler(FileSystemEventHandler):
        def __init__(self, folder: str) -> None:
            self._folder = folder

        def on_any_event(self, event: FileSystemEvent) -> None:
            if not event.is_directory and event.event_type in _KINDS:
                for path in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path)):
                    if path and _matters(self._folder, path):
                        seen(os.path.normpath(path))

    observer = Observer()
    for folder in folders:
        # Not every file that is opened and closed: a search of the workspace would be told of all that it reads.
        wanted: list[type[FileSystemEvent]] = [
            events.FileCreatedEvent,
            events.FileModifiedEvent,
            events.FileMovedEvent,
            events.FileDeletedEvent,
            events.DirCreatedEvent,
            events.DirMovedEvent,
            events.DirDeletedEvent,
        ]
        observer.schedule(Handler(folder), folder, recursive=True, event_filter=wanted)
    return observer


def _is_watchable(folder: str) -> bool:
    """Whether a folder is no home folder or disk, which costs more to watch than it brings. Slow: in a thread."""
    return sum(1 for _ in zip(range(_MOST_FOLDERS), os.walk(folder))) < _MOST_FOLDERS


def _told(loop: asyncio.AbstractEventLoop, seen: Callable[[str], None], path: str) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: we are leaving anyway
        loop.call_soon_threadsafe(seen, path)


def _matters(folder: str, path: str) -> bool:
    name = os.path.basename(path)
    parts = os.path.relpath(os.path.dirname(path), folder).split(os.sep)
    hidden = any((part.startswith(".") and part not in (".", "..")) or part in NOT_THE_USERS for part in parts)
    return (name.endswith(".py") or name == FILE_NAME) and not hidden
