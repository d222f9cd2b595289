"""Says what the sandbox stops: what a program tries beyond it is known before the kernel refuses, and is told even where the program
swallows the error."""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from . import auditing
from .protocol import Denied

VARIABLE = "GRAPHBREAK_SANDBOX"
"""Where the launcher says what the sandbox allows."""

_MOST = 20
_OWN = frozenset({"/tmp", "/var/tmp", "/dev/shm"})
"""Folders of which a program has its own in a mount namespace."""

_SHARED = "/dev/shm"

_SHARING = (("multiprocessing.synchronize", "SemLock", "_make_name"), ("_posixshmem", "", "shm_open"))
"""What is called to make something in it: module, class and name."""

_FILE_LAYERS = frozenset({"landlock", "read-only mounts"})
_NETWORK_LAYERS = frozenset({"network namespace", "landlock network"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HERE = frozenset({"", "localhost", "ip6-localhost", "localhost.localdomain", "0.0.0.0", "::", "::1"})


def told() -> Mapping[str, Any]:
    """What the launcher says of the sandbox, taken out of the variables; empty without a sandbox."""
    try:
        words = json.loads(os.environ.pop(VARIABLE, "{}"))
    except ValueError:
        return {}
    return words if isinstance(words, dict) else {}


class Watch:
    """Hears of what a program opens, changes and connects to, and tells of each thing once that the sandbox does not allow."""

    def __init__(self, sandbox: Mapping[str, Any], tell: Callable[[Denied], None]) -> None:
        layers = set(sandbox.get("layers", ()))
        self._writable = [os.path.realpath(path) for path in sandbox.get("write", ())]
        self._own = [path for path in self._writable if path in _OWN] if "mount namespace" in layers else []
        self._shown = [path for path in self._writable if path not in _OWN]
        self._hidden = [os.path.realpath(path) for path in sandbox.get("hidden", ())]
        self._files, self._network = bool(layers & _FILE_LAYERS), bool(layers & _NETWORK_LAYERS)
        self._tell = tell
        self._told: set[Denied] = set()
        self._events: dict[str, Callable[..., None]] = {
            "open": self._open,
            "os.mkdir": self._make,
            "os.symlink": lambda source, path, folder=-1: self._make(path, 0, folder),
            "os.link": lambda source, path, one=-1, folder=-1: self._make(path, 0, folder),
            "os.remove": self._change,
            "os.rmdir": self._change,
            "os.truncate": lambda path, size: self._change(path),
            "os.chmod": lambda path, mode, folder=-1: self._change(path, folder),
            "os.rename": self._rename,
            "socket.connect": self._connect,
            "socket.getaddrinfo": lambda host, *rest: self._look_up(host),
            "socket.gethostbyname": self._look_up,
        }

    def begin(self) -> None:
        """Listen from now on, where there is something that could be stopped."""
        if self._files or self._network:
            auditing.hear(self._events, lambda event, error: None)
        if self._files and os.path.isdir(_SHARED) and not _is_below(_SHARED, self._writable):
            self._hear_of_shared_memory()

    def _hear_of_shared_memory(self) -> None:
        """The locks and segments that processes share are made in C, of which nothing is heard; loaders with workers need them."""
        for module, owner, name in _SHARING:
            try:
                holder: Any = importlib.import_module(module)
            except ImportError:
                continue  # there is nothing of it on this platform
            holder = getattr(holder, owner) if owner else holder
            told = self._telling(getattr(holder, name))
            setattr(holder, name, staticmethod(told) if owner else told)

    def _telling(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def make(*arguments: Any, **named: Any) -> Any:
            self._say(Denied("write", _SHARED))
            return real(*arguments, **named)

        return make

    def _open(self, path: Any, mode: Any, flags: Any) -> None:
        if isinstance(path, int):
            return
        writes = any(letter in "wax+" for letter in mode) if isinstance(mode, str) else bool(flags & _WRITING)
        if writes:
            self._write(path)
        elif self._files and _is_below(place := _real(path), self._hidden):
            self._say(Denied("read", place))
        elif _is_below(place := _real(path), self._own) and not _is_below(place, self._shown) and _is_missing_here(place):
            self._say(Denied("find", place))

    def _make(self, path: Any, mode: Any = 0, folder: int = -1) -> None:
        if folder == -1 and not os.path.lexists(path):
            self._write(path)

    def _change(self, path: Any, folder: int = -1) -> None:
        if folder == -1 and not isinstance(path, int) and os.path.lexists(path):
            self._write(path)

    def _rename(self, source: Any, target: Any, one: int = -1, other: int = -1) -> None:
        self._change(source, one)
        if other == -1 and os.path.lexists(source):
            self._write(target)

    def _write(self, path: Any) -> None:
        if self._files and not (_is_below(place := _real(path), self._writable) and _takes_entries(place)):
            self._say(Denied("write", place))

    def _connect(self, connection: Any, address: Any) -> None:
        if self._network and isinstance(address, tuple) and not _is_here(str(address[0])):
            self._say(Denied("connect to", f"{address[0]}:{address[1]}"))

    def _look_up(self, host: Any) -> None:
        name = os.fsdecode(host) if isinstance(host, bytes) else str(host or "")
        if self._network and not _is_here(name) and not name.replace(".", "").isdigit() and ":" not in name:
            self._say(Denied("connect to", name))

    def _say(self, denied: Denied) -> None:
        if denied not in self._told and sum(told.action == denied.action for told in self._told) < _MOST:
            self._told.add(denied)
            self._tell(denied)


def _real(path: Any) -> str:
    return os.path.realpath(os.fsdecode(path))


def _is_below(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(place + os.sep) for place in places)


def _takes_entries(path: str) -> bool:
    """Whether a place below a writable one is not shown read-only there: the project itself may lie in `/tmp`."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK) or os.path.islink(path)


def _is_missing_here(path: str) -> bool:
    """Whether a place is not there, nor in a folder of the machine that is shown: those cannot be written."""
    if os.path.lexists(path):
        return False
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


def _is_here(host: str) -> bool:
    return host in _HERE or host.startswith("127.")
