"""Values as plain data that can be put in a file and compared later: of tensors what they hold, of other things what they are made of.

What may hold more than can be looked at is `opaque`: two of them are not said to be alike.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import hashlib
import io
import logging
import re
import sys
import threading
import types
import weakref
from collections.abc import Container, Iterable, Iterator, Mapping, MappingView
from typing import Any

import torch

_DEEPEST = 8
_MOST_ITEMS = 10_000
_MOST_OBJECTS = 20_000
_LARGEST = 1 << 22
"""Elements of a tensor that are kept; of a larger one every second, third, ... element is."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_WITHOUT_DATA = (
    *(types.ModuleType, types.BuiltinFunctionType, types.CodeType, property, logging.Logger, logging.Handler, io.IOBase, weakref.ref),
    *(threading.Thread, threading.Condition, threading.Event, type(threading.Lock()), type(threading.RLock())),
)
"""Types of what a program only works with."""
_SIMPLE_LIBRARIES = frozenset({"argparse", "collections", "dataclasses", "enum", "fractions", "functools", "pathlib", "types", "typing"})
"""Modules of the standard library whose objects hold what a program put into them."""

Plain = list[Any]
"""`[kind, type's name, ...]`, nested: only lists, dictionaries, strings, numbers and tensors, which a file can hold without code."""


def snapshot(value: object, whole: bool = True, left_out: Container[int] = ()) -> Plain:
    """What a value is now. Later changes of it do not show. Objects whose ids are `left_out` are not looked into.

    Only a value of a size within limits is seen whole; without `whole` what is beyond them counts as alike.
    """
    return Snapshot(whole, left_out).of(value)


def is_plain_object(value: object) -> bool:
    """Whether something is an object that a program keeps data in: no code, no module, nothing of torch's own or the interpreter's."""
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    if isinstance(value, (torch.nn.Module, type, types.FunctionType, types.MethodType, *_WITHOUT_DATA)) or root in ("torch", "builtins"):
        return False
    known: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
    return (root not in known or root in _SIMPLE_LIBRARIES or root == "__main__") and _attributes(value) is not None


def without_addresses(text: str) -> str:
    """A text without the memory addresses that are other ones in each run."""
    return _ADDRESS.sub("0x…", text)


class Snapshot:
    """Values as they are now, with the objects that were met on the way to where it has got, so that a cycle ends."""

    def __init__(self, whole: bool = True, left_out: Container[int] = ()) -> None:
        self._open: set[int] = set()
        self._left = _MOST_OBJECTS
        self._beyond = "opaque" if whole else "object"
        self._left_out = left_out

    def of(self, value: object, depth: int = 0) -> Plain:
        """What one value is."""
        kind = type(value)
        if isinstance(value, torch.Tensor):
            return _tensor(value)
        if isinstance(value, (enum.Enum, torch.dtype, torch.device, torch.Size)):
            return ["value", kind.__qualname__, str(value)]
        if isinstance(value, _PLAIN):
            return ["value", kind.__qualname__, _short(value)]
        if kind.__module__ == "numpy":
            return _array(value)
        self._left -= 1
        if id(value) in self._open or id(value) in self._left_out or isinstance(value, _WITHOUT_DATA):
            return ["object", kind.__qualname__]
        if depth >= _DEEPEST or self._left < 0:
            return [self._beyond, kind.__qualname__]
        self._open.add(id(value))
        try:
            return self._parts(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _parts(self, value: object, depth: int) -> Plain:
        name = type(value).__qualname__
        if isinstance(value, type):
            return ["value", name, value.__qualname__]
        if isinstance(value, torch.nn.Module):
            return self.of_module(value, depth)
        if isinstance(value, Mapping):
            return self._listed(name, ((_key(key), item) for key, item in value.items()), len(value), depth)
        if isinstance(value, (set, frozenset)):
            items = sorted((self.of(item, depth) for item in list(value)[:_MOST_ITEMS]), key=_order)
            return ["parts", name, len(value), [[str(index), item] for index, item in enumerate(items)], *self._cut(len(value))]
        if isinstance(value, (list, tuple, collections.deque, MappingView)):
            fields = getattr(value, "_fields", None) or range(len(value))
            members: Iterable[object] = value  # type: ignore[assignment]
            return self._listed(name, ((str(key), item) for key, item in zip(fields, members)), len(value), depth)
        if isinstance(value, torch.Generator):
            return ["value", name, hashlib.sha1(bytes(value.get_state().tolist())).hexdigest()]
        attributes = _attributes(value)
        if attributes is None:
            text = without_addresses(repr(value))
            return ["opaque", name] if "0x…" in text else ["value", name, _short(text)]
        return self._listed(name, iter(attributes.items()), len(attributes), depth)

    def of_module(self, module: torch.nn.Module, depth: int = 0) -> Plain:
        """What a module and its modules hold beside parameters: buffers, plain attributes, and each object that keeps data once."""
        parts: list[list[Any]] = []
        met: set[int] = set()
        for prefix, part in list(module.named_modules())[:_MOST_ITEMS]:
            held = {key: value for key, value in vars(part).items() if not key.startswith("_")}
            for key, value in {**part._buffers, **held}.items():
                if is_data(value) or (is_plain_object(value) and id(value) not in met):
                    met.add(id(value))
                    parts.append([f"{prefix}.{key}".lstrip("."), self.of(value, depth)])
        return ["parts", type(module).__qualname__, len(parts), parts]

    def _listed(self, name: str, items: Iterator[tuple[str, object]], count: int, depth: int) -> Plain:
        kept = [[key, self.of(item, depth)] for _, (key, item) in zip(range(_MOST_ITEMS), items)]
        return ["parts", name, count, kept, *self._cut(count)]

    def _cut(self, count: int) -> list[str]:
        """What is said of parts that are not all there."""
        return [self._beyond] if count > _MOST_ITEMS else []


def is_data(value: object) -> bool:
    """Whether a variable holds data, and not code or a whole model."""
    return isinstance(value, (torch.Tensor, bool, int, float, complex, str, list, tuple, dict, set, collections.deque, type(None))) or (
        type(value).__module__ == "numpy" and hasattr(value, "ndim")
    )


def _attributes(value: Any) -> dict[str, Any] | None:
    """What an object is made of; None where that cannot be said."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, functools.partial):
        return {"function": value.func, "arguments": value.args, "keywords": value.keywords}
    if isinstance(value, types.MethodType):
        return {"function": value.__func__, "object": value.__self__}
    if isinstance(value, types.FunctionType):
        if hasattr(value, "_torchdynamo_orig_callable"):  # made by `torch.compile`, which keeps its own settings in it
            return {}
        return {name: cell.cell_contents for name, cell in _cells(value) if is_data(cell.cell_contents)}
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    held = getattr(value, "__dict__", None)
    if isinstance(value, BaseException):
        slots.append("args")
    if held is None and not slots:
        return None
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **(held or {})}


def _cells(function: types.FunctionType) -> Iterator[tuple[str, types.CellType]]:
    """The variables of functions around it that a function has got hold of, those that are bound."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            cell.cell_contents  # noqa: B018
        except ValueError:
            continue
        yield name, cell


def _slots(kind: type) -> list[str]:
    """The attributes that a class has room for itself."""
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    private = f"_{kind.__name__.lstrip('_')}"
    return [
        f"{private}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
        if name not in ("__dict__", "__weakref__")
    ]


def _order(value: Plain) -> str:
    """Where a member of a set comes: by what it is, as a set itself has no order that would be the same in another process."""
    if value[0] != "tensor":
        return repr(value)
    held = value[-1]
    return f"{value[:-1]} {float(held.double().sum()):.6g}" if held is not None and not held.is_complex() else str(value[:-1])


def _short(value: Any) -> Any:
    if isinstance(value, bytes):
        return _with_digest(value.hex())
    if isinstance(value, str):
        return _with_digest(without_addresses(value))
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value) if -(2**62) < value < 2**62 else _with_digest(hex(value))
    return float(value) if isinstance(value, float) else complex(value)


def _with_digest(text: str) -> str:
    """A text; of a long one the beginning, and what tells the rest from another."""
    return text if len(text) <= 10000 else f"{text[:10000]} {hashlib.sha1(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _key(key: object) -> str:
    return without_addresses(repr(key))[:200]


def _array(value: Any) -> Plain:
    try:
        return ["array", *_tensor(torch.from_numpy(value))[1:]] if value.ndim else ["value", type(value).__qualname__, value.item()]
    except Exception:
        return ["value", type(value).__qualname__, without_addresses(repr(value))[:10000]]


def _tensor(value: torch.Tensor) -> Plain:
    about = [str(value.dtype), value.device.type, bool(value.requires_grad), str(value.layout)]
    try:
        shape: list[int] = [int(size) for size in value.shape]
    except Exception:  # a nested tensor has no shape
        shape = [-1]
    return ["tensor", type(value).__qualname__, *about, shape, _held(value)]


def _held(value: torch.Tensor) -> torch.Tensor | None:
    """What a tensor holds, on the CPU and in memory of its own; None where that cannot be had (`meta`, inside a transform)."""
    try:
        with torch.no_grad():
            data = value.detach()
            if data.is_nested:
                data = torch.cat([part.reshape(-1) for part in data.unbind()])
            if type(data) is not torch.Tensor:
                data = data.as_subclass(torch.Tensor)
            if data.is_quantized:
                data = data.dequantize()
            if data.layout is not torch.strided:
                data = data.to_dense()
            data = data.cpu() if data.device.type != "meta" else data
            flat = data.reshape(-1)
            if flat.numel() > _LARGEST:
                flat = flat[:: -(-flat.numel() // _LARGEST)]
            copy = flat.clone()
        return copy if copy.device.type == "cpu" and type(copy) is torch.Tensor else None
    except Exception:
        return None
