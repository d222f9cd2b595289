"""Keeps what the server takes of memory small for as long as it runs: glibc lets each thread that was ever busy keep pieces of its own, and
gives back next to nothing of what was freed between them. Other C libraries are left as they are."""

from __future__ import annotations

import ctypes
import sys
import time

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # from glibc's malloc.h
_LARGE = 128 * 1024
_PAUSE = 10.0


class Memory:
    """The memory of this process. Made before there are threads."""

    def __init__(self) -> None:
        self._library = _glibc()
        self._given_back = time.monotonic()
        if self._library is not None:
            self._library.mallopt(_ARENA_MAX, 1)
            self._library.mallopt(_MMAP_THRESHOLD, _LARGE)  # set, it stays so: what is larger goes back to the system at once

    def give_back(self) -> None:
        """Give back what is free, which takes about a millisecond; not more often than every ten seconds."""
        if self._library is not None and time.monotonic() - self._given_back > _PAUSE:
            self._given_back = time.monotonic()
            self._library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if all(hasattr(library, name) for name in ("mallopt", "malloc_trim", "gnu_get_libc_version")) else None
