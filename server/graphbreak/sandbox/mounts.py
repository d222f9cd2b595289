"""Layer: a view of the file system of the program's own: read-only, with its own temporary folders and devices, without secrets and
without the sockets of the machine's services.

What the program needs of a covered place (a project below `/tmp`) is put back where it was, also later on, see `View.show`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator

from . import system

READ_ONLY = "read-only mounts"

_TEMPORARY = ("/tmp", "/var/tmp")
_PROCESSES = "/proc"
_SERVICES = "/run"
_SHARED = "/dev/shm"
_OF_SERVICES_KEPT = ("current-system", "booted-system", "opengl-driver", "opengl-driver-32", "host")
_NOT_SHOWN = ("ssh-*", ".X*", ".ICE-unix", ".*-unix", "krb5cc*", "systemd-private-*", "snap-private-tmp", "dbus-*", "keyring-*", "gpg-*",
              "tmux-*", "screen*", "vscode-*", "pulse-*", "*.sock", "*.socket")  # fmt: skip
_DEVICES = ("null", "zero", "full", "random", "urandom", "kfd", "dri", "nvidia*", "dxg", "infiniband")

_LIST_SECONDS = 1.0
"""How old the list of sockets may be: the kernel takes a millisecond or two for it."""

_NAME = re.compile(rb" (/.*)$", re.MULTILINE)

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/pts", "/dev/ptmx")
"""What may be written everywhere, beside the devices that compute."""

WRITABLE = (*_TEMPORARY, _SHARED, *DEVICES)
"""The same in such a view."""


def computing_devices() -> list[str]:
    """The devices of this machine that programs compute with."""
    names = os.listdir("/dev")
    return [f"/dev/{name}" for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in _DEVICES[5:])]


class Sockets:
    """The sockets that services of the machine have in its file system, as far as its network namespace lists them. To be made before that
    is left."""

    def __init__(self, kept: Iterable[str]) -> None:
        """Those below the places `kept` are not to be hidden."""
        self._kept = tuple(kept)
        try:
            self._list = os.open("/proc/net/unix", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._list = -1
        self._names: set[str] = set()
        self._read_at = -_LIST_SECONDS

    def to_be_hidden(self, private: int) -> Iterator[str]:
        """Those that are seen at this moment; one on the device `private` is the program's own."""
        if time.monotonic() - self._read_at >= _LIST_SECONDS:
            self._names, self._read_at = self._listed(), time.monotonic()
        for path in self._names:
            try:
                found = os.stat(path)
            except OSError:
                continue
            if stat.S_ISSOCK(found.st_mode) and found.st_dev != private and not self._is_kept(path):
                yield path

    def _listed(self) -> set[str]:
        if self._list == -1:
            return set()
        os.lseek(self._list, 0, os.SEEK_SET)
        parts = list(iter(lambda: os.read(self._list, 1 << 16), b""))
        return {os.fsdecode(name) for name in _NAME.findall(b"".join(parts))}

    def _is_kept(self, path: str) -> bool:
        place = os.path.realpath(path)
        return any(place == kept or place.startswith(kept.rstrip("/") + "/") for kept in self._kept)


class View:
    """The file system as the program will see it. It is made in a mount namespace of its own, and can be added to from outside."""

    def __init__(self, hidden: Iterable[str], sockets: Sockets, size: int) -> None:
        """`size` is how many bytes of the memory the temporary folders may take together."""
        self._hidden, self._sockets, self._size = tuple(hidden), sockets, size
        places = dict.fromkeys(os.path.realpath(place) for place in (*_TEMPORARY, _SERVICES) if os.path.isdir(place))
        self._covered = {place: os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for place in places}
        self.private = next((place for place in _TEMPORARY if os.path.isdir(place)), _SHARED)
        """Where the program's own temporary folder is."""
        self._kept: set[str] = set()
        self._writable: list[str] = []

    def arrange(self, write: Iterable[str], needed: Iterable[str]) -> bool:
        """Make the view, with what is needed of the covered places and with what may be written. Returns whether everything else is
        read-only for certain; raises OSError where mounts cannot be made."""
        read_only = _make_read_only()
        if not os.path.exists(f"{_PROCESSES}/self"):  # open files are shown by their names there
            system.mount("proc", _PROCESSES, "proc", system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC | system.MS_RDONLY)
        for place in self._covered:
            if place == _SERVICES:
                system.mount("tmpfs", place, "tmpfs", system.MS_NOSUID | system.MS_NODEV, "mode=755,size=1m")
        self._make_devices()
        self._make_temporary([place for place in self._covered if place != _SERVICES])
        self._make_nothing()
        for name in _OF_SERVICES_KEPT:
            self.show(f"{_SERVICES}/{name}")
        for path in needed:
            self.show(path)
        self.hide()
        for path in write:
            if self._is_place(path):
                self.show(path)
                _make_writable(path)
                self._writable.append(path)
        return read_only

    def remember_what_is_there(self) -> None:
        """What is in the temporary folders now belongs to the prepared process and stays when they are tidied."""
        self._kept = set(self._private_entries())

    def tidy(self) -> None:
        """Empty the temporary folders, as far as programs have put something there."""
        for path in self._private_entries():
            if path not in self._kept:
                _remove(path, os.lstat(os.path.dirname(path)).st_dev)

    def _private_entries(self) -> Iterator[str]:
        for place in (*(place for place in self._covered if place != _SERVICES), _SHARED):
            with os.scandir(place) as entries:
                yield from [entry.path for entry in entries]

    def show(self, path: str) -> None:
        """Put something back that a covered place hides, as it is on the machine now; nothing where it is not hidden, or not there."""
        place, inside = self._parts(path)
        if not place:
            return
        source = f"/proc/self/fd/{self._covered[place]}" + (f"/{inside}" if inside else "")
        if not inside:
            self._show_entries(place, source)
        elif os.path.exists(source) and not _is_same(source, path):
            _bind(source, path)
            for writable in self._writable:
                if writable.startswith(path + "/"):
                    _make_writable(writable)
        self.hide()

    def _parts(self, path: str) -> tuple[str, str]:
        """The covered place that a path is in, and where it is there; two empty words for any other path."""
        place = next((place for place in self._covered if path == place or path.startswith(place + "/")), "")
        return place, path[len(place) :].strip("/") if place else ""

    def _is_place(self, path: str) -> bool:
        """Whether there is something on the machine, and no link on the way to it."""
        place, inside = self._parts(path)
        try:
            os.close(system.open_place(inside, f"/proc/self/fd/{self._covered[place]}") if place else system.open_place(path))
        except OSError:
            return False
        return True

    def _show_entries(self, place: str, source: str) -> None:
        with os.scandir(source) as entries:
            found = list(entries)
        for entry in found:
            if _may_be_shown(entry):
                target = f"{place}/{entry.name}"
                if not _is_same(entry.path, target):
                    _bind(entry.path, target)

    def _make_nothing(self) -> None:
        """An empty folder and an empty file that nobody may read, to put in place of what is hidden."""
        folder = f"{_SERVICES}/.graphbreak" if _SERVICES in self._covered else f"{self.private}/.graphbreak"
        os.makedirs(f"{folder}/folder", mode=0o755, exist_ok=True)
        os.close(os.open(f"{folder}/file", os.O_CREAT | os.O_WRONLY, 0))
        os.chmod(f"{folder}/folder", 0)
        self._nothing = {kind: (path := f"{folder}/{kind}", os.stat(path)) for kind in ("folder", "file")}

    def hide(self) -> None:
        """Hide what is to be hidden and is there now: what was written anew, or has appeared, is not the file that was hidden before.
        Raises OSError where something cannot be hidden, after all else is."""
        problem = None
        for path in (*self._hidden, *self._sockets.to_be_hidden(self._nothing["file"][1].st_dev)):
            try:
                found = os.stat(path)
            except OSError:
                continue
            nothing, known = self._nothing["folder" if stat.S_ISDIR(found.st_mode) else "file"]
            if not os.path.samestat(found, known):
                try:
                    system.mount(nothing, path, "", system.MS_BIND)
                except FileNotFoundError:
                    continue  # it has gone meanwhile
                except OSError as error:
                    problem = error
        if problem is not None:
            raise problem

    def _make_temporary(self, places: list[str]) -> None:
        """Private folders in these places and for shared memory, which lie in memory and have one limit together."""
        os.mkdir(_SHARED)
        places = [*places, _SHARED]
        system.mount("tmpfs", places[0], "tmpfs", system.MS_NOSUID | system.MS_NODEV, f"mode=1777,size={self._size}")
        whole = os.open(places[0], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        for number, place in enumerate(places):
            os.mkdir(str(number), dir_fd=whole)
            os.chmod(str(number), 0o1777, dir_fd=whole)
            system.mount(f"/proc/self/fd/{whole}/{number}", place, "", system.MS_BIND)
        os.close(whole)

    def used(self) -> int:
        """How many bytes the temporary folders take of the memory."""
        found = os.statvfs(_SHARED)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _make_devices(self) -> None:
        """A `/dev` with nothing but what programs compute with, and terminals of their own."""
        devices = os.open("/dev", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        names = [name for name in os.listdir("/dev") if any(fnmatch.fnmatch(name, pattern) for pattern in _DEVICES)]
        system.mount("tmpfs", "/dev", "tmpfs", system.MS_NOSUID, "mode=755,size=1m")
        for name in names:
            _bind(f"/proc/self/fd/{devices}/{name}", f"/dev/{name}")
        os.close(devices)
        for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"), ("ptmx", "pts/ptmx")):
            os.symlink(target, f"/dev/{name}")
        os.mkdir("/dev/pts")
        try:
            system.mount("devpts", "/dev/pts", "devpts", system.MS_NOSUID | system.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
        except OSError:
            pass  # then there are no terminals


def _make_read_only() -> bool:
    """Make every mount read-only; returns whether that is certain."""
    try:
        system.set_mount_flags("/", system.MS_RDONLY, recursive=True)
    except OSError:
        return _make_each_read_only()
    return True


def _make_each_read_only() -> bool:
    """The same where the kernel (before 5.12) cannot do it at once."""
    certain = True
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        places = [line.split()[4].encode("latin-1", "surrogateescape").decode("unicode_escape") for line in file]
    for place in places:
        try:
            system.mount("", place, "", system.MS_BIND | system.MS_REMOUNT | system.MS_RDONLY)
        except OSError:
            certain = False
    return certain


def _make_writable(path: str) -> None:
    """Let a place be written that is there, unless a link leads to it."""
    try:
        with _at(path) as place:
            system.mount(place, place, "", system.MS_BIND | system.MS_REC)
        with _at(path) as place:  # this time it is the mount that was just made
            system.mount("", place, "", system.MS_BIND | system.MS_REMOUNT)
    except OSError:
        pass  # it stays read-only; what a program tries there is reported


@contextlib.contextmanager
def _at(path: str) -> Iterator[str]:
    """A name for what is at a path now, whatever is put there meanwhile. Raises OSError where a link is on the way."""
    descriptor = system.open_place(path)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _bind(source: str, target: str) -> None:
    """Show a file or folder at another place."""
    if os.path.ismount(target):
        system.unmount(target)  # what was shown there has been replaced since
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    system.mount(source, target, "", system.MS_BIND | system.MS_REC)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.stat(one), os.stat(other))
    except OSError:
        return False


def _may_be_shown(entry: os.DirEntry[str]) -> bool:
    """Whether something in a temporary folder is neither a socket nor a folder of sockets or of secrets."""
    if any(fnmatch.fnmatch(entry.name, pattern) for pattern in _NOT_SHOWN):
        return False
    try:
        if entry.is_dir(follow_symlinks=False):
            with os.scandir(entry.path) as inside:
                return not any(stat.S_ISSOCK(found.stat(follow_symlinks=False).st_mode) for found in inside)
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _remove(path: str, device: int) -> None:
    """Remove something that lies on one device, and nothing that is mounted there. What cannot be removed stays."""
    try:
        found = os.lstat(path)
        if found.st_dev != device:
            return
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(path) as entries:
                inside = [entry.path for entry in entries]
            for entry in inside:
                _remove(entry, device)
            os.rmdir(path)
        else:
            os.unlink(path)
    except (OSError, RecursionError):
        return
