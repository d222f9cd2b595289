"""Inputs as people write them: `x: f32[8, 16], n: 3`. Shapes and types only, never tensor data."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence

import torch

_SHORT = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8",
    torch.bool: "bool", torch.complex64: "c64", torch.complex128: "c128",
}  # fmt: skip
_MOST_ITEMS = 4
_LONGEST = 300


def describe_call(function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """The arguments of one call by parameter name, in at most 300 characters."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        named = [(name, value) for name, value in bound.arguments.items()]
    except Exception:
        named = [("", value) for value in args] + list(kwargs.items())
    text = ", ".join(f"{name}: {describe(value)}" if name else describe(value) for name, value in named)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def describe(value: object, depth: int = 0) -> str:
    """One value: a tensor by dtype, shape and device; a number or a short string by itself; anything else by its type."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= 20 else "str"
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value)
    if depth < 3 and type(value) in (list, tuple):
        return _items("[%s]" if isinstance(value, list) else "(%s)", [describe(item, depth + 1) for item in _first(value)], len(value))  # type: ignore[arg-type]
    if depth < 3 and type(value) is dict:
        pairs = [f"{key!r}: {describe(item, depth + 1)}" for key, item in _first(list(value.items()))]
        return _items("{%s}", pairs, len(value))
    if isinstance(value, (types.FunctionType, type)):
        return value.__qualname__
    return type(value).__name__


def _tensor(value: torch.Tensor) -> str:
    try:
        shape = ", ".join(str(size) for size in value.shape)
    except RuntimeError:  # a nested tensor has none
        shape = "nested"
    text = f"{_SHORT.get(value.dtype, str(value.dtype).replace('torch.', ''))}[{shape}]"
    if value.layout is not torch.strided:
        text += f" {str(value.layout).replace('torch.', '')}"
    if value.device.type != "cpu":
        text += f" on {value.device}"
    return text + (" with grad" if value.requires_grad and type(value) is torch.Tensor else "")


def _first(values: Sequence[tuple[object, object]]) -> Sequence[tuple[object, object]]:
    return values[:_MOST_ITEMS]


def _items(form: str, shown: list[str], count: int) -> str:
    more = [f"… {count - len(shown)} more"] if count > len(shown) else []
    return form % ", ".join(shown + more)
