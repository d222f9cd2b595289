"""Whether two snapshots are of the same value: NaN is like NaN, floating point as close as its type can be expected to come."""

from __future__ import annotations

import math
from typing import Any

import torch

from .snapshots import Plain

_TOLERANCE = {
    "torch.float16": (1e-3, 1e-5), "torch.bfloat16": (1.6e-2, 1e-5), "torch.float32": (1.3e-6, 1e-5), "torch.float64": (1e-7, 1e-7),
    "torch.complex32": (1e-3, 1e-5), "torch.complex64": (1.3e-6, 1e-5), "torch.complex128": (1e-7, 1e-7),
}  # fmt: skip
"""Relative and absolute, by dtype: what `torch.testing` takes for close."""
_COARSE = (0.1, 1e-2)
"""For floats of one byte."""
_WHOLE = frozenset({"int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
"""Types of whole numbers, Python's and NumPy's: who made an equal number does not matter."""
FLAG = "gradients"
"""What a tensor is said to require or not, where only that is another."""


def difference(before: Plain, after: Plain, name: str) -> str:
    """How two snapshots of what is called `name` differ, in words; empty where they are alike."""
    if before[0] == after[0] == "value" and before[1] in _WHOLE and after[1] in _WHOLE and before[2] == after[2]:
        return ""
    if before[0] != after[0] or before[1] != after[1]:
        return f"{name} is {_named(after)} and was {_named(before)}"
    if before[0] in ("tensor", "array"):
        return _tensors(before[2:], after[2:], name)
    if before[0] == "value":
        return "" if _alike(before[2], after[2]) else f"{name} is {_shown(after[2])} and was {_shown(before[2])}"
    return _parts(before, after, name) if before[0] == "parts" else ""


def unseen(value: Plain, name: str) -> str:
    """What of a value called `name` could not be looked at, so that another may be like it only as far as is known; empty where all was."""
    if value[0] == "opaque":
        return f"{name} of type {value[1]}"
    if value[0] in ("tensor", "array"):
        return name if value[-1] is None and value[3] != "meta" else ""
    if value[0] != "parts":
        return ""
    parts = (unseen(part, f"{name}[{key}]") for key, part in value[3])
    return next((found for found in parts if found), "") or (f"the end of {name}" if value[4:] == ["opaque"] else "")


def _parts(before: Plain, after: Plain, name: str) -> str:
    if before[2] != after[2]:
        return f"{name} has {after[2]} parts and had {before[2]}"
    for (key, one), (other_key, other) in zip(before[3], after[3]):
        if key != other_key:
            return f"{name} has {other_key} in the place of {key}"
        found = difference(one, other, f"{name}[{key}]")
        if found:
            return found
    return ""


def _tensors(before: list[Any], after: list[Any], name: str) -> str:
    for index, word in ((0, "dtype"), (1, "device"), (3, "layout"), (4, "shape")):
        if before[index] != after[index]:
            return f"{name} has the {word} {after[index]} and had {before[index]}"
    if not _close(before[5], after[5], before[0]):
        return f"{name} holds other values" + _how_far(before[5], after[5])
    return (
        f"{name} {'requires' if after[2] else 'does not require'} {FLAG} and did{' not' if after[2] else ''} before"
        if before[2] != after[2]
        else ""
    )


def _close(before: torch.Tensor | None, after: torch.Tensor | None, dtype: str) -> bool:
    if before is None or after is None:
        return before is after
    if before.shape != after.shape:
        return False
    if not (before.dtype.is_floating_point or before.dtype.is_complex):
        return bool(torch.equal(before, after))
    relative, absolute = _TOLERANCE.get(dtype, _COARSE)
    if dtype not in _TOLERANCE:
        before, after = before.float(), after.float()
    return bool(torch.allclose(before, after, rtol=relative, atol=absolute, equal_nan=True))


def _how_far(before: torch.Tensor | None, after: torch.Tensor | None) -> str:
    try:
        assert before is not None
        assert after is not None
        distance = (before.double() - after.double()).abs()
        return f" (by up to {float(distance[~distance.isnan()].max()):.3g})"
    except Exception:
        return ""


def _alike(before: Any, after: Any) -> bool:
    if isinstance(before, float) and isinstance(after, float):
        return math.isclose(before, after, rel_tol=1.3e-6, abs_tol=1e-6) or (math.isnan(before) and math.isnan(after))
    return bool(before == after)


def _named(value: Plain) -> str:
    return f"a tensor of {value[2]}" if value[0] == "tensor" else f"of type {value[1]}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
