"""What an operation that failed needs: a table from the names of operations to the changes that may help."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace

import torch

from . import messages
from .changes import Changes
from .messages import Repair, argument, classes, first, pairs, too_small
from .values import Proposal
from .watching import Operation


def repairs(changes: Changes, operation: Operation) -> Iterator[Proposal]:
    """Changed proposals for a failed operation: by what it said, by its name, or by which of its tensors do not fit together."""
    text = str(operation.error)
    name = operation.name.removeprefix("__r").strip("_")
    yield from messages.repairs(changes, operation)
    known = [repair for pattern, repair in _BY_NAME if re.search(pattern, name)]
    for repair in known:
        yield from repair(changes, operation, text)
    if not known:
        yield from pairs(changes, operation, text)


def _linear(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()
    if len(tensors) > 1 and tensors[0].ndim and tensors[0].shape[-1] != tensors[1].shape[-1]:
        yield from changes.size(tensors[0], -1, int(tensors[1].shape[-1]))
        yield from changes.size(tensors[1], -1, int(tensors[0].shape[-1]))
    elif len(tensors) > 1 and not tensors[0].ndim:
        yield from changes.rank(tensors[0], 2)


_RANKS = {"mm": (2, 2), "addmm": (2, 2), "bmm": (3, 3), "baddbmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "outer": (1, 1), "ger": (1, 1)}


def _matmul(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()[-2:]
    if len(tensors) < 2:
        return
    left, right = tensors
    for tensor, rank in zip(tensors, _RANKS.get(operation.name, ())):
        yield from changes.rank(tensor, rank) if tensor.ndim != rank else ()
    if left.ndim and right.ndim and left.shape[-1] != right.shape[-2 if right.ndim > 1 else -1]:
        axis = -2 if right.ndim > 1 else -1
        yield from changes.size(right, axis, changes.dim(left, -1))
        yield from changes.size(left, -1, changes.dim(right, axis))
    yield from _batches(changes, left, right)


def _batches(changes: Changes, left: torch.Tensor, right: torch.Tensor) -> Iterator[Proposal]:
    for axis in range(3, min(left.ndim, right.ndim) + 1):
        if left.shape[-axis] != right.shape[-axis]:
            yield from changes.size(right, -axis, changes.dim(left, -axis))
            yield from changes.size(left, -axis, changes.dim(right, -axis))


def _assignment(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """`x[index] = value`: the value has to fit what is replaced."""
    target, index, value = operation.args[:3]
    if not isinstance(target, torch.Tensor) or not isinstance(value, torch.Tensor):
        return
    try:
        place = target[index]
    except Exception:
        return
    if value.ndim > place.ndim:
        yield from changes.rank(value, place.ndim)
    for axis in range(1, min(value.ndim, place.ndim) + 1):
        if value.shape[-axis] != place.shape[-axis]:
            yield from changes.size(value, -axis, int(place.shape[-axis]))


def _transposed(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensor = first(operation)
    if tensor is not None and tensor.ndim > 2:
        yield from changes.rank(tensor, 2)


def _convolution(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()
    match = re.search(r"conv(?:_transpose)?(\d)d", operation.name)
    if len(tensors) < 2 or not match:
        return
    image, weight = tensors[0], tensors[1]
    rank = int(match[1]) + 2
    if image.ndim != rank:
        yield from changes.rank(image, rank)
        return
    groups = argument(operation, 6, "groups") or 1
    channels = int(weight.shape[0]) if "transpose" in operation.name else int(weight.shape[1]) * (groups if isinstance(groups, int) else 1)
    if image.shape[1] != channels:
        yield from changes.size(image, 1, channels)
        yield from changes.number(channels, int(image.shape[1]))
    else:
        yield from too_small(changes, operation, text)


def _normalisation(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()
    image = tensors[0] if tensors else None
    if image is None:
        return
    shape = argument(operation, 1, "normalized_shape")
    if operation.name in ("layer_norm", "rms_norm") and isinstance(shape, (tuple, list, torch.Size)):
        if image.ndim < len(shape):
            yield from changes.rank(image, len(shape) + 1)
        for axis, size in enumerate(shape):
            at = axis - len(shape)
            if image.ndim >= -at and image.shape[at] != size:
                yield from changes.size(image, at, int(size))
        return
    if operation.name == "group_norm" and image.ndim > 1 and isinstance(shape, int):
        channels = int(tensors[1].shape[0]) if len(tensors) > 1 else shape * max(int(image.shape[1]) // shape, 1)
        yield from changes.size(image, 1, channels)
        yield from changes.number(int(image.shape[1]), shape * 2)
    elif len(tensors) > 1 and image.ndim > 1:
        yield from changes.size(image, 1, int(tensors[1].shape[0]))
    elif image.ndim < 2:
        yield from changes.rank(image, 2)


def _reshape(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """The number of elements has to come out: the last dimensions are scaled, then the others."""
    tensor = first(operation)
    rest = operation.args[1:]
    target = rest[0] if len(rest) == 1 and isinstance(rest[0], (tuple, list, torch.Size)) else rest or operation.kwargs.get("shape", ())
    if tensor is None or not all(isinstance(size, int) for size in target):
        return
    known = math.prod(size for size in target if size != -1)
    total = tensor.numel()
    if not total:
        return
    if not known:  # a part that is larger than the whole that it is taken of
        for size in target:
            yield from changes.number(size, 2) if size > 2 else ()
        return
    for axis in reversed(range(tensor.ndim)):
        others = total // int(tensor.shape[axis])
        wanted = known // math.gcd(known, others) if -1 in target else known // others if known % others == 0 else 0
        if wanted and wanted != tensor.shape[axis]:
            if -1 in target:
                yield from changes.size(tensor, axis, known)
            multiple = max(1, round(int(tensor.shape[axis]) / wanted)) if -1 in target else 1
            yield from changes.size(tensor, axis, wanted * multiple)
    last = int(tensor.shape[-1]) if tensor.ndim else 0
    for size in target:  # a number of heads, of groups, that does not divide
        if size > 1 and last % size:
            yield from changes.number(size, math.gcd(last, size) if math.gcd(last, size) > 1 else last)


def _permutation(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensor = first(operation)
    rest = operation.args[1:]
    dims = rest[0] if len(rest) == 1 and isinstance(rest[0], (tuple, list)) else rest
    if tensor is not None:
        yield from changes.rank(tensor, len(dims))


def _joining(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()
    axis = argument(operation, 1, "dim") or operation.kwargs.get("axis") or 0
    for one, other in itertools.combinations(tensors, 2):
        if one.ndim != other.ndim:
            yield from changes.rank(other, one.ndim)
            yield from changes.rank(one, other.ndim)
            continue
        for at in range(one.ndim):
            if one.shape[at] != other.shape[at] and (operation.name == "stack" or at != axis % one.ndim):
                yield from changes.size(other, at, changes.dim(one, at))
                yield from changes.size(one, at, changes.dim(other, at))


def _splitting(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensor, sizes = first(operation), argument(operation, 1, "split_size_or_sections") or operation.kwargs.get("split_size")
    axis = argument(operation, 2, "dim") or 0
    if tensor is not None and isinstance(sizes, (list, tuple)) and all(isinstance(size, int) for size in sizes):
        yield from changes.size(tensor, axis, sum(sizes))


def _einsum(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    equation = operation.args[0] if operation.args else ""
    tensors = operation.tensors()
    if not isinstance(equation, str):
        return
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    seen: dict[str, tuple[torch.Tensor, int]] = {}
    for term, tensor in zip(terms, tensors):
        letters = term.replace("...", "")
        if "..." not in term and tensor.ndim != len(letters):
            yield from changes.rank(tensor, len(letters))
            return
        for at, letter in enumerate(letters):
            axis = at if "..." not in term else at - len(letters)
            if letter in seen and seen[letter][0].shape[seen[letter][1]] != tensor.shape[axis]:
                other, where = seen[letter]
                yield from changes.size(tensor, axis, changes.dim(other, where))
                yield from changes.size(other, where, changes.dim(tensor, axis))
            seen.setdefault(letter, (tensor, axis))


def _classification(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """A loss between scores and classes: the classes have the shape of the scores without their second dimension."""
    tensors = operation.tensors()
    if len(tensors) < 2:
        return
    scores, target = tensors[:2]
    if changes.is_root(target) and scores.ndim:
        dims = tuple(changes.dim(scores, axis) for axis in range(scores.ndim) if axis != 1) if scores.ndim > 1 else ()
        for path, value in changes.sources(target):
            yield changes.proposal.put(path, replace(value, dims=dims, kind="long", high=classes(operation, target)))
    yield from changes.kind(target, "long", classes(operation, target))
    if scores.ndim == 1 or (target.ndim and scores.shape[0] != target.shape[0]):
        for axis in range(target.ndim):
            yield from changes.size(target, axis, changes.dim(scores, 0))
        yield from changes.size(scores, 0, changes.dim(target, 0))
    yield from changes.rank(scores, 2) if scores.ndim != 2 else ()


def _index_rank(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    """`gather` and its like: the index has as many dimensions as what it looks up in, and is not larger."""
    tensors = operation.tensors()
    if len(tensors) < 2:
        return
    source, index = tensors[0], tensors[1]
    if operation.name in ("index_select", "index_add", "index_add_", "index_copy", "index_copy_"):
        yield from changes.rank(index, 1)
    elif source.ndim != index.ndim:
        yield from changes.rank(index, source.ndim)
        yield from changes.rank(source, index.ndim)
    for other in tensors[1:]:
        yield from changes.shape(other, source)
        for axis in range(min(other.ndim, source.ndim)):
            if other.shape[axis] != source.shape[axis]:
                yield from changes.size(other, axis, changes.dim(source, axis))
    yield from changes.kind(index, "long", classes(operation, index))


def _attention(changes: Changes, operation: Operation, text: str) -> Iterator[Proposal]:
    tensors = operation.tensors()[:3]
    most = max((tensor.ndim for tensor in tensors), default=0)
    for tensor in tensors:
        for rank in (most, 3, 4):
            yield from changes.rank(tensor, rank) if tensor.ndim < rank else ()
    for tensor in tensors[1:]:
        yield from changes.shape(tensor, tensors[0])
        for axis in range(1, min(tensor.ndim, tensors[0].ndim) + 1):
            if axis != 2 and tensor.shape[-axis] != tensors[0].shape[-axis]:
                yield from changes.size(tensor, -axis, changes.dim(tensors[0], -axis))
    mask = next((tensor for tensor in operation.tensors()[3:]), None)
    if mask is not None and len(tensors) > 1:
        dims = (changes.dim(tensors[0], -2), changes.dim(tensors[1], -2))
        for path, value in changes.sources(mask):
            yield changes.proposal.put(path, replace(value, dims=dims, kind="bool"))


_BY_NAME: tuple[tuple[str, Repair], ...] = (
    (r"^linear$", _linear),
    (r"^setitem$", _assignment),
    (r"^t$", _transposed),
    (r"^(r?matmul|mm|bmm|addmm|baddbmm|mv|dot|outer|ger)$", _matmul),
    (r"^conv", _convolution),
    (r"norm$", _normalisation),
    (r"^(view|reshape|unflatten|expand|_unsafe_view)$", _reshape),
    (r"^(permute|movedim)$", _permutation),
    (r"^(cat|concat|concatenate|stack|hstack|vstack)$", _joining),
    (r"^(split|split_with_sizes|tensor_split)$", _splitting),
    (r"^einsum$", _einsum),
    (r"^(cross_entropy|nll_loss)$", _classification),
    (r"^(gather|scatter\w*|index_\w+|take_along_dim)$", _index_rank),
    (r"scaled_dot_product_attention|multi_head_attention_forward", _attention),
)  # fmt: skip
