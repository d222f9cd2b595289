"""The Python files of some folders: what they import, which of them run and compile. Slow: to be called in a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence

from ..core.imports import ImportGraph
from ..core.programs import Program, found_entries, program_of
from .files import read_source
from .walking import python_entries

_MOST_FILES = 20_000


class WorkspaceScan:
    """What is known of the files below some folders. Each is read once, and again when its time or size, or its unsaved text, changes."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = list(folders)
        self._known: dict[str, tuple[object, Program]] = {}
        self._graph: ImportGraph | None = None
        self._lock = threading.Lock()

    def entries_for(self, path: str, overlay: Mapping[str, str]) -> list[str]:
        """The files to run to see what happens in a file, see `found_entries`; `overlay` has unsaved texts."""
        with self._lock:
            graph = self._up_to_date(overlay)
            programs = {known: program for known, (_, program) in self._known.items()}
            return [_native(found) for found in found_entries(_plain(path), programs, graph)]

    def reaching(self, path: str, overlay: Mapping[str, str]) -> frozenset[str]:
        """The files that import a file, itself included."""
        with self._lock:
            return frozenset(map(_native, self._up_to_date(overlay).reaching(_plain(path))))

    def _up_to_date(self, overlay: Mapping[str, str]) -> ImportGraph:
        before = self._known
        self._known = {}
        changed = self._graph is None
        for path, stamp, text in self._files(overlay):
            known = before.get(path)
            if known is None or known[0] != stamp:
                changed = True
                known = (stamp, _program(path, text))
            self._known[path] = known
        if changed or self._known.keys() != before.keys() or self._graph is None:
            imports = {path: program.imports for path, (_, program) in self._known.items()}
            self._graph = ImportGraph(imports, [_plain(folder) for folder in self._folders])
        return self._graph

    def _files(self, overlay: Mapping[str, str]) -> Iterator[tuple[str, object, str | None]]:
        """Each file by its path with what changes when its text does, and its unsaved text."""
        texts = {_plain(path): text for path, text in overlay.items() if path.endswith(".py")}
        yield from ((path, text, text) for path, text in texts.items())
        number = 0
        for folder in self._folders:
            for entry in python_entries(folder):
                path = _plain(entry.path)
                if path in texts or number >= _MOST_FILES:
                    continue
                number += 1
                try:
                    stat = entry.stat()
                except OSError:
                    continue
                yield path, (stat.st_mtime_ns, stat.st_size), None


def _program(path: str, text: str | None) -> Program:
    """A file as it is now: its unsaved text, else what is on disk, which is read again when it has to be parsed."""
    if text is not None:
        return program_of(path, text, lambda: text)

    def read() -> str | None:
        source = read_source(_native(path))
        return source.text if source is not None else None

    return program_of(path, read() or "", read)


def _plain(path: str) -> str:
    return path.replace("\\", "/")


def _native(path: str) -> str:
    return path.replace("/", os.sep)
