"""What the words of a failed operation say about its arguments: a table from patterns to the changes that may help."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from .changes import Changes
from .values import Proposal
from .watching import Operation

Repair = Callable[[Changes, Operation, str], Iterator[Proposal]]
"""Changed proposals for an operation that failed with a text."""


def repairs(changes: Changes, operation: Operation) -> Iterator[Proposal]:
    """Changed proposals for a failed operation, by what it said."""
    text = str(operation.error)
    for pattern, repair in _BY_MESSAGE:
        if re.search(pattern, text):
            yield from repair(changes, operation, text)


def first(operation: Operation) -> torch.Tensor | None:
    """The first tensor that was given to an operation."""
    return next(iter(operation.tensors()), None)


def argument(operation: Operation, index: int, name: str) -> Any:
    """An argument by its place or its name; None where it was not given."""
    return operation.args[index] if len(operation.args) > index else operation.kwargs.get(name)


def _needs_whole_numbers(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()
    if operation.name == "embedding" and len(tensors) > 1:
        yield from changes.kind(tensors[0], "long", tensors[1].shape[0])
        return
    floats = [tensor for tensor in tensors if tensor.is_floating_point() or tensor.dtype == torch.bool]
    for tensor in reversed(floats):
        yield from changes.kind(tensor, "long", classes(operation, tensor))


def classes(operation: Operation, tensor: torch.Tensor) -> int:
    """Below what an index has to stay: the size that it looks up in."""
    name = operation.name
    others = [other for other in operation.tensors() if other is not tensor]
    if name in ("cross_entropy", "nll_loss") and others:
        return int(others[0].shape[1 if others[0].ndim > 1 else 0])
    if name == "one_hot":
        count = argument(operation, 1, "num_classes")
        return count if isinstance(count, int) and count > 0 else 10
    if name.startswith(("gather", "scatter", "index_", "take_along_dim")):
        axis = next((value for value in operation.args[1:2] if isinstance(value, int)), operation.kwargs.get("dim", 0))
        return int(others[0].shape[axis]) if others and others[0].ndim else 2
    return int(others[0].shape[0]) if others and others[0].ndim else 2


def _index_out_of_range(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()
    indices = [tensor for tensor in tensors if tensor.dtype in (torch.int64, torch.int32)]
    for tensor in indices:
        yield from changes.kind(tensor, "long", classes(operation, tensor))
    if operation.name == "embedding":  # positions beyond a table
        for axis in range(indices[0].ndim) if indices else ():
            yield from changes.size(indices[0], axis, max(int(tensors[1].shape[0]) // 2, 1))
        yield from changes.number(int(tensors[-1].shape[0]), 128)


def _needs_flags(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    for tensor in reversed(operation.tensors()):
        if tensor.dtype != torch.bool:
            yield from changes.kind(tensor, "bool")


def _needs_numbers(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    for tensor in operation.tensors():
        if tensor.dtype != torch.float32:
            yield from changes.kind(tensor, "float")


def _needs_a_single_number(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    for tensor in operation.tensors():
        yield from changes.scalar(tensor)


def _needs_gradient(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    for path, value in changes.proposal.tensors():
        if value.kind in ("float", "unit") and not value.grad:
            yield changes.proposal.put(path, replace(value, grad=True))


def _dimension_out_of_range(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """`got 2`: the dimension that was asked for says how many there have to be."""
    tensor = first(operation)
    match = re.search(r"got (-?\d+)", text)
    if tensor is not None and match:
        at = int(match[1])
        yield from changes.rank(tensor, at + 1 if at >= 0 else -at)


def _too_many_indices(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensor = operation.args[0] if operation.args else None
    index = operation.args[1] if len(operation.args) > 1 else ()
    if isinstance(tensor, torch.Tensor):
        items = index if isinstance(index, tuple) else (index,)
        yield from changes.rank(tensor, sum(item is not None and item is not Ellipsis for item in items))


def _index_beyond(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """`index 3 is out of bounds for dimension 0 with size 2`."""
    match = re.search(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)", text)
    tensor = operation.args[0] if operation.args else None
    if match and isinstance(tensor, torch.Tensor):
        at, axis, size = int(match[1]), int(match[2]), int(match[3])
        tensors = [other for other in operation.tensors() if other is not tensor and other.dtype == torch.int64]
        for other in tensors:
            yield from changes.kind(other, "long", size)
        yield from changes.size(tensor, min(axis, tensor.ndim - 1), at + 1 if at >= 0 else -at)
        yield from changes.number(at, max(size - 1, 0))


def _mask_of_another_shape(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensor = operation.args[0]
    for mask in operation.tensors()[1:]:
        if mask.dtype in (torch.bool, torch.uint8):
            yield from changes.shape(mask, tensor, min(mask.ndim, tensor.ndim))
            yield from changes.shape(tensor, mask)


def too_small(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """A kernel, a pool or a padding that is larger than its input."""
    tensor = first(operation)
    if tensor is None:
        return
    for factor in (2, 4, 7):
        sizes = {name: changes.proposal.sizes[name] * factor for name in ("rows", "columns", "seq", "length", "frames")}
        yield changes.proposal.sized(sizes)
    yield from changes.size(tensor, -1, 64)


def _square(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensor = first(operation)
    if tensor is not None:
        yield from changes.size(tensor, -2, changes.dim(tensor, -1)) if tensor.ndim > 1 else changes.rank(tensor, 2)


def _expects_rank(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """`Expected 4D input`, `must be 3-D`: the largest of the ranks that are named is the one with a batch."""
    tensor = first(operation)
    wanted = [int(digit) for digit in re.findall(r"\b(\d) ?-?D\b", re.split(r"\b(?:but )?got\b", text)[0])]
    for rank in sorted(set(wanted), reverse=True):
        yield from changes.rank(tensor, rank) if tensor is not None else ()


def pairs(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """Tensors of one operation that do not fit together: one gets the shape of the other, or single sizes become equal."""
    tensors = operation.tensors()
    if len(tensors) < 2 or not re.search(r"size|shape|must match|broadcast|expand|dimension|same number|inconsistent|target", text):
        return
    for one, other in itertools.combinations(tensors, 2):
        if one.shape == other.shape:
            continue
        for axis in range(1, min(one.ndim, other.ndim) + 1):
            if one.shape[-axis] != other.shape[-axis] and 1 not in (one.shape[-axis], other.shape[-axis]):
                if one.ndim == other.ndim:
                    yield from changes.size(other, -axis, changes.dim(one, -axis))
                    yield from changes.size(one, -axis, changes.dim(other, -axis))
                else:
                    smaller, larger = (one, other) if one.ndim < other.ndim else (other, one)
                    yield from changes.size(smaller, -axis, changes.dim(larger, -axis))
                    yield from changes.size(larger, -axis, changes.dim(smaller, -axis))
        yield from changes.shape(other, one)
        yield from changes.shape(one, other)


_WHOLE = (
    r"scalar types?:? (Long|Int)|must be long|must be (an )?int|tensors used as indices|expected (scalar )?type (torch\.)?(Long|int64)"
    r"|index.*int64|Expected dtype int64|only integer|not implemented for 'Float'|LongTensor|must be of type long|Expected index"
    r"|floating.?point.*index"
)
_REAL = (
    r"not implemented for '(Long|Bool|Int|Byte)|found dtype (Long|Bool)|got: ?'?(Long|Bool)|[Ff]loating.?point|result type"
    r"|Subtraction, the `-`|can't be cast|expected m1 and m2|same dtype|Input dtype must be|but got (Long|Bool|Int)|dtype of input must"
    r"|can only be.*float"
)
_BY_MESSAGE: tuple[tuple[str, Repair], ...] = (
    (_WHOLE, _needs_whole_numbers),
    (r"index out of range|out of bounds|Class values must be|Target \d+ is out", _index_out_of_range),
    (r"index (-?\d+) is out of bounds for dimension", _index_beyond),
    (r"[Bb]ool|masked_fill|~ ?\(operator|bitwise|logical", _needs_flags),
    (_REAL, _needs_numbers),
    (r"[Bb]oolean value of Tensor|converted to Scalar|only one element|only be converted to|item\(\)", _needs_a_single_number),
    (r"does not require grad|requires_grad|not have been used in the graph", _needs_gradient),
    (r"Dimension out of range|dimension specified as|dimensions? .*got (-?\d+)", _dimension_out_of_range),
    (r"too many indices|slice\(\) cannot be applied to a 0-dim|invalid index of a 0-dim", _too_many_indices),
    (r"shape of the mask|mask .* at index", _mask_of_another_shape),
    (r"[Kk]ernel size|[Oo]utput size is too small|too small|[Pp]adding size should be less|non-positive|should be at least", too_small),
    (r"square|must be batches", _square),
    (r"\dD\b|\d-D|\d-dim|dimensional", _expects_rank),
)
