"""What a try on fake tensors leaves behind in the program is taken back: nothing there may have a tensor without values afterwards."""

from __future__ import annotations

import collections
import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from ..patching import Undo

_DEEPEST = 8
_MOST = 50_000
_MISSING = object()
_CACHED = type(functools.lru_cache(lambda: None))
_NAMED = (type, types.FunctionType, _CACHED)
"""What has the name of the module that defines it."""


@contextmanager
def as_it_was(module: types.ModuleType) -> Iterator[None]:
    """Afterwards everything that a module, and those beside it, lead to is as before: names, containers, attributes, gradients, caches."""
    undo = list(_undoing(module))
    try:
        yield
    finally:
        try:
            _take_back(undo)
        except BaseException:  # the time is up: what was taken back already is not changed by doing so again
            _take_back(undo)
            raise


def _take_back(undo: list[Undo]) -> None:
    for one in undo:
        with suppress(Exception):  # an object of the program's own making need not allow it
            one()


def _undoing(module: types.ModuleType) -> Iterator[Undo]:
    """What takes back a change of each thing that can be reached."""
    own = {other.__name__: other for other in list(sys.modules.values()) if _is_beside(other, module)} | {module.__name__: module}
    seen: set[int] = set()
    todo: list[tuple[Any, int]] = [(vars(other), 0) for other in own.values()]
    while todo and len(seen) < _MOST:
        value, depth = todo.pop()
        if id(value) in seen or depth > _DEEPEST:
            continue
        seen.add(id(value))
        if isinstance(value, _NAMED) and value.__module__ not in own:
            continue
        inner: list[Any] = []
        with suppress(Exception):
            keep = next((keep for kind, keep in _KEPT if isinstance(value, kind)), _keep_object)
            yield from list(keep(value, inner))
        todo += [(part, depth + 1) for part in inner if not isinstance(part, (types.ModuleType, str, bytes, int, float, type(None)))]


def _is_beside(other: Any, module: types.ModuleType) -> bool:
    """Whether a module is one of the program's, found from the folder of the one that is looked at."""
    folder = os.path.dirname(getattr(module, "__file__", None) or "")
    file = getattr(other, "__file__", None)
    return bool(folder) and isinstance(file, str) and file.startswith(folder + os.sep) and "-packages" + os.sep not in file


def _keep_dict(value: dict[Any, Any], inner: list[Any]) -> Iterator[Undo]:
    before = dict(value)
    inner += before.values()

    def undo() -> None:
        for key in [key for key in value if key not in before]:
            del value[key]
        for key, item in before.items():
            if value.get(key, _MISSING) is not item:
                value[key] = item

    yield undo


def _keep_items(value: Any, inner: list[Any]) -> Iterator[Undo]:
    before = list(value)
    inner += before

    def undo() -> None:
        if len(value) != len(before) or any(one is not other for one, other in zip(value, before)):
            value.clear()
            getattr(value, "update" if isinstance(value, set) else "extend")(before)

    yield undo


def _look_into(value: Any, inner: list[Any]) -> Iterator[Undo]:
    """It cannot change itself, but what is in it can."""
    inner += value
    return iter(())


def _keep_tensor(value: torch.Tensor, inner: list[Any]) -> Iterator[Undo]:
    before = value.grad if value.is_leaf else None

    def undo() -> None:
        if value.is_leaf and value.grad is not before:
            value.grad = before

    yield undo


def _keep_class(value: type, inner: list[Any]) -> Iterator[Undo]:
    before = {name: item for name, item in vars(value).items() if not name.startswith("__")}
    inner += before.values()

    def undo() -> None:
        now = {name for name in vars(value) if not name.startswith("__")}
        for name in now - before.keys():
            delattr(value, name)
        for name, item in before.items():
            if vars(value).get(name, _MISSING) is not item:
                setattr(value, name, item)

    yield undo


def _keep_object(value: Any, inner: list[Any]) -> Iterator[Undo]:
    """Its attributes; what a function encloses, and what `functools.cache` has of it."""
    if isinstance(attributes := getattr(value, "__dict__", None), dict):
        inner.append(attributes)
    if isinstance(value, types.MethodType):
        inner += [value.__self__, value.__func__]
    if isinstance(value, types.FunctionType):
        for cell in value.__closure__ or ():
            yield _of_cell(cell, inner)
    if isinstance(value, _CACHED):
        yield value.cache_clear


def _of_cell(cell: types.CellType, inner: list[Any]) -> Undo:
    try:
        before = cell.cell_contents
    except ValueError:  # it has nothing in it yet
        return lambda: None
    inner.append(before)
    return lambda: setattr(cell, "cell_contents", before)


_KEPT: tuple[tuple[Any, Callable[[Any, list[Any]], Iterator[Undo]]], ...] = (
    (dict, _keep_dict),
    ((list, set, collections.deque), _keep_items),
    ((tuple, frozenset), _look_into),
    (torch.Tensor, _keep_tensor),
    (type, _keep_class),
)
"""How each kind of thing is kept, and what it leads to; the first that fits counts."""
