"""Where runs are kept: a few in memory, more on disk, the least recently used ones dropped first."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from collections import Counter, OrderedDict
from pathlib import Path

import platformdirs

from ..core.kept import Kept, Unreadable, digest, packed, unpacked

_LOG = logging.getLogger("graphbreak")
_IN_MEMORY = 16
_IN_MEMORY_BYTES = 400_000
"""Of runs as they are packed; as objects they are twenty times as large."""

_CANDIDATES = 6
_MOST_FILES = 400
_FOR_ONE_QUESTION = 12
_MOST_BYTES = 64 * 1024 * 1024
_LARGEST = 8 * 1024 * 1024
_SUFFIX = ".run"
_LEFT_OVER_SECONDS = 600.0


def default_folder() -> Path | None:
    """Where the runs of this user are kept: the folder that GRAPHBREAK_CACHE names (if it is empty, nothing is kept), else one of the
    user's caches."""
    named = os.environ.get("GRAPHBREAK_CACHE")
    if named is not None:
        return Path(named).absolute() if named else None
    return Path(platformdirs.user_cache_dir("graphbreak", appauthor=False)) / "runs"


class Store:
    """Kept runs by their question. A folder that cannot be used only means that nothing is there the next time. May be used by threads."""

    def __init__(self, folder: Path | None, most_files: int = _MOST_FILES, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = folder
        self._most_files, self._most_bytes = most_files, most_bytes
        self._recent: OrderedDict[str, Kept] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._not_before = 0.0
        self._lock = threading.Lock()

    def candidates(self, question: str, text: str) -> list[Kept]:
        """The runs that were kept for a question, those of exactly this text first, then the newest ones."""
        with self._lock:
            here = {name: kept for name, kept in self._recent.items() if kept.question == question}
        wanted = _name(question, text)
        for path in sorted(self._on_disk(question), key=lambda path: path.name != wanted)[:_CANDIDATES]:
            kept = None if path.name in here else self._read(path)
            if kept is not None and kept.question == question:
                here[path.name] = kept
        newest = sorted(here.values(), key=lambda kept: kept.made, reverse=True)
        return sorted(newest, key=lambda kept: kept.job.text != text)

    def put(self, kept: Kept) -> None:
        """Keep a run; it takes the place of an older one for the same text."""
        data = packed(kept)
        if len(data) > _LARGEST:
            return
        self._sizes[_name(kept.question, kept.job.text)] = len(data)
        self.used(kept)
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / _name(kept.question, kept.job.text), data)
            self._tidy()
        except OSError as error:
            _LOG.info("A result could not be kept in %s: %s", self._folder, error)

    def used(self, kept: Kept) -> None:
        """A run was the answer to something: it is dropped last."""
        name = _name(kept.question, kept.job.text)
        with self._lock:
            self._recent[name] = kept
            self._recent.move_to_end(name)
            while len(self._recent) > 1 and (len(self._recent) > _IN_MEMORY or self._size() > _IN_MEMORY_BYTES):
                self._sizes.pop(self._recent.popitem(last=False)[0], None)
        if self._folder is not None:
            try:
                os.utime(self._folder / name)
            except OSError:
                return

    def _size(self) -> int:
        return sum(self._sizes.get(name, 0) for name in self._recent)

    def begin_anew(self) -> None:
        """Forget what is in memory, and heed nothing that was kept before now."""
        with self._lock:
            self._recent.clear()
            self._sizes.clear()
        self._not_before = time.time()

    def _on_disk(self, question: str) -> list[Path]:
        """The files for a question, the newest first."""
        if self._folder is None:
            return []
        try:
            return sorted(self._folder.glob(f"{question}.*{_SUFFIX}"), key=_age)
        except OSError:
            return []

    def _read(self, path: Path) -> Kept | None:
        try:
            if path.stat().st_size > _LARGEST:
                raise Unreadable("it is too large")
            data = path.read_bytes()
            kept = unpacked(data)
            self._sizes[path.name] = len(data)
        except OSError:
            return None
        except Unreadable as error:
            _LOG.warning("The kept result %s was dropped: %s.", path, error)
            _drop(path)
            return None
        return kept if kept.made >= self._not_before else None

    def _tidy(self) -> None:
        """Drop the least recently used ones beyond what is to be kept, and what a crash left half written."""
        assert self._folder is not None
        size = 0
        questions: Counter[str] = Counter()
        for number, path in enumerate(sorted(self._folder.iterdir(), key=_age)):
            size += _size(path)
            questions[path.name.partition(".")[0]] += 1
            left_over = path.suffix != _SUFFIX and time.time() + _age(path) > _LEFT_OVER_SECONDS
            too_many = number >= self._most_files or questions[path.name.partition(".")[0]] > _FOR_ONE_QUESTION
            if too_many or size > self._most_bytes or left_over:
                _drop(path)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step, in a folder that is there: all of it or, on a full disk, nothing. Raises OSError."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError:
        _drop(Path(beside))
        raise


def _name(question: str, text: str) -> str:
    return f"{question}.{digest(text)}{_SUFFIX}"


def _age(path: Path) -> float:
    """The time when it was last used, negative, so that the newest sorts first."""
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _drop(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return
