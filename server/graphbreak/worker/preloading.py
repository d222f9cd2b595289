"""Third-party modules imported ahead of the program, which finds them only when it asks for them, as if they were imported then.

A program's own imports of libraries are noted in order (`Noting`). A parent can make the same ones (`load`) and hides what came of them; in
a job that it forks each is shown at the program's own `import` (`Preloaded`). Whatever could make an import turn out differently there ends
the job before it has said anything, and it is run again without. A module whose import does more than define things is not loaded ahead.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import signal
import sys
import sysconfig
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from . import dynamo

_FEWEST = 25
"""Fewer modules than these are imported at once anyway."""

_TORCH = os.path.join(dynamo.TORCH_FOLDER, "")
_paths = sysconfig.get_paths()
_LIBRARIES = tuple({os.path.join(place, "") for name in ("purelib", "platlib") for place in (_paths[name], os.path.realpath(_paths[name]))})
_STANDARD = tuple(
    {os.path.join(place, "") for name in ("stdlib", "platstdlib") for place in (_paths[name], os.path.realpath(_paths[name]))}
)
_PASSED = (*_LIBRARIES, *_STANDARD, "/proc/", "/sys/", "/dev/")
_EFFECTS = ("subprocess.", "socket.connect", "socket.send", "socket.get", "shutil.", "tempfile.", "os.fork", "os.posix_spawn", "os.system",
            "os.exec", "os.mkdir", "os.remove", "os.rename", "os.chdir", "os.putenv", "os.unsetenv", "os.kill")  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """One import that a program makes: the modules that came with it, the names that it set in packages that were there before, and what it
    added to the import system."""

    name: str
    modules: list[tuple[str, types.ModuleType]]
    bound: list[tuple[dict[str, Any], str, types.ModuleType]]
    finders: list[Any]


def is_library(module: object) -> bool:
    """Whether a module is of an installed package other than torch."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(_LIBRARIES) and not dynamo.in_torch(file)


def surroundings(but: Sequence[Any] = ()) -> tuple[object, ...]:
    """What a program may change that an import can depend on, without some finders."""
    finders = [id(finder) for finder in (*sys.meta_path, *sys.path_hooks) if not any(finder is one for one in but)]
    return dict(os.environ), finders, torch.get_default_dtype(), torch.is_grad_enabled()


def _of_libraries() -> list[Any]:
    """The finders that libraries brought with them, as `six` does."""
    return [one for one in sys.meta_path if is_library(sys.modules.get(getattr(one, "__module__", None) or type(one).__module__))]


class Noting:
    """Notes the libraries that a program imports, as long as it has changed nothing before that an import could depend on."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._before: tuple[object, ...] = ()
        self._thread = threading.get_ident()
        self._modules = len(sys.modules)

    def begin(self) -> None:
        """Listen from now on, before all other finders."""
        sys.meta_path.insert(0, self)
        self._before = surroundings(_of_libraries())

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Part of the import system: a module is asked for that is not there yet."""
        if threading.get_ident() == self._thread and _by_the_program() and surroundings(_of_libraries()) == self._before:
            self._names.setdefault(name)

    @property
    def names(self) -> list[str]:
        """The imports in order, if they are enough to be worth it."""
        count = sum(is_library(module) for module in list(sys.modules.values())[self._modules :])
        return [name for name in self._names if is_library(sys.modules.get(name))] if count >= _FEWEST else []


def _by_the_program() -> bool:
    """Whether the import at hand is no part of another library's, and none of torch's own."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_TORCH) or (code.co_name == "<module>" and code.co_filename.startswith(_LIBRARIES)):
            return False
        frame = frame.f_back
    return True


# Ahead


@dataclass
class Loaded:
    """What came of imports ahead: units, or the name of the first that cannot be one."""

    units: list[Unit] = field(default_factory=list)
    left_out: str = ""

    @property
    def files(self) -> list[str]:
        """Where the modules came from."""
        return [str(module.__file__) for unit in self.units for _, module in unit.modules]


def load(names: Sequence[str]) -> Loaded:
    """Import modules in order, and stop at one that fails, prints, or does anything that lasts beside defining things."""
    loaded, watch = Loaded(), _Watch()
    printed, before_that = os.memfd_create("printed"), [os.dup(1), os.dup(2)]
    for descriptor in (1, 2):
        os.dup2(printed, descriptor)
    compiled: list[str] = []
    undo = dynamo.patch(torch, "compile", lambda real: _told(real, compiled))
    for name in names:
        known = set(sys.modules)
        before, finders = _lasting(), list(sys.meta_path)
        try:
            importlib.import_module(name)
        except BaseException:
            loaded.left_out = name
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if loaded.left_out or watch.found or compiled or _lasting(_new(finders)) != before or os.fstat(printed).st_size:
            loaded.left_out = name
            break
        loaded.units.append(_unit(name, known, _new(finders)))
    undo()
    watch.on = False
    os.close(printed)
    for descriptor, saved in zip((1, 2), before_that):
        os.dup2(saved, descriptor)
        os.close(saved)
    return loaded


def _told(real: Callable[..., Any], called: list[str]) -> Callable[..., Any]:
    def compile(*args: Any, **options: Any) -> Any:
        called.append("compile")
        return real(*args, **options)

    return compile


def _new(finders: Sequence[Any]) -> list[Any]:
    return [one for one in sys.meta_path if not any(one is other for other in finders)]


def _lasting(but: Sequence[Any] = ()) -> tuple[object, ...]:
    """What an import may change that is not taken back by hiding what came with it, some finders among that."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    tasks = len(os.listdir("/proc/self/task"))
    return surroundings(but), tasks, handlers, list(sys.path), os.getcwd(), sys.excepthook, torch.get_rng_state().tolist()


class _Watch:
    """Hears of what reaches beyond the process, or depends on files that are no library's."""

    def __init__(self) -> None:
        self.on, self.found = True, False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            path = arguments[0]
            self.found |= not isinstance(path, int) and not os.fsdecode(path).startswith(_PASSED) and not _is_archive(os.fsdecode(path))
        elif event.startswith(_EFFECTS):
            self.found = True


def _is_archive(path: str) -> bool:
    """Python's own `python3x.zip`, which the import system looks for."""
    return path in sys.path


def _unit(name: str, known: set[str], finders: list[Any]) -> Unit:
    added = [(new, module) for new, module in list(sys.modules.items()) if new not in known and is_library(module)]
    own = {new for new, _ in added}
    bound = []
    for new, module in added:
        package, _, child = new.rpartition(".")
        if package and package not in own and vars(sys.modules[package]).get(child) is module:
            bound.append((vars(sys.modules[package]), child, module))
    return Unit(name, added, bound, finders)


class Preloaded:
    """The units of a parent: hidden, and in a job shown one after another as the program asks for them."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.names = [unit.name for unit in units]
        self._waiting = list(units)
        self._hidden = {name for unit in units for name, _ in unit.modules}
        self._tops = {name.partition(".")[0] for name in self._hidden}
        self._path = list(sys.path)
        self._before: tuple[object, ...] = ()
        self._shown: list[Any] = []
        self._pid = 0
        self._done: Callable[[], None] = lambda: None

    def hide(self) -> None:
        """Have nothing seem imported."""
        for unit in self._waiting:
            for name, _ in unit.modules:
                sys.modules.pop(name, None)
            for names, child, module in unit.bound:
                if names.get(child) is module:
                    del names[child]
            sys.meta_path[:] = [one for one in sys.meta_path if not any(one is other for other in unit.finders)]
        sys.meta_path.insert(0, self)

    def begin(self, done: Callable[[], None]) -> None:
        """The program begins; `done` hears once it has asked for all."""
        self._pid, self._done, self._before = os.getpid(), done, surroundings()

    @property
    def waits(self) -> bool:
        """Whether something is hidden that the program has not asked for yet."""
        return bool(self._waiting)

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Part of the import system: a module is asked for that is not there yet. Ends the job where it is none that comes next, or may
        not be the same any more."""
        if name not in self._hidden or not self._waiting or _only_asks():
            return None
        unit = self._waiting[0]
        if unit.name != name or surroundings(self._shown) != self._before or self._is_shadowed():
            start_over()
        module = dict(unit.modules)[name]
        return importlib.machinery.ModuleSpec(name, _Shown(self, module), origin=module.__file__)  # type: ignore[arg-type]

    def _is_shadowed(self) -> bool:
        """Whether a folder that the program is looked for in has a module of the name of a hidden one."""
        entries: Iterator[str] = (entry for place in sys.path if place not in self._path for entry in _entries(place or os.curdir))
        return any(entry.partition(".")[0] in self._tops for entry in entries)

    def show(self) -> None:
        """Put the next unit where its import would have put it."""
        unit = self._waiting.pop(0)
        for name, module in unit.modules:
            sys.modules.setdefault(name, module)
        for names, child, module in unit.bound:
            names[child] = module
        sys.meta_path += unit.finders
        self._shown += unit.finders
        if not self._waiting and os.getpid() == self._pid:
            self._done()


current: Preloaded | None = None
"""That of this process's parent."""


class _Shown:
    """The loader of a module that is imported already."""

    def __init__(self, preloaded: Preloaded, module: types.ModuleType) -> None:
        self._preloaded, self._module, self._spec = preloaded, module, module.__spec__

    def create_module(self, spec: object) -> types.ModuleType:
        """The module as it is."""
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        """Show what came with it."""
        module.__spec__ = self._spec
        self._preloaded.show()


def start_over() -> None:
    """End a job that has said nothing yet: the server runs it again, where nothing is loaded ahead."""
    os._exit(0)


def _only_asks() -> bool:
    """Whether a program only wants to know if there is such a module."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        if frame.f_globals.get("__name__") == "importlib.util":
            return True
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "importlib.util"


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
