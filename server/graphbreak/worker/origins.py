"""How the modules of a program were made: noted while it makes them, and told only of those that are compiled."""

from __future__ import annotations

import inspect
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

from .patching import Undo, patch
from .samples import Samples

_PLAIN = (int, float, str, bool, type(None), torch.dtype, torch.device)

_MODULE_FILE = torch.nn.Module.__init__.__code__.co_filename
_INIT = """
def make(real, note, is_compiling):
    def __init__(self, *args, **kwargs):
        if not is_compiling():
            note(self)
        real(self, *args, **kwargs)
    return __init__
"""


class Origins:
    """The arguments that each module's class was called with, as samples, for as long as the module lives."""

    def __init__(self, root: str) -> None:
        self.samples = Samples(root, self.of)
        self._plain = Samples(root)
        self._made: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
        self._settings: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._own: dict[type, bool] = {}
        self.note: Callable[[Any], None] = self._note

    def watch(self) -> Undo:
        """Hear of each module that is made from now on. Where Dynamo traces the making of one, it sees what it would see without us."""
        return patch(torch.nn.Module, "__init__", self._noting)

    def _noting(self, real: Any) -> Any:
        scope: dict[str, Any] = {}
        exec(compile(_INIT, _MODULE_FILE, "exec"), scope)  # the file is what Dynamo tells by whether to look inside
        return scope["make"](real, lambda module: self.note(module), torch.compiler.is_compiling)

    def of(self, value: Any) -> dict[str, Any] | None:
        """How an object was made, or None where that was not seen."""
        if not isinstance(value, torch.nn.Module):
            return self._setting(value)
        made = self._made.get(value)
        return made or self._global(value)

    def _setting(self, value: Any) -> dict[str, Any] | None:
        """A configuration of transformers is written down once, for each of its layers is made from it."""
        if not callable(getattr(value, "to_diff_dict", None)):
            return None
        try:
            if value not in self._settings:
                self._settings[value] = self._plain.of(value)
            found: dict[str, Any] = self._settings[value]
            return found
        except TypeError:  # it cannot be a key
            return None

    def _global(self, value: Any) -> dict[str, Any] | None:
        """The name of a variable of one of the project's modules that holds an object."""
        for name, module in list(sys.modules.items()):
            file = self.samples.own_file(getattr(module, "__file__", None)) if name != "__main__" else ""
            if file:
                for key, held in list(vars(module).items()):
                    if held is value:
                        return {"name": f"{file}::{key}"}
        return None

    def _note(self, module: Any) -> None:
        kind = type(module)
        own = self._own.get(kind)
        if own is None:
            own = self._own[kind] = bool(self.samples.own_file(getattr(sys.modules.get(kind.__module__), "__file__", None)))
        frame = _outermost(module, sys._getframe(1))
        try:
            args, kwargs = _arguments(frame) if frame is not None else ([], {})
            if own or all(isinstance(value, _PLAIN) for value in (*args, *kwargs.values())):
                self._made[module] = self._sample(kind, args, kwargs)
        except Exception as error:  # a fault of ours must not end the program
            self._made[module] = {"why": f"its arguments cannot be written down ({type(error).__name__})"}

    def _sample(self, kind: type, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        name = self.samples.reference(kind)
        if not name:
            return {"why": f"{kind.__qualname__} is defined inside a function"}
        made: dict[str, Any] = {"make": name}
        if args:
            made["args"] = [self.samples.of(value) for value in args]
        if kwargs:
            made["kwargs"] = {key: self.samples.of(value, key) for key, value in kwargs.items()}
        return made


_MOST_BETWEEN = 8
"""How many frames there may be between a constructor and us: our own, and Dynamo's around `Module.__init__` and disabled code."""


def _outermost(module: torch.nn.Module, frame: types.FrameType | None) -> types.FrameType | None:
    """The frame of the constructor that was called for a module, looked for outwards; None where only torch's own was."""
    found, between = None, 0
    while frame is not None and between < _MOST_BETWEEN:
        if _constructs(module, frame):
            found = frame if frame.f_code.co_name == "__init__" else found
        elif found is not None:
            break
        between += found is None
        frame = frame.f_back
    return found


def _constructs(module: torch.nn.Module, frame: types.FrameType) -> bool:
    code = frame.f_code
    if code.co_name not in ("__init__", "__post_init__") or not code.co_argcount or code.co_filename == _MODULE_FILE:
        return False
    return frame.f_locals.get(code.co_varnames[0]) is module


def _arguments(frame: types.FrameType) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a constructor without `self`: those that have names by name, where that can be."""
    code, values = frame.f_code, frame.f_locals
    names = list(code.co_varnames[: code.co_argcount])
    keywords = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    rest = code.co_argcount + code.co_kwonlyargcount
    more: list[Any] = []
    if code.co_flags & inspect.CO_VARARGS:
        more = list(values.get(code.co_varnames[rest], ()))
        rest += 1
    named = {name: values[name] for name in (*names[1:], *keywords) if name in values}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named.update(values.get(code.co_varnames[rest], {}))
    if not more and not code.co_posonlyargcount > 1:
        return [], named
    return [*(named.pop(name) for name in names[1:]), *more], named
