"""The files of the workspace folders in which something is marked for compile, on disk. Slow: to be called in a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..core.marks import find_marks
from ..core.source import SourceFile
from ..tracer.files import read_source
from ..tracer.scan import python_files

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
