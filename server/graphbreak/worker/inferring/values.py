"""Values that an example call is made of: trees that are written out as Python, and changed part by part while a call is looked for.

Sizes have names, so that what belongs together changes together: the batch of all tensors, the width of a layer and of its input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Union

from .sizes import Sizes

Dim = Union[str, int]
"""A size by its name, or a fixed one."""
_LITERAL = re.compile(r"-?[\d.]+(e-?\d+)?|True|False|None|(['\"]).*\2")
Path = tuple[str, ...]
"""Where a part stands in a tree: the keys that lead to it."""
_KINDS = {"float": "", "long": "int64", "bool": "bool", "uint8": "uint8", "double": "float64", "half": "float16", "bfloat16": "bfloat16"}


@dataclass(frozen=True)
class Value:
    """Something to pass."""

    def render(self, sizes: Mapping[str, int]) -> str:
        """The expression that makes it."""
        raise NotImplementedError

    def parts(self) -> Iterator[tuple[str, Value]]:
        """Its direct parts, each with its key."""
        return iter(())

    def with_part(self, key: str, value: Value) -> Value:
        """The same with another part."""
        raise KeyError(key)


@dataclass(frozen=True)
class Tensor(Value):
    """A tensor with values at random: `kind` is `float`, `long`, `bool`, `unit` (between 0 and 1) or another dtype.

    Whole numbers are below `high`. `sure` says that the source tells its rank; `grad` that it is to require a gradient.
    """

    dims: tuple[Dim, ...]
    kind: str = "float"
    high: Dim = 2
    sure: bool = False
    grad: bool = False

    def render(self, sizes: Mapping[str, int]) -> str:
        """The expression that makes it."""
        shape = self.shape(sizes)
        text = ", ".join(map(str, shape)) if shape else "()"
        whole = f"({text}{',' if len(shape) == 1 else ''})" if shape else "()"
        if self.kind in ("long", "uint8"):
            dtype = ", dtype=torch.uint8" if self.kind == "uint8" else ""
            return f"torch.randint({max(size_of(self.high, sizes), 1)}, {whole}{dtype})"
        if self.kind == "full":
            return f"torch.full({whole}, {size_of(self.high, sizes)})"
        if self.kind == "bool":
            return f"torch.rand({text}) > 0.3"
        if self.kind == "complex":
            return f"torch.randn({text}, dtype=torch.complex64)"
        dtype = f", dtype=torch.{_KINDS[self.kind]}" if _KINDS.get(self.kind) else ""
        return f"torch.{'rand' if self.kind == 'unit' else 'randn'}({text}{dtype}{', requires_grad=True' if self.grad else ''})"

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape in numbers."""
        return tuple(size_of(dim, sizes) for dim in self.dims)


@dataclass(frozen=True)
class Size(Value):
    """A whole number that is the size of something; `factor` tells one that is a multiple of it."""

    name: str

    def render(self, sizes: Mapping[str, int]) -> str:
        """The expression that makes it."""
        return str(sizes[self.name])


@dataclass(frozen=True)
class Text(Value):
    """An expression that is what it is: a number, a name, a lambda."""

    text: str

    def render(self, sizes: Mapping[str, int]) -> str:
        """The expression that makes it."""
        return self.text


@dataclass(frozen=True)
class Group(Value):
    """A list, a tuple or a set."""

    items: tuple[Value, ...]
    brackets: str = "[]"

    def render(self, sizes: Mapping[str, int]) -> str:
        """The expression that makes it."""
        inner = ", ".join(item.render(sizes) for item in self.items)
        last = "," if self.brackets == "()" and len(self.items) == 1 else ""
        return f"{self.brackets[0]}{inner}{last}{self.brackets[1]}"

    def parts(self) -> Iterator[tuple[str, Value]]:
        """Its direct parts, each with its key."""
        return ((str(index), item) for index, item in enumerate(self.items))

    def with_part(self, key: str, value: Value) -> Value:
        """The same with another part."""
        at = int(key)
        return replace(self, items=(*self.items[:at], value, *self.items[at + 1 :]))


@dataclass(frozen=True)
class Mapped(Value):
    """A dictionary whose keys are strings."""

    items: tuple[tuple[str, Value], ...]

    def render(self, sizes: Mapping[str, int]) -> str:
        """The expression that makes it."""
        return "{" + ", ".join(f"{key!r}: {value.render(sizes)}" for key, value in self.items) + "}"

    def parts(self) -> Iterator[tuple[str, Value]]:
        """Its direct parts, each with its key."""
        return iter(self.items)

    def with_part(self, key: str, value: Value) -> Value:
        """The same with another part."""
        return replace(self, items=tuple({**dict(self.items), key: value}.items()))


@dataclass(frozen=True)
class Argument:
    """One argument of a call. `how` is `place` (only by place), `name` (only by name) or `either`.

    One that is `left_out` has a default, and is there in case that it is needed after all.
    """

    name: str
    value: Value
    how: str = "either"
    left_out: bool = False


@dataclass(frozen=True)
class Made(Value):
    """A call: of a class, a function, or of something that another value makes (`of`). `behind` is written between it and the call.

    `open` says that it takes any argument by name, as a bare namespace does.
    """

    head: str = ""
    arguments: tuple[Argument, ...] = ()
    of: Value | None = None
    behind: str = ""
    open: bool = False

    def render(self, sizes: Mapping[str, int]) -> str:
        """The expression that makes it."""
        inner = ", ".join(written_arguments(self.given(), sizes))
        return f"{self.callee(sizes)}({inner})"

    def given(self) -> tuple[Argument, ...]:
        """The arguments that are passed. One behind another that is left out is passed by name."""
        found: list[Argument] = []
        skipped = False
        for argument in self.arguments:
            if argument.left_out:
                skipped = True
            else:
                found.append(replace(argument, how="name") if skipped and argument.how == "either" else argument)
        return tuple(found)

    def with_left_out(self, name: str = "") -> Made:
        """The same with an argument that was left out; with all numbers that were, where no name is given."""
        return replace(
            self,
            arguments=tuple(
                replace(argument, left_out=False)
                if argument.left_out and (argument.name == name or (not name and isinstance(argument.value, Size)))
                else argument
                for argument in self.arguments
            ),
        )

    def callee(self, sizes: Mapping[str, int]) -> str:
        """What is called."""
        return (self.of.render(sizes) if self.of is not None else self.head) + self.behind

    def parts(self) -> Iterator[tuple[str, Value]]:
        """Its direct parts, each with its key."""
        if self.of is not None:
            yield "()", self.of
        yield from ((argument.name, argument.value) for argument in self.given())

    def with_part(self, key: str, value: Value) -> Value:
        """The same with another part."""
        if key == "()":
            return replace(self, of=value)
        if all(argument.name != key for argument in self.arguments):
            return replace(self, arguments=(*self.arguments, Argument(key, value, "name")))
        return replace(
            self,
            arguments=tuple(
                replace(argument, value=value, left_out=False) if argument.name == key else argument for argument in self.arguments
            ),
        )


@dataclass(frozen=True)
class Proposal:
    """A call to try."""

    call: Made
    sizes: Sizes = field(default_factory=Sizes, hash=False)

    def render(self) -> str:
        """The call as Python."""
        return self.call.render(self.sizes)

    def at(self, path: Path) -> Value:
        """The part at a path."""
        value: Value = self.call
        for key in path:
            value = dict(value.parts())[key]
        return value

    def put(self, path: Path, value: Value) -> Proposal:
        """The same with another part."""
        changed = _put(self.call, path, value)
        assert isinstance(changed, Made)
        return replace(self, call=changed)

    def sized(self, sizes: Mapping[str, int]) -> Proposal:
        """The same with other sizes."""
        return replace(self, sizes=self.sizes.changed(sizes))

    def walk(self) -> Iterator[tuple[Path, Value]]:
        """Every part with its path."""
        return _walk(self.call, ())

    def tensors(self) -> Iterator[tuple[Path, Tensor]]:
        """The tensors in it."""
        return ((path, value) for path, value in self.walk() if isinstance(value, Tensor))


def written_arguments(arguments: tuple[Argument, ...], sizes: Mapping[str, int]) -> Iterator[str]:
    """Arguments as people write them: tensors in their place, numbers and what comes behind them by name."""
    named = False
    for argument in arguments:
        text = argument.value.render(sizes)
        plain = isinstance(argument.value, Size) or (isinstance(argument.value, Text) and _LITERAL.fullmatch(text) is not None)
        named = argument.how != "place" and (named or argument.how == "name" or (argument.how == "either" and plain))
        yield f"{argument.name}={text}" if named else text


def size_of(dim: Dim, sizes: Mapping[str, int]) -> int:
    """A size in numbers."""
    return dim if isinstance(dim, int) else sizes[dim]


def _put(value: Value, path: Path, new: Value) -> Value:
    if not path:
        return new
    inner = dict(value.parts()).get(path[0])
    return value.with_part(path[0], _put(inner, path[1:], new) if inner is not None else new)


def _walk(value: Value, path: Path) -> Iterator[tuple[Path, Value]]:
    yield path, value
    for key, part in value.parts():
        yield from _walk(part, (*path, key))
