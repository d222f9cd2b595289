"""Values as plain data that can be put in a file and compared later: of tensors what they hold, of other things what they are made of."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Mapping
from typing import Any

import torch

_DEEPEST = 8
_MOST_ITEMS = 2000
_LARGEST = 1 << 22
"""Elements of a tensor that are kept; of a larger one every second, third, ... element is."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_PLAIN = (bool, int, float, complex, str, bytes, type(None))

Plain = list[Any]
"""`[kind, type's name, ...]`, nested: only lists, dictionaries, strings, numbers and tensors, which a file can hold without code."""


def snapshot(value: object) -> Plain:
    """What a value is now. Later changes of it do not show."""
    return _Snapshot().of(value, 0)


def without_addresses(text: str) -> str:
    """A text without the memory addresses that are other ones in each run."""
    return _ADDRESS.sub("0x…", text)


class _Snapshot:
    """One value, with the objects that were met on the way to where it has got, so that a cycle ends."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._left = _MOST_ITEMS * 10

    def of(self, value: object, depth: int) -> Plain:
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
        if depth >= _DEEPEST or id(value) in self._open or self._left < 0:
            return ["object", kind.__qualname__]
        self._open.add(id(value))
        try:
            return self._parts(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _parts(self, value: object, depth: int) -> Plain:
        name = type(value).__qualname__
        if isinstance(value, Mapping):
            items = [(_key(key), item) for key, item in list(value.items())[:_MOST_ITEMS]]
            return ["parts", name, len(value), [[key, self.of(item, depth)] for key, item in items]]
        if isinstance(value, (list, tuple)):
            fields = getattr(value, "_fields", None) or range(len(value))
            items = [(str(key), item) for key, item in zip(fields, value[:_MOST_ITEMS])]
            return ["parts", name, len(value), [[key, self.of(item, depth)] for key, item in items]]
        if isinstance(value, (set, frozenset)):
            return ["value", name, sorted(without_addresses(repr(item)) for item in value)[:_MOST_ITEMS]]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            attributes = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
        elif isinstance(value, (torch.nn.Module, type)) or callable(value):
            return ["object", name]
        else:
            attributes = dict(getattr(value, "__dict__", {}))
        return ["parts", name, len(attributes), [[key, self.of(item, depth)] for key, item in list(attributes.items())[:_MOST_ITEMS]]]


def _short(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[:10000].hex()
    if isinstance(value, str):
        return without_addresses(value[:10000])
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value) if -(2**62) < value < 2**62 else hex(value)[:10000]
    return float(value) if isinstance(value, float) else complex(value)


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
