"""Layer: Landlock. What may be written, where the kernel has no mount namespace for us what may be read, and who may be spoken to.

A rule allows; nothing can be taken out of what a rule allows, so that hidden places are left out by allowing everything beside them.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator

from . import system

FILES, TCP, SIGNALS = "landlock", "landlock network", "landlock signals"

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_CHANGE_TREE = 0x1FF0  # remove and make all sorts of entries
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2


def version() -> int:
    """Which version of Landlock the kernel has; 0 for none."""
    try:
        return system.syscall(_CREATE_RULESET, 0, 0, _VERSION)
    except OSError:
        return 0


class Ruleset:
    """What this process will be allowed. Raises OSError where the kernel has no Landlock."""

    def __init__(self, *, reads: bool, tcp: bool) -> None:
        """`reads` and `tcp` say whether reading, and TCP, are to be restricted too."""
        known = version()
        self._write = _WRITE_FILE | _CHANGE_TREE | (_REFER if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0)
        self._write |= _IOCTL_DEV if known >= 5 else 0
        self._read = _EXECUTE | _READ_FILE | _READ_DIR
        self.restricts_reads = reads
        self.restricts_tcp = tcp and known >= 4
        self.restricts_signals = known >= 6
        self._handled = self._write | (self._read if reads else 0)
        net = _BIND_TCP | _CONNECT_TCP if self.restricts_tcp else 0
        scope = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if self.restricts_signals else 0
        size = 8 if known < 4 else 16 if known < 6 else 24
        self._descriptor = system.syscall(_CREATE_RULESET, struct.pack("=QQQ", self._handled, net, scope)[:size], size, 0)

    def allow_reading(self, paths: Iterable[str]) -> None:
        """Let these files and folders, and all below them, be read and executed."""
        for path in paths:
            self._allow(path, self._read)

    def allow_writing(self, paths: Iterable[str], *, links: bool) -> None:
        """Let these files and folders, and all below them, be written too; `links` says whether a path may lead over one."""
        for path in paths:
            self._allow(path, self._write | self._read, links)

    def _allow(self, path: str, rights: int, links: bool = True) -> None:
        rights &= self._handled
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC) if links else system.open_place(path)
        except OSError:
            return  # there is nothing to allow
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                rights &= _OF_FILES
            if rights:
                system.syscall(_ADD_RULE, self._descriptor, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
        finally:
            os.close(descriptor)

    def enforce(self) -> None:
        """From here on only what was allowed is, for this process and all that it starts."""
        system.syscall(_RESTRICT_SELF, self._descriptor, 0)
        os.close(self._descriptor)


def beside(hidden: Iterable[str], folder: str = "/") -> Iterator[str]:
    """The files and folders that, taken together, are everything in a folder but what is hidden."""
    hidden = [path for path in hidden if path != folder]
    inside = [path for path in hidden if path.startswith(folder.rstrip("/") + "/")]
    if not inside:
        yield folder
        return
    try:
        entries = sorted(entry.path for entry in os.scandir(folder) if not entry.is_symlink())
    except OSError:
        return
    for path in entries:
        if path not in inside:
            yield from beside(inside, path)
