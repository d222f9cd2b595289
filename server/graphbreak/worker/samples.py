"""Values as JSON that says how to make such a value again: shapes and types, never a tensor's data. `rebuilding` is the way back.

`null`, switches, numbers and short texts stand for themselves, a list for a list; everything else is an object whose first key says what
it is. What cannot be made again is `{"why": "..."}`.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import os
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .protocol_ranges import MOST_APART, said

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "bool": torch.bool, "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_SECRET = re.compile(r"token|secret|passw|api_?key|credential|private", re.IGNORECASE)
_LONGEST_TEXT = 80
_MOST_ITEMS = 200
_DEEPEST = 8
_ENOUGH = 16
"""Of so many whole numbers one can say that the greatest lies apart from the rest."""
_MOST_NUMBERS = 2**18
"""So many whole numbers are looked through for what lies apart; of more only each so-and-so-manyth, and the least and the greatest."""


class Samples:
    """Writes values down. `root` is the folder that the project's own files are named from; `made` knows how an object was made."""

    def __init__(self, root: str, made: Callable[[Any], dict[str, Any] | None] = lambda value: None) -> None:
        self._root = os.path.realpath(root)
        self._made = made

    def of(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """The sample of a value; `name` is that of the parameter or field that holds it."""
        if value is None or type(value) in (bool, int):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is str:
            return _text(value, name)
        if isinstance(value, torch.Tensor):
            return _tensor(value, self)
        if depth > _DEEPEST:
            return {"why": "it is nested too deeply"}
        if isinstance(value, torch.nn.Module):
            return self.module(value)
        return self._container(value, depth + 1)

    def _container(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in (list, tuple, set, frozenset, torch.Size) and len(value) <= _MOST_ITEMS:
            items = [self.of(item, "", depth) for item in (sorted(value, key=repr) if kind in (set, frozenset) else value)]
            return items if kind is list else {"tuple" if kind is torch.Size else kind.__name__: items}
        if kind is dict and len(value) <= _MOST_ITEMS:
            return self._mapping(value, depth)
        if isinstance(value, torch.dtype):
            return {"name": f"torch:{str(value).partition('.')[2]}"}
        if isinstance(value, torch.device):
            return {"device": value.type}
        if isinstance(value, (slice, range)):
            return {kind.__name__: [value.start, value.stop, value.step]}
        if isinstance(value, enum.Enum):
            return self._named(kind, value.name)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self._named(value)
        return self._object(value, depth)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        if all(isinstance(key, str) for key in value):
            return {"dict": {key: self.of(item, key, depth) for key, item in value.items()}}
        return {"pairs": [[self.of(key, "", depth), self.of(item, str(key), depth)] for key, item in value.items()]}

    def _object(self, value: Any, depth: int) -> Any:
        """An object that is made by its class: from its fields, its settings, its items, or as it was made before."""
        kind = type(value)
        made = self._made(value)
        if made is not None:
            return made
        named = self._named(kind)
        if "why" in named:
            return named
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return self._make(named, {name: getattr(value, name) for name in kind._fields}, depth)
        if callable(getattr(value, "to_diff_dict", None)):  # a configuration of transformers
            return self._make(named, _without_versions(value.to_diff_dict()), depth)
        if dataclasses.is_dataclass(value):
            return self._make(named, {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}, depth)
        if isinstance(value, Mapping):
            return {"make": named["name"], "args": [self._mapping(dict(value), depth)]}
        if kind is types.SimpleNamespace or kind.__module__ == "argparse":
            return self._make(named, vars(value), depth)
        if "::" in named["name"] and hasattr(value, "__dict__"):
            return {"new": named["name"], "state": {key: self.of(item, key, depth) for key, item in vars(value).items()}}
        return {"why": f"a {kind.__qualname__} cannot be written down"}

    def _make(self, named: dict[str, Any], fields: Mapping[str, Any], depth: int) -> dict[str, Any]:
        return {"make": named["name"], "kwargs": {name: self.of(item, name, depth) for name, item in fields.items()}}

    def module(self, value: torch.nn.Module) -> dict[str, Any]:
        """How to make a module again, and the state it is in."""
        made = self._made(value) or {"why": f"it was not seen how the {type(value).__qualname__} was made"}
        if "why" in made:
            return made
        state: dict[str, Any] = {} if value.training else {"train": False}
        parameters = list(value.parameters())
        kinds = {parameter.dtype for parameter in parameters if parameter.dtype.is_floating_point}
        if len(kinds) == 1 and kinds != {torch.float32}:
            state["dtype"] = dtype_name(kinds.pop())
        if parameters and parameters[0].device.type != "cpu":
            state["device"] = parameters[0].device.type
        if parameters and not any(parameter.requires_grad for parameter in parameters):
            state["frozen"] = True
        return {**made, **state}

    def _named(self, value: Any, member: str = "") -> dict[str, Any]:
        """The name that a class, a function or a member of an enumeration is found by: `file.py::name`, or `module:name` in a library."""
        name = value.__qualname__
        if "<" in name:
            return {"why": f"{name} is defined inside a function"}
        name = f"{name}.{member}" if member else name
        file = self.own_file(getattr(sys.modules.get(value.__module__), "__file__", None))
        if file:
            return {"name": f"{file}::{name}"}
        if value.__module__ == "__main__":
            return {"why": f"{name} is defined by what is no file of the project"}
        return {"name": f"{value.__module__}:{name}"}

    def reference(self, value: Any) -> str:
        """The name of a class; empty where it has none by which it is found."""
        return str(self._named(value).get("name", ""))

    def own_file(self, path: str | None) -> str:
        """The path of a file of the project, from its root, with `/`; empty for any other."""
        real = os.path.realpath(path) if path else ""
        if not real.startswith(self._root + os.sep) or "site-packages" in real or "dist-packages" in real:
            return ""
        return os.path.relpath(real, self._root).replace(os.sep, "/")


def dtype_name(dtype: torch.dtype) -> str:
    """A dtype in short, `f32`; those without a short name as torch has them."""
    return _NAMES.get(dtype, str(dtype).replace("torch.", ""))


def key(value: Any, depth: int = 0) -> Any:
    """What tells apart two values that have different samples, quick to compute."""
    if isinstance(value, torch.Tensor):
        strides = value.stride() if value.layout is torch.strided and not value.is_nested else ()
        return value.shape if not value.is_nested else (), strides, value.dtype, value.device, value.requires_grad, type(value)
    if isinstance(value, (list, tuple)) and depth < _DEEPEST:
        return type(value), *(key(item, depth + 1) for item in value[:_MOST_ITEMS])
    if isinstance(value, dict) and depth < _DEEPEST:
        return type(value), *((str(name), key(item, depth + 1)) for name, item in list(value.items())[:_MOST_ITEMS])
    if value is None or isinstance(value, (bool, int, float, str)):
        return type(value), value
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and depth < _DEEPEST:
        return type(value), key(vars(value), depth + 1) if hasattr(value, "__dict__") else id(value)
    return type(value), id(value)


def range_of(value: torch.Tensor) -> dict[str, Any]:
    """The least and the greatest value of integers, and the few that lie apart; of floats only whether all are between 0 and 1, or none
    below 0. See `protocol_ranges`."""
    if value.numel() == 0 or value.is_complex() or value.device.type == "meta":
        return {}
    try:
        with torch.no_grad():
            low, high = (each.item() for each in torch.aminmax(value.detach()))
            if not value.dtype.is_floating_point:
                return _whole(value.detach(), int(low), int(high))
    except (RuntimeError, NotImplementedError):
        return {}
    return {"range": [0, 1] if high <= 1 else [0, None]} if low >= 0 else {}


def _whole(value: torch.Tensor, low: int, high: int) -> dict[str, Any]:
    """What is said of whole numbers. Each that lies apart costs one pass over them, and there are few of those."""
    if value.numel() > _MOST_NUMBERS:
        some = value.reshape(-1)[:: value.numel() // _MOST_NUMBERS]
        value = torch.cat([some, torch.tensor([low, high], dtype=value.dtype, device=value.device)])
    least = low
    apart: list[int] = []
    while least < 0:
        if len(apart) == MOST_APART:
            return said([low, high], [])
        apart.append(least)
        if least == high:
            return said([], apart)
        least = int(torch.where(value > least, value, high).amin())
    if value.numel() >= _ENOUGH and high - least > 1:
        greatest = int(torch.where(value < high, value, least).amax())
        if high - greatest > greatest - least + 1:  # the gap is wider than all that lies below it
            return said([least, greatest], [*apart, high])
    return said([least, high], apart)


def _tensor(value: torch.Tensor, samples: Samples) -> dict[str, Any]:
    if value.layout is not torch.strided or value.is_nested or value.is_quantized:
        return {"why": f"a tensor with the layout {'nested' if value.is_nested else value.layout} cannot be made again"}
    found: dict[str, Any] = {"tensor": f"{dtype_name(value.dtype)}[{', '.join(map(str, value.shape))}]"}
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        name = samples.reference(type(value))
        if not name or type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            return {"why": f"a tensor of the class {type(value).__qualname__} cannot be made again"}
        found["class"] = name
    if value.stride() != torch.empty(value.shape, device="meta").stride():
        found["strides"] = list(value.stride())
    if value.device.type != "cpu":
        found["device"] = value.device.type
    if value.requires_grad:
        found["grad"] = True
    return {**found, **range_of(value)} if type(value) in (torch.Tensor, torch.nn.Parameter) else found


def _text(value: str, name: str) -> Any:
    if _SECRET.search(name):
        return {"why": "it may be a secret"}
    return value if len(value) <= _LONGEST_TEXT else {"why": "it is a long text"}


def _without_versions(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in ("transformers_version", "_name_or_path", "model_type")}
