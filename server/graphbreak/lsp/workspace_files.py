"""The files of the workspace folders in which something is marked for compile, on disk. Slow: to be called in a thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..core.marks import find_marks
from ..core.source import SourceFile
from ..tracer.files import read_source

_NOT_THE_USERS = frozenset({"node_modules", "site-packages", "dist-packages", "__pycache__"})
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")
"""What is found at the top of a virtual environment."""

_WORDS = (b"compile", b"graphbreak:")
_CHUNK = 1 << 16


def marked_files(folders: Sequence[str], texts: Mapping[str, str], stopped: Callable[[], bool]) -> list[str]:
    """The files below some folders with a mark in them. `texts` are those that the editor has open; `stopped` ends the search early."""
    found: list[str] = []
    for path in dict.fromkeys(path for folder in folders for path in python_files(folder)):
        if stopped():
            break
        if _is_marked(path, texts.get(path)):
            found.append(path)
    return found


def python_files(folder: str) -> Iterator[str]:
    """The user's Python files, each folder's own before those of its folders."""
    for place, below, files in os.walk(folder):
        if place != folder and any(name in (*below, *files) for name in _ENVIRONMENT):
            below.clear()
            continue
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in _NOT_THE_USERS)
        yield from (os.path.join(place, name) for name in sorted(files) if name.endswith(".py"))


def _is_marked(path: str, text: str | None) -> bool:
    if text is not None:
        return bool(find_marks(SourceFile(path, text)).marks)
    source = read_source(path) if _has_a_word(path) else None
    return source is not None and bool(find_marks(source).marks)


def _has_a_word(path: str) -> bool:
    """Whether it is worth reading: looks through its bytes piece by piece, up to the first word."""
    try:
        with open(path, "rb") as file:
            end = b""
            while chunk := file.read(_CHUNK):
                if any(word in end + chunk for word in _WORDS):
                    return True
                end = chunk[-len(max(_WORDS, key=len)) :]
    except OSError:
        pass
    return False
