"""Unsaved texts in place of files on disk, for imports, `inspect` and `linecache`."""

from __future__ import annotations

import importlib.machinery
import linecache
import os
from collections.abc import Mapping


def install(texts: Mapping[str, str]) -> None:
    """From now on the files named in `texts` (absolute paths) read as these texts when they are imported or inspected."""
    if not texts:
        return
    known = {os.path.realpath(path): text.encode("utf-8") for path, text in texts.items()}
    for path, text in texts.items():
        remember_lines(path, text)

    real_stats = importlib.machinery.SourceFileLoader.path_stats
    real_data = importlib.machinery.SourceFileLoader.get_data

    def path_stats(self: importlib.machinery.SourceFileLoader, path: str) -> Mapping[str, float]:
        # Without stats the loader neither trusts a cached .pyc, which belongs to the text on disk, nor writes one.
        if os.path.realpath(path) in known:
            raise OSError(f"{path} is open in the editor")
        return real_stats(self, path)

    def get_data(self: importlib.machinery.SourceFileLoader, path: str) -> bytes:
        text = known.get(os.path.realpath(path))
        return real_data(self, path) if text is None else text

    importlib.machinery.SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]
    importlib.machinery.SourceFileLoader.get_data = get_data  # type: ignore[assignment, method-assign]


def remember_lines(path: str, text: str) -> None:
    """Make `linecache` (tracebacks, `inspect.getsource`) show `text` for `path`; an entry without a time is not compared with the disk."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
