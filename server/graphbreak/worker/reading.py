"""What a program's result depends on: the files and folders that it reads, and which of its functions never ran."""

from __future__ import annotations

import hashlib
import inspect
import os
import stat
import sys
import sysconfig
import tempfile
import types
from collections.abc import Callable, Iterable
from typing import Any

from . import auditing, dynamo, stacks
from .entering import Entering
from .patching import patch
from .protocol import Needed

_MOST_BYTES = 4 * 1024 * 1024
_MOST_ENTRIES = 5_000
_NO_FILE = "no file"
_MOST = 20_000
_IMPORTER = "<frozen importlib._bootstrap_external>"
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LOOKING = os.O_EXCL | os.O_APPEND
_TOUCHING = (
    "os.chdir", "os.remove", "os.rmdir", "os.truncate", "os.utime", "os.chmod", "os.chown", "os.link", "os.getxattr", "os.listxattr",
)  # fmt: skip
_CACHES = ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
"""They name folders that libraries make for themselves, in the sandbox where nobody else sees them."""

_DYNAMO = os.path.join(dynamo.TORCH_FOLDER, "_dynamo", "")
_NOT_FILES = ("/proc/", "/sys/", "/dev/")
_UNSEEN = {
    "subprocess.Popen": "started another program", "os.system": "started another program", "os.posix_spawn": "started another program",
    "os.exec": "became another program", "os.fork": "forked", "os.forkpty": "forked", "socket.connect": "used the network",
    "socket.sendto": "used the network", "socket.getaddrinfo": "used the network", "socket.gethostbyname": "used the network",
    "sqlite3.connect": "read a database",
}  # fmt: skip

_prepared: frozenset[str] = frozenset()
_own_places: frozenset[str] = frozenset()
_sees_runs = False


def prepare() -> None:
    """Remember which modules every program finds imported; called once torch is."""
    global _prepared, _own_places, _sees_runs
    if not _prepared:
        _prepared, _sees_runs = frozenset(sys.modules), Entering.works()
        private, given = os.path.join(tempfile.gettempdir(), ""), os.environ.get("PYTHONPATH", "").split(os.pathsep)
        _own_places = frozenset(place for place in sys.path if place.startswith(private) and place not in given)


def new_modules() -> list[tuple[str, object]]:
    """The modules, by name, that are not there in every program."""
    return [(name, module) for name, module in list(sys.modules.items()) if name not in _prepared]


class Reading:
    """Listens to what a program opens, lists and executes, from `begin` to the end of the process."""

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        places = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {dynamo.TORCH_FOLDER, stacks.FOLDER}
        self._libraries = tuple(sorted({prefix + os.sep for place in places for prefix in (place, os.path.realpath(place))}))
        self._files: dict[str, str] = {}
        self._programs: dict[str, str] = {}
        self._folders: dict[str, list[str]] = {}
        self._searched: dict[str, list[str]] = {}
        self._texts: dict[str, str] = {}
        self._written: set[str] = set()
        self._unseen: dict[str, None] = {}
        self._quoted: set[str] = set()
        self._entering = Entering()
        self._events: dict[str, Callable[..., None]] = {
            "open": self._open,
            "exec": self._exec,
            "os.listdir": self._list,
            "os.scandir": self._list,
            "os.mkdir": self._make,
            "os.rename": self._rename,
            "glob.glob": lambda pattern, recursive: self._match(os.curdir, pattern),
            "glob.glob/2": lambda pattern, recursive, root, folder: self._match(os.curdir if root is None else root, pattern, folder),
            "pathlib.Path.glob": lambda path, pattern: self._match(path, pattern),
            "pathlib.Path.rglob": lambda path, pattern: self._match(path, os.path.join("**", pattern)),
            "code.__new__": self._new_code,
            "ctypes.dlopen": self._load,
        }
        self._events.update((event, self._touch) for event in _TOUCHING)
        self._events.update((event, self._beyond(what)) for event, what in _UNSEEN.items())

    def begin(self) -> None:
        """Listen from now on."""
        auditing.hear(self._events, self._misunderstood)
        patch(inspect, "findsource", self._quoting)

    def needed(self, traced: Iterable[tuple[str, int]]) -> Needed:
        """All of it. `traced` are the places (file, line) that Dynamo came to without running them."""
        with auditing.unheard():
            self._add_texts()
            self._add_modules()
            self._add_search_path()
        crowded = len(self._files) + len(self._programs) > _MOST
        return Needed(
            programs=dict(self._programs),
            files=dict(self._files),
            folders=self._folders,
            searched=self._searched,
            idle=self._entering.idle(set(traced)) if _sees_runs else [],
            quoted=sorted(self._quoted),
            unseen=[*self._unseen, *(["read more files than can be kept"] if crowded else [])],
        )

    def _misunderstood(self, event: str, error: Exception) -> None:
        self._unseen.setdefault(f"did something that was not understood ({event}: {type(error).__name__})")

    def _beyond(self, what: str) -> Callable[..., None]:
        return lambda *arguments: self._unseen.setdefault(what)

    def _open(self, path: Any, mode: Any, flags: Any) -> None:
        if isinstance(path, int):
            return
        file = _absolute(path)
        flags = flags or 0
        writes = any(letter in "wax+" for letter in mode) if isinstance(mode, str) else bool(flags & _WRITING)
        if writes and not os.path.exists(file):
            self._create(file, looks=any(letter in "ax" for letter in mode) if isinstance(mode, str) else bool(flags & _LOOKING))
        elif self._for_its_text(file):
            self._note(self._texts, file)
        else:
            self._note(self._files, file)

    def _note(self, states: dict[str, str], file: str) -> None:
        """What a file says as the program first comes to it. What it wrote itself is its own doing; what it found before is not."""
        if file not in states and file not in self._written and not self._passes_by(file):
            states[file] = _state(file)

    def _touch(self, path: Any, *rest: Any) -> None:
        """What is done to a file or folder goes differently where there is none."""
        if not isinstance(path, int):
            self._note(self._files, _absolute(path))

    def _create(self, file: str, looks: bool) -> None:
        """Something new. Where that `looks` whether it is there already, the next run will not go as this one; temporary names are new each
        time."""
        named_at_random = sys._getframe(auditing.CALLER + 1).f_code.co_filename == tempfile.__file__
        if looks and file not in self._written and not named_at_random:
            self._files.setdefault(file, "")
        self._written.add(file)

    def _make(self, path: Any, *rest: Any) -> None:
        file = _absolute(path)
        if not os.path.lexists(file):
            self._create(file, looks=True)
        elif not file.startswith(tuple(os.environ[name] for name in _CACHES if os.environ.get(name))):
            self._note(self._files, file)

    def _rename(self, source: Any, target: Any, *rest: Any) -> None:
        self._touch(source)
        self._written.add(_absolute(target))

    def _match(self, folder: Any, pattern: Any, descriptor: Any = None) -> None:
        """A pattern: folders that it goes through are listed, which is heard; for a name without wildcards nothing is listed."""
        parts = os.fsdecode(pattern).replace(os.altsep or os.sep, os.sep).split(os.sep)
        wild = [any(letter in part for letter in "*?[") for part in parts]
        first = wild.index(True) if any(wild) else len(parts)
        place = _absolute(os.path.join(os.fsdecode(folder), os.sep.join(parts[:first]) or (os.sep if first else "")))
        if self._passes_by(os.path.join(place, "")):
            return
        if descriptor is not None or not all(wild or not part for wild, part in zip(wild[first:], parts[first:], strict=True)):
            self._unseen.setdefault("looked for a file in many folders")
        else:
            self._note(self._files, place)

    def _for_its_text(self, file: str) -> bool:
        """Whether the import system reads a module, which is executed next, or Python or Dynamo looks for a line to show or to name."""
        frame: types.FrameType | None = sys._getframe(auditing.CALLER + 1)
        names = (_IMPORTER, stacks.FOLDER)
        within = set()
        while frame is not None and frame.f_code.co_filename.startswith(names):
            within.add(frame.f_code.co_name)
            frame = frame.f_back
        if within >= {"get_data", "get_code"}:
            return True
        while frame is not None and frame.f_code.co_filename.endswith("tokenize.py"):
            frame = frame.f_back
        return frame is not None and (frame.f_code.co_filename.endswith("linecache.py") or frame.f_code.co_filename.startswith(_DYNAMO))

    def _exec(self, code: Any) -> None:
        if not isinstance(code, types.CodeType) or code.co_name != "<module>" or not os.path.isabs(code.co_filename):
            return
        if not self._passes_by(code.co_filename):
            self._programs.setdefault(code.co_filename, self._texts.get(code.co_filename) or _state(code.co_filename))
            self._entering.watch(code)

    def _new_code(self, code: Any, file: Any, name: Any, *rest: Any) -> None:
        """Code made of other code runs in its place."""
        self._entering.entered(str(file), str(name))

    def _list(self, path: Any = None) -> None:
        if isinstance(path, int):
            self._unseen.setdefault("listed a folder by its descriptor")
            return
        folder = _absolute(os.curdir if path is None else path)
        if not self._passes_by(os.path.join(folder, "")) and folder not in self._written:
            searching = sys._getframe(auditing.CALLER).f_code.co_filename == _IMPORTER
            (self._searched if searching else self._folders).setdefault(folder, self._entries(folder))

    def _entries(self, folder: str) -> list[str]:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        if len(names) > _MOST_ENTRIES:
            self._unseen.setdefault("listed a very large folder")
        return names[:_MOST_ENTRIES]

    def _load(self, name: Any) -> None:
        if isinstance(name, str) and os.path.isabs(name) and not self._passes_by(name):
            self._files.setdefault(name, _stamp(name))

    def _quoting(self, real: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def findsource(value: Any) -> Any:
            self._quote(value)
            return real(value)

        return findsource

    def _quote(self, value: Any) -> None:
        """The program, or a library for it, reads the text of a function: its comments may count."""
        try:
            file = inspect.getsourcefile(value)
        except TypeError:
            return
        if file and not self._passes_by(_absolute(file)):
            self._quoted.add(_absolute(file))

    def _passes_by(self, file: str) -> bool:
        """Whether a file is a library's, and so is looked at as a whole, or none at all."""
        return file.startswith(self._libraries) or file.startswith(_NOT_FILES)

    def _add_texts(self) -> None:
        """Of what was read as if it were a program's text, that which was not executed: data, or a module with an error in it."""
        executed = {_absolute(path) for path in self._programs}
        for file, state in self._texts.items():
            if file not in executed and os.path.basename(os.path.dirname(file)) != "__pycache__":
                self._files.setdefault(file, state)

    def _add_modules(self) -> None:
        """Those that the job imported beyond what every program finds: of libraries their stamp, of others what is no executed text."""
        for _, module in new_modules():
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or not os.path.isabs(file):
                continue
            if file.startswith(self._libraries):
                self._files.setdefault(file, "" if file.startswith(stacks.FOLDER) else _stamp(file))
            elif file not in self._programs:
                self._files.setdefault(file, _state(file))
        for file in [file for file in self._files if file.startswith(stacks.FOLDER)]:
            del self._files[file]

    def _add_search_path(self) -> None:
        """Folders that were already known to the import system are not listed again; those that torch made for itself hold nothing else.
        One that is not there may come to be."""
        for folder in [folder for folder in sys.path if isinstance(folder, str) and folder not in _own_places]:
            place = _absolute(folder)
            if self._passes_by(os.path.join(place, "")):
                continue
            self._searched.setdefault(place, self._entries(place))
            if not os.path.isdir(place):
                self._note(self._files, place)


def _absolute(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))


def _state(file: str) -> str:
    """A short name of what a file says now; nothing where there is none that can be read."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):  # reading a pipe would take from it what is the program's
            return _NO_FILE
        if os.path.getsize(file) > _MOST_BYTES:
            return _stamp(file)
        with open(file, "rb") as stream:
            return hashlib.blake2b(stream.read(), digest_size=16).hexdigest()
    except (OSError, ValueError):
        return ""


def _stamp(file: str) -> str:
    """When a file was changed, and its size, for those that are too large or too many to be read."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"
