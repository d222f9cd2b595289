"""Notes, in the user's own process, with what the compiled callables of a program are called, and how they can be made again.

`graphbreak record` starts the program so that `hook/sitecustomize` calls `start` right after the program imported torch. The program runs
as it is: its backend, its devices and its exit are its own. Each process writes what it knows to its own file, whenever that grows.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import os
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

from . import marks, samples
from .origins import Origins
from .patching import Undo, patch
from .protocol_ranges import KEYS, is_tensor, put_together

_MOST_CALLS = 8
"""How many different calls of one callable are kept."""
_MOST_LOOKED_AT = 1000
"""After so many calls of a callable nothing more is looked for in them."""
_MOST_RANGES = 16
"""In so many calls of one kind the ranges of the values are looked at: that can make a device wait."""


def start(folder: str, root: str) -> None:
    """Record from now on; `folder` is for the notes of all processes, `root` the project's. Called once in a process."""
    _Recording(folder, root)


class _Compiled:
    """One compiled callable. It does not keep what was compiled alive."""

    def __init__(self, target: Any, options: dict[str, Any]) -> None:
        self.options = options
        self.looked_at = 0
        self.calls: dict[Any, list[Any]] = {}
        partial: list[tuple[Any, Any]] = []
        while isinstance(target, functools.partial):
            partial.insert(0, (target.args, target.keywords))
            target = target.func
        self.args = [value for args, _ in partial for value in args]
        self.kwargs = {name: value for _, keywords in partial for name, value in keywords.items()}
        owner = target.__self__ if inspect.ismethod(target) else None
        if isinstance(owner, torch.nn.Module) and target.__name__ in ("_call_impl", "_wrapped_call_impl", "__call__"):
            target, owner = owner, None
        self.kind = "module" if isinstance(target, torch.nn.Module) else "method" if owner is not None else "function"
        self.function = inspect.unwrap(marks.user_function(target) or _nothing)
        self._target = weakref.ref(owner if owner is not None else target)

    @property
    def owner(self) -> Any:
        """The module that was compiled, or whose method was; None once it is gone."""
        return self._target() if self.kind != "function" else None


def _nothing() -> None:
    """In the place of a callable without a Python function."""


class _Recording:
    def __init__(self, folder: str, root: str) -> None:
        self._folder, self._root = folder, root
        self._origins = Origins(root)
        self._samples = self._origins.samples
        self._known: dict[marks.CellKey, _Compiled] = {}
        self._codes: set[types.CodeType] = set()
        self._functions: dict[str, list[dict[str, Any]]] = {}
        self._notes: dict[str, None] = {}
        self._stop_watching: Undo | None = None
        self._unseen = False
        self._origins.watch()
        patch(torch, "compile", self._compile)
        atexit.register(self._write)

    def _compile(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def compile(*args: Any, **kwargs: Any) -> Any:
            compiled = real(*args, **kwargs)
            model = args[0] if args else kwargs.get("model")
            if model is not None and compiled is not model:
                try:
                    self._add(model, compiled, kwargs)
                except Exception as error:
                    self._note(f"a compiled callable is not recorded: {type(error).__name__}: {error}")
            return compiled

        return compile

    def _add(self, model: Any, compiled: Any, kwargs: dict[str, Any]) -> None:
        options = {"fullgraph": True} if kwargs.get("fullgraph") else {}
        if kwargs.get("dynamic") is not None:
            options["dynamic"] = bool(kwargs["dynamic"])
        one = _Compiled(model, options)
        for function in marks.wrappers(compiled):
            key = marks.closure_key(function)
            self._known[key] = one
            self._codes.add(key[0])
        if self._stop_watching is None:
            from . import dynamo  # torch.compile has imported Dynamo by now

            self._stay_out_of_sight(dynamo)
            self._stop_watching = dynamo.watch_calls(self._called)
            if self._stop_watching is None:
                self._note("this torch does not tell when a compiled function is called, so nothing is recorded")

    def _stay_out_of_sight(self, dynamo: types.ModuleType) -> None:
        """Keep Dynamo, which is there from now on, from compiling what we do inside a compiled call."""
        if not self._unseen:
            self._unseen = True
            dynamo.skip_folder_of(__package__)
            self._origins.note = torch.compiler.disable(self._origins.note)  # type: ignore[no-untyped-call]

    def _called(self, frame: types.FrameType) -> None:
        """A compiled callable is called; this is inside the user's call."""
        code = frame.f_code
        if code not in self._codes:
            return
        values = frame.f_locals
        one = self._known.get((code, tuple(id(values.get(name)) for name in code.co_freevars)))
        if one is None:
            return
        one.looked_at += 1
        if one.looked_at > _MOST_LOOKED_AT or len(one.calls) >= _MOST_CALLS:
            self._forget(one)
            return
        try:
            self._look(one, [*one.args, *values.get("args", ())], {**one.kwargs, **values.get("kwargs", {})})
        except Exception as error:
            self._note(f"a call of {one.function.__qualname__} is not recorded: {type(error).__name__}: {error}")
            self._forget(one)

    def _forget(self, one: _Compiled) -> None:
        """Look no more at the calls of one; when none is left, calls cost nothing again."""
        self._known = {key: other for key, other in self._known.items() if other is not one}
        if not self._known and self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None
        self._write()

    def _look(self, one: _Compiled, args: list[Any], kwargs: dict[str, Any]) -> None:
        key = samples.key(args), samples.key(kwargs), id(one.owner), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        seen = one.calls.get(key)
        if seen is None:
            name = self._name(one)
            call = self._call(one, args, kwargs) if name else {}
            one.calls[key] = [1, call]
            if name:
                calls = self._functions.setdefault(name, [])
                calls.append(call)
                self._write()
        elif seen[0] < _MOST_RANGES:
            seen[0] += 1
            self._widen(seen[1], one, args, kwargs)

    def _name(self, one: _Compiled) -> str:
        """The function's file and name; where it is none of the project's own that can be found again, empty, and a note says why."""
        function = one.function
        file = self._samples.own_file(function.__code__.co_filename)
        if not file:
            if function is not _nothing:
                self._note(f"{function.__qualname__} belongs to a library; what calls it has to be traced as it is")
            return ""
        if "<" in function.__qualname__:
            self._note(f"{file}: {function.__qualname__} is defined inside a function, so it cannot be called again without what runs that")
            return ""
        return f"{file}::{function.__qualname__}"

    def _call(self, one: _Compiled, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        call: dict[str, Any] = {}
        method = one.kind == "function" and list(inspect.signature(one.function).parameters)[:1] == ["self"]
        owner = args[0] if method and args else one.owner
        if owner is not None:
            call["self"] = self._samples.of(owner, "self")
            call["as"] = "method" if method else one.kind
        call["inputs"] = self._inputs(one, args[1:] if method else args, kwargs, owner is not None)
        call.update(one.options)
        call.update(surroundings())
        return call

    def _inputs(self, one: _Compiled, args: list[Any], kwargs: dict[str, Any], bound: bool) -> dict[str, Any]:
        """The arguments by the names of their parameters; those without a name under `*`."""
        names = [
            parameter.name
            for parameter in inspect.signature(one.function).parameters.values()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ][bound:]
        if len(args) > len(names):
            return {
                "*": [self._samples.of(value) for value in args],
                **{name: self._samples.of(value, name) for name, value in kwargs.items()},
            }
        return {name: self._samples.of(value, name) for name, value in [*zip(names, args), *kwargs.items()]}

    def _widen(self, call: dict[str, Any], one: _Compiled, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Take the ranges of a further call of the same kind into what is known of it."""
        if not call or not _has_range(call["inputs"]):
            return
        again = self._inputs(one, args[1:] if call.get("as") == "method" and one.kind == "function" else args, kwargs, "self" in call)
        if widen(call["inputs"], again):
            self._write()

    def _note(self, sentence: str) -> None:
        if sentence not in self._notes:
            self._notes[sentence] = None
            self._write()

    def _write(self) -> None:
        """Put what is known in this process's own file, all at once."""
        path = os.path.join(self._folder, f"{os.getpid()}.json")
        try:
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump({"functions": self._functions, "notes": list(self._notes)}, file)
            os.replace(path + ".new", path)
        except OSError as error:
            print(f"graphbreak: what process {os.getpid()} recorded is lost: {error.strerror}", file=sys.stderr)


def surroundings() -> dict[str, Any]:
    """The modes that a call is made in, as far as they are not the usual ones."""
    found: dict[str, Any] = {}
    if torch.is_inference_mode_enabled():
        found["inference"] = True
    elif not torch.is_grad_enabled():
        found["grad"] = False
    for device in ("cuda", "cpu"):
        if torch.is_autocast_enabled(device):
            found["autocast"] = {"device": device, "dtype": samples.dtype_name(torch.get_autocast_dtype(device))}
    return found


def _has_range(sample: Any) -> bool:
    if isinstance(sample, dict):
        return not KEYS.isdisjoint(sample) or any(_has_range(value) for value in sample.values())
    return isinstance(sample, list) and any(_has_range(value) for value in sample)


def widen(sample: Any, other: Any) -> bool:
    """Widen the ranges in a sample by those of another one of the same form; says whether any changed."""
    if isinstance(sample, list) and isinstance(other, list):
        return sum(widen(one, two) for one, two in zip(sample, other)) > 0
    if not isinstance(sample, dict) or not isinstance(other, dict):
        return False
    changed = sum(widen(sample[name], other[name]) for name in sample if name in other and not (is_tensor(sample) and name in KEYS)) > 0
    if is_tensor(sample):
        before = {name: sample.pop(name) for name in KEYS & sample.keys()}
        after = put_together(before, other)
        sample.update(after)
        changed = changed or after != before
    return changed
