"""The ways to change a proposal after a failure: another size, rank, type or shape for what a wrong tensor came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from . import names
from .building import Builder
from .values import Dim, Path, Proposal, Size, Tensor, Text, Value
from .watching import Failure

_LARGEST = 4096


class Changes:
    """Changed copies of one proposal that failed, the most promising first."""

    def __init__(self, proposal: Proposal, failure: Failure, builder: Builder) -> None:
        self.proposal, self.failure, self.builder = proposal, failure, builder

    def sources(self, tensor: torch.Tensor) -> list[tuple[Path, Tensor]]:
        """The tensors of the proposal that a tensor came from; the one that it is itself comes alone."""
        own = self.failure.watch.roots.get(id(tensor))
        paths = [own] if own is not None else sorted(self.failure.watch.origins(tensor))
        return [(path, value) for path in paths if isinstance(value := self.proposal.at(path), Tensor)]

    def is_root(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is an argument itself."""
        return id(tensor) in self.failure.watch.roots

    def dim(self, tensor: torch.Tensor, axis: int) -> Dim:
        """The size of a dimension by its name, where it has one."""
        for _, value in self.sources(tensor):
            if self.is_root(tensor) and -len(value.dims) <= axis < len(value.dims):
                return value.dims[axis]
        size = tensor.shape[axis]
        for _, value in self.sources(tensor):
            for dim in value.dims:
                if isinstance(dim, str) and self.proposal.sizes[dim] == size:
                    return dim
        return size

    def size(self, tensor: torch.Tensor, axis: int, wanted: Dim) -> Iterator[Proposal]:
        """A dimension of a tensor gets another size. What was made by a constructor's numbers is changed by those."""
        number = wanted if isinstance(wanted, int) else self.proposal.sizes[wanted]
        if number <= 0 or axis >= tensor.ndim or axis < -tensor.ndim:
            return
        now = tensor.shape[axis]
        sources = self.sources(tensor)
        if number > _LARGEST:  # no size for an argument, but what a layer gets of an image that is laid out flat may be as large
            for path, value in sources if not self.is_root(tensor) else ():
                yield from self._image(path, value, now, number)
            return
        for path, value in sources:
            if self.is_root(tensor):
                yield from self._axis(path, value, axis % len(value.dims), wanted)
                return
        for path, value in sources:
            for at in reversed(range(len(value.dims))):
                if value.shape(self.proposal.sizes)[at] == now:
                    yield from self._axis(path, value, at, wanted)
        for path, value in sources:
            yield from self._related(path, value, now, number)
        yield from self.number(now, number)

    def _axis(self, path: Path, value: Tensor, axis: int, wanted: Dim) -> Iterator[Proposal]:
        dim = value.dims[axis]
        if dim == wanted:
            return
        number = wanted if isinstance(wanted, int) else self.proposal.sizes[wanted]
        local = self.proposal.put(path, replace(value, dims=(*value.dims[:axis], wanted, *value.dims[axis + 1 :])))
        shared = [self.proposal.sized({dim: number})] if isinstance(dim, str) else []
        together = isinstance(wanted, int) and (value.sure or dim in ("batch", "seq", "rows", "columns", "nodes"))
        yield from [*shared, local] if together else [local, *shared]

    def _related(self, path: Path, value: Tensor, now: int, number: int) -> Iterator[Proposal]:
        """The size is not one of the source's own: it may be a multiple or a part of one, or come of the height and width of an image."""
        shape = value.shape(self.proposal.sizes)
        yield from self._image(path, value, now, number)
        for axis in reversed(range(len(shape))):
            if shape[axis] and (shape[axis] * number) % now == 0 and shape[axis] * number // now != shape[axis]:
                yield from self._axis(path, value, axis, shape[axis] * number // now)
            if 0 < shape[axis] + number - now != shape[axis]:
                yield from self._axis(path, value, axis, shape[axis] + number - now)

    def _image(self, path: Path, value: Tensor, now: int, number: int) -> Iterator[Proposal]:
        """Other heights and widths of an image."""
        if len(value.dims) == 4:
            for side in _sides(value.shape(self.proposal.sizes)[-1], now, number):
                yield self.proposal.put(path, replace(value, dims=(*value.dims[:2], side, side)))

    def number(self, now: int, wanted: int) -> Iterator[Proposal]:
        """A whole number among the arguments that is `now` becomes `wanted`."""
        for _, value in self.proposal.walk():
            if isinstance(value, Size) and self.proposal.sizes[value.name] == now:
                yield self.proposal.sized({value.name: wanted})

    def anything(self, now: int, wanted: int) -> Iterator[Proposal]:
        """Whatever is `now` large becomes `wanted`: numbers, then dimensions."""
        if now == wanted or not 0 < wanted <= _LARGEST:
            return
        yield from self.number(now, wanted)
        for path, value in self.proposal.tensors():
            for axis, size in reversed(list(enumerate(value.shape(self.proposal.sizes)))):
                if size == now:
                    yield from self._axis(path, value, axis, wanted)

    def rank(self, tensor: torch.Tensor, rank: int) -> Iterator[Proposal]:
        """A tensor gets as many dimensions."""
        for path, value in self.sources(tensor):
            new = len(value.dims) + rank - tensor.ndim
            if 0 <= new <= 6 and new != len(value.dims):
                yield self.proposal.put(path, replace(value, dims=_reshaped(value, new)))

    def kind(self, tensor: torch.Tensor, kind: str, high: Dim = 2) -> Iterator[Proposal]:
        """A tensor gets values of another type, whole ones below `high`."""
        for path, value in self.sources(tensor):
            yield self.proposal.put(path, replace(value, kind=kind, high=high))

    def shape(self, tensor: torch.Tensor, other: torch.Tensor, count: int | None = None) -> Iterator[Proposal]:
        """An argument gets the shape of another tensor, or its first `count` dimensions."""
        if not self.is_root(tensor):
            return
        dims = tuple(self.dim(other, axis) for axis in range(other.ndim if count is None else count))
        for path, value in self.sources(tensor):
            if value.dims != dims:
                yield self.proposal.put(path, replace(value, dims=dims))

    def value(self, path: Path, *values: Value) -> Iterator[Proposal]:
        """A part is replaced, by each of the values in turn."""
        old = self.proposal.at(path)
        yield from (self.proposal.put(path, value) for value in values if value != old)

    def scalar(self, tensor: torch.Tensor) -> Iterator[Proposal]:
        """What a tensor came from is to be a single number."""
        for path, value in self.sources(tensor):
            name = path[-1]
            yield from self.value(path, replace(value, dims=()), names.whole(name), Text(names.number(name)))


def _reshaped(value: Tensor, rank: int) -> tuple[Dim, ...]:
    """The usual shape of a rank, with the sizes that are known to be right where they stood: the first, and the last of a sequence."""
    usual = names.shape_of_rank(rank)
    if rank <= 3 and len(value.dims) in (2, 3) and rank >= 2:
        return (*usual[:-1], value.dims[-1])
    return usual


def _sides(side: int, now: int, number: int) -> list[int]:
    """Heights and widths that may give the wanted number of features, where `side` gives `now`."""
    scaled = round(side * (number / now) ** 0.5)
    return [other for other in dict.fromkeys((scaled, 28, 32, 64, 224, 96, 84, 16, 48, 128, 8)) if other != side and other > 0]
