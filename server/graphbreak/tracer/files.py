"""What a path says: the unsaved text where there is one, else the file on disk, read as Python would read it."""

from __future__ import annotations

import io
import os
import shutil
import tokenize
from collections.abc import Callable, Iterable, Mapping

from ..core.source import SourceFile
from ..worker.protocol import Job

LARGEST = 8 * 1024 * 1024
"""Bytes above which a file is not read: it is data, whatever its name."""


def read_source(path: str) -> SourceFile | None:
    """The Python file at a path, its line ends kept; None where there is none, or none that can be decoded. Bytes are read by the file's
    own encoding (a byte-order mark or a coding line)."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, "rb") as file:
            data = file.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return SourceFile(path, data.decode(encoding).removeprefix("\ufeff"))
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError, ValueError):
        return None


def write_source(old: SourceFile, text: str) -> str:
    """Put a new text in a file's place in one step, in its own encoding, with its own permissions.

    Returns a sentence where that is not done: it says something else by now, or cannot be written.
    """
    path = os.path.realpath(old.path)
    if read_source(old.path) != old:
        return f"{old.path} has been changed since it was traced."
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(path, "rb") as file:
            data = file.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        try:
            with open(beside, "wb") as file:
                file.write(text.encode(encoding))
            shutil.copymode(path, beside)
            os.replace(beside, path)
        finally:
            if os.path.exists(beside):
                os.unlink(beside)
    except (OSError, SyntaxError, UnicodeError) as error:
        return f"{old.path} cannot be written: {error}."
    return ""


def sources_with(overlay: Mapping[str, str]) -> Callable[[str], SourceFile | None]:
    """A reader that prefers unsaved texts, and reads each file at most once, so that one report speaks of one state of each file."""
    known: dict[str, SourceFile | None] = {path: SourceFile(path, text) for path, text in overlay.items()}

    def source(path: str) -> SourceFile | None:
        if path not in known:  # the first one to ask decides, in whatever thread
            known.setdefault(path, read_source(path) if os.path.isabs(path) else None)
        return known[path]

    return source


def folders_of(job: Job, roots: Iterable[str]) -> list[str]:
    """The folders that a job's files are in: the workspace's, and those of its texts with the packages that they belong to."""
    found = {job.root: None, **dict.fromkeys(roots)}
    for path in (job.path, *job.overlay):
        folder = os.path.dirname(path)
        while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
        found[folder] = None
    return [folder for folder in found if folder]
