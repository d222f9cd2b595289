"""Arguments to begin with for a function that nothing is known of: something of each parameter's kind, for the user to change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .arguments import UNKNOWN

_BY_ANNOTATION = (
    (r"^(typing\.)?Optional\b|\bNone\b", "None"),
    (r"\b(list|List|Sequence|Iterable)\b.*Tensor", "[torch.randn(2, 8)]"),
    (r"\b(Int|Long|Integer)\w*\[|LongTensor|IntTensor", "torch.randint(10, (2, 8))"),
    (r"\bBool\w*\[|BoolTensor", "torch.ones(2, 8, dtype=torch.bool)"),
    (r"Tensor|\bndarray\b|\b(Float|Shaped)\w*\[", ""),
    (r"^bool$", "True"),
    (r"^int$", "2"),
    (r"^float$", "0.5"),
    (r"^str$", '""'),
    (r"^(list|List|Sequence|tuple|Tuple|dict|Dict|Mapping)\b", UNKNOWN),
)
_BY_NAME = (
    (r"(^|_)(ids?|idx|index|indices|tokens?|labels?|targets?)$", "torch.randint(10, (2, 8))"),
    (r"(^|_)mask$", "torch.ones(2, 8, dtype=torch.bool)"),
    (r"^(img|image|images|pixel_values|frames?)$", "torch.randn(2, 3, 16, 16)"),
)
_NUMBERS = (
    (r"dim|size|hidden|width|channels|features|embed|^d_|_d$|vocab|in_|out_", "8"),
    (r"^(n|k|num|count|steps?|depth|layers|heads|epochs)$|^(num|n)_|_(num|count|steps|layers|heads)$", "2"),
    (r"eps|lr|rate|drop|alpha|beta|gamma|temperature|scale|momentum", "0.1"),
    (r"^(is|use|has|with|return|do)_|training|causal|bias|verbose", "True"),
    (r"name|mode|key|reduction|activation", '""'),
)


def filled(own: ast.arguments, tensors: bool = True) -> list[str]:
    """An argument for each parameter that has no default, `self` and `cls` left out. `tensors` says that one of which nothing tells its
    kind is taken for a tensor, as in a call of a model; else it is left to the user."""
    in_place = [*own.posonlyargs, *own.args]
    needed = in_place[: len(in_place) - len(own.defaults)]
    given = [_value(one, tensors) for one in needed if one.arg not in ("self", "cls")]
    return given + [f"{one.arg}={_value(one, tensors)}" for one in _named(own)]


def _named(own: ast.arguments) -> Iterator[ast.arg]:
    return (one for one, default in zip(own.kwonlyargs, own.kw_defaults) if default is None)


def _value(parameter: ast.arg, tensors: bool) -> str:
    name = parameter.arg
    if parameter.annotation is not None:
        annotation = ast.unparse(parameter.annotation).strip("'\"")
        known = _first(_BY_ANNOTATION, annotation)
        if known is None:
            return UNKNOWN
        return known or _first(_BY_NAME, name) or "torch.randn(2, 8)"
    known = _first((*_NUMBERS, *_BY_NAME) if not tensors else (*_BY_NAME, *_NUMBERS[1:]), name)
    return known or ("torch.randn(2, 8)" if tensors else UNKNOWN)


def _first(rules: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((value for pattern, value in rules if re.search(pattern, text)), None)
