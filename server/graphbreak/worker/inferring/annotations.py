"""From annotations to values: torch's types, the containers of `typing`, shapes as jaxtyping and torchtyping write them, classes."""

from __future__ import annotations

import ast
import builtins
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from . import names
from .sizes import is_letter, size_of_letter
from .values import Argument, Dim, Group, Made, Mapped, Tensor, Text, Value

_TENSOR_KINDS = {
    "Tensor": "float", "FloatTensor": "float", "LongTensor": "long", "IntTensor": "long", "BoolTensor": "bool", "DoubleTensor": "double",
    "HalfTensor": "half", "ByteTensor": "uint8", "Parameter": "float", "ndarray": "",
}  # fmt: skip
_SHAPED = re.compile(r"^(B?Float\d*|Int(eger)?\d*|UInt\d*|Bool|Shaped|Num|Real|Inexact|Complex\d*|Key|TensorType|BFloat16)$")
_LISTS = {"list", "List", "Sequence", "Iterable", "MutableSequence", "Collection", "Iterator", "deque", "Deque"}
_DICTS = {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict"}
_TRANSPARENT = {"Annotated", "Final", "ClassVar", "Required", "NotRequired", "Generic"}
_ANY_SIZE = 4
_KIND_OF_DTYPE = {
    "int": "long", "long": "long", "int64": "long", "int32": "long", "bool": "bool", "uint8": "uint8", "double": "double",
    "float64": "double", "half": "half", "float16": "half", "bfloat16": "bfloat16", "complex64": "complex",
}  # fmt: skip
_FIXED = {
    "None": "None", "device": 'torch.device("cpu")', "dtype": "torch.float32", "Generator": "torch.Generator()",
    "Size": "torch.Size([2, 16])", "object": "object()",
}  # fmt: skip


class Annotations:
    """Reads annotations in the names of one module. `instance` makes an instance of a class."""

    def __init__(self, namespace: Mapping[str, Any], instance: Callable[[type], Value | None]) -> None:
        self._namespace, self._instance = namespace, instance

    def resolve(self, node: ast.expr) -> Any:
        """What a name or a dotted name stands for; None where it stands for nothing."""
        if isinstance(node, ast.Name):
            return self._namespace.get(node.id, getattr(typing, node.id, getattr(builtins, node.id, None)))
        return getattr(self.resolve(node.value), node.attr, None) if isinstance(node, ast.Attribute) else None

    def value(self, node: ast.expr | None, name: str, keys: Sequence[str] = ()) -> Value | None:
        """A value for a parameter of this annotation and name; None where the annotation does not tell.

        `keys` are those that the body asks it for, which the annotation of a dictionary does not say.
        """
        if isinstance(node, ast.Constant):
            if node.value is None:
                return Text("None")
            return self.value(_parsed(node.value), name, keys) if isinstance(node.value, str) else None
        if isinstance(node, ast.BinOp):
            return self._union([node.left, node.right], name, keys)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, name, keys)
        return self._plain(node, name) if isinstance(node, (ast.Name, ast.Attribute)) else None

    def _plain(self, node: ast.expr, name: str) -> Value | None:
        last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if last in _TENSOR_KINDS:
            return tensor_named(name, _TENSOR_KINDS[last])
        if last in ("int", "float", "bool", "str", "complex"):
            return plain(last, name)
        if last in _FIXED:
            return Text(_FIXED[last])
        if last == "Callable":
            return Text("lambda *args: args[0]")
        if last in _LISTS:
            return Group((tensor_named(singular(name), "float"),) * 2)
        if last in ("tuple", "Tuple"):
            return Group((tensor_named(singular(name), "float"),) * 2, "()")
        if last in _DICTS or last in ("Any", "TypeVar"):
            return None
        found = self.resolve(node)
        if found is torch.nn.Module:
            return module()
        if isinstance(found, type):
            return self._instance(found)
        return self.value(_parsed(str(found)), name) if found is not None and not isinstance(found, typing.TypeVar) else None

    def _subscript(self, node: ast.Subscript, name: str, keys: Sequence[str]) -> Value | None:
        base = ast.unparse(node.value).rpartition(".")[2]
        items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if _SHAPED.match(base):
            return _shaped(base, items, name)
        if base in ("Optional", "Union"):
            return self._union(items, name, keys)
        if base == "Literal":
            return Text(ast.unparse(items[0]))
        if base in _TRANSPARENT:
            inner = self.value(items[0], name, keys)
            dims = next(filter(None, map(_shape_beside, items[1:])), None) if isinstance(inner, Tensor) else None
            return replace(inner, dims=dims, sure=True) if isinstance(inner, Tensor) and dims is not None else inner
        if base in _LISTS:
            return self._repeated(items[0], name, "[]")
        if base in ("tuple", "Tuple"):
            if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is Ellipsis:
                return self._repeated(items[0], name, "()")
            places = [self.value(item, f"{name}_{index}" if len(items) > 1 else name) for index, item in enumerate(items)]
            return Group(tuple(place for place in places if place is not None), "()") if all(places) else None
        if base in _DICTS:
            parts = [(key, self.value(items[-1], key if keys else name)) for key in dict.fromkeys(keys) or ("a", "b")]
            return Mapped(tuple((key, part) for key, part in parts if part is not None)) if all(part for _, part in parts) else None
        if base == "Callable":
            return Text("lambda *args: args[0]")
        if base in ("type", "Type"):
            return Text(ast.unparse(items[0]))
        return self._plain(node.value, name)

    def _repeated(self, item: ast.expr, name: str, brackets: str) -> Value | None:
        inner = self.value(item, singular(name))
        return Group((inner, inner), brackets) if inner is not None else None

    def _union(self, items: list[ast.expr], name: str, keys: Sequence[str]) -> Value | None:
        """Of several types that of a tensor, else the first that is not None."""
        values = [self.value(item, name, keys) for item in items]
        known = [value for value in values if value is not None and value != Text("None")]
        return next((value for value in known if isinstance(value, Tensor)), known[0] if known else None)


def module() -> Made:
    """A small module with parameters."""
    width = names.whole("dim")
    return Made("torch.nn.Linear", (Argument("in_features", width, "place"), Argument("out_features", width, "place")))


def plain(kind: str, name: str) -> Value:
    """A number, a flag or a text of a name."""
    if kind == "int":
        return names.whole(name)
    if kind == "float":
        return Text(names.number(name))
    return Text({"bool": "True", "complex": "1j"}.get(kind) or repr(names.word(name)))


def tensor_named(name: str, kind: str) -> Tensor:
    """A tensor of a name whose type is known, or not further than that it is a tensor (`float`)."""
    usual = names.tensor(name)
    if usual is not None and kind in ("float", usual.kind):
        return usual
    high = "classes" if kind == "long" else 2
    return Tensor(usual.dims if usual else names.shape_of_rank(2), kind, high)


def singular(name: str) -> str:
    """The name of one of several."""
    return name.removesuffix("_list").removesuffix("s")


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None


def _shaped(base: str, items: list[ast.expr], name: str) -> Tensor:
    """`Float[Tensor, "b c h w"]`, `TensorType["batch", "width": 3, -1, float]`."""
    dims: list[Dim] = []
    kind = _kind_of(base)
    for item in items:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            dims += [dim for word in item.value.split() if (dim := _dim(word)) != ""]
        elif isinstance(item, ast.Constant) and isinstance(item.value, int):
            dims.append(item.value)
        elif isinstance(item, ast.Slice):
            dims += _named_dim(item)
        elif isinstance(item, ast.UnaryOp):
            dims.append(_ANY_SIZE)
        elif base == "TensorType":
            kind = _KIND_OF_DTYPE.get(ast.unparse(item).rpartition(".")[2], kind)
    usual = names.tensor(name)
    high: Dim = usual.high if usual is not None and usual.kind == kind else "classes" if kind == "long" else 2
    return Tensor(tuple(dims), kind, high, sure=True)


def _named_dim(item: ast.Slice) -> Iterator[Dim]:
    """`"width": 3`, of which the size counts; the name where none is given, as in `"batch": ...` and `"batch": -1`."""
    if isinstance(item.upper, ast.Constant) and isinstance(item.upper.value, int):
        yield item.upper.value
    elif isinstance(item.lower, ast.Constant) and isinstance(item.lower.value, str):
        yield _dim(item.lower.value)
    else:
        yield _ANY_SIZE


def _shape_beside(item: ast.expr) -> tuple[Dim, ...] | None:
    """The shape that stands beside a type in `Annotated`: `"b 3"`, `"(batch, seq)"`, `("b", 3)`. Other texts are words about it."""
    items = item.elts if isinstance(item, (ast.Tuple, ast.List)) else [item]
    values = [one.value for one in items if isinstance(one, ast.Constant) and type(one.value) in (int, str)]
    words = " ".join(map(str, values)).strip(" ()[]").replace(",", " ").split()
    is_shape = len(values) == len(items) and all(word.isdigit() or is_letter(word) or word == "..." for word in words)
    alone = isinstance(item, ast.Constant) and (type(item.value) is not str or (len(words) == 1 and not words[0].isdigit()))
    if not is_shape or not words or alone:
        return None
    return tuple(dim for word in words if (dim := _dim(word)) != "")


def _kind_of(base: str) -> str:
    if base.startswith(("Int", "UInt", "Key")):
        return "uint8" if base == "UInt8" else "long"
    if base.startswith("Bool"):
        return "bool"
    kinds = {"Float64": "double", "Float16": "half", "BFloat16": "bfloat16"}
    return "complex" if base.startswith("Complex") else kinds.get(base, "float")


def _dim(word: str) -> Dim:
    """One size of a shape in words: a number, a name (`*batch` and `...` are left out, or are one size), `name=3`."""
    word = word.rpartition("=")[2].lstrip("#?")
    if word.startswith(("*", "...")):
        return size_of_letter(word.strip("*.")) if word.strip("*.") else ""
    if word.isdigit():
        return int(word)
    return size_of_letter(word) if word.isidentifier() else _ANY_SIZE
