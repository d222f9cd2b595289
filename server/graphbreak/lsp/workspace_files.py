"""The files of the workspace folders in which something is marked for compile, on disk. Slow: to be called in a thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ..core.glance import has_marks
from ..core.source import SourceFile
from ..tracer.files import LARGEST, read_source
from ..tracer.walking import python_files

_WORDS = (b"compile", b"graphbreak:")
_OVERLAP = max(map(len, _WORDS)) - 1
_CHUNK = 1 << 16
_AT_ONCE = 128
"""Files that one thread looks through before it takes others: while it waits for the disk, another one goes on."""

_READERS = min(4, (os.cpu_count() or 1) + 1)


def marked_files(folders: Sequence[str], texts: Mapping[str, str], stopped: Callable[[], bool]) -> list[str]:
    """The files below some folders with a mark in them. `texts` are those that the editor has open; `stopped` ends the search early."""

    def look_through(paths: Sequence[str]) -> list[str]:
        return [] if stopped() else [path for path in paths if is_marked(path, texts.get(path))]

    paths = list(dict.fromkeys(path for folder in folders for path in python_files(folder)))
    parts = [paths[start : start + _AT_ONCE] for start in range(0, len(paths), _AT_ONCE)]
    with ThreadPoolExecutor(_READERS, "scan") as readers:
        found = [path for part in readers.map(look_through, parts) for path in part]
    return [] if stopped() else found


def is_marked(path: str, text: str | None = None) -> bool:
    """Whether anything is marked in a file, or in its text that is not saved. A file without one of the words is not read whole."""
    if text is not None:
        return has_marks(SourceFile(path, text))
    source = read_source(path) if _has_a_word(path) else None
    return source is not None and has_marks(source)


def _has_a_word(path: str) -> bool:
    end = b""
    for chunk in _chunks(path):
        if any(word in chunk for word in _WORDS) or (end and any(word in end + chunk[:_OVERLAP] for word in _WORDS)):
            return True
        end = chunk[-_OVERLAP:]
    return False


def _chunks(path: str) -> Iterator[bytes]:
    """The bytes of a file piece by piece, as far as files are read at all."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return
    try:
        for _ in range(LARGEST // _CHUNK):
            chunk = os.read(descriptor, _CHUNK)
            if chunk:
                yield chunk
            if len(chunk) < _CHUNK:
                return
    except OSError:
        return
    finally:
        os.close(descriptor)
