"""What a function does with a number, and whether a tensor without dimensions would do there."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from .operations import PAIRED, operation
from .syntax import Function, dotted, own_nodes
from .values import Facts, Value, value_of

_TAKE_TENSORS = PAIRED | {
    "div",
    "true_divide",
    "clamp",
    "clamp_min",
    "clamp_max",
    "masked_fill",
    "where",
    "pow",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
}
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)


@dataclass(frozen=True)
class Use:
    """`partners` are the tensors that the number meets; `exact` is false where that a tensor would do is only likely."""

    partners: tuple[Value, ...] = ()
    exact: bool = True


def use_at(chain: tuple[ast.AST, ...], facts: Facts) -> Use | None:
    """What is done with a number that stands at the end of a chain of nodes; None where it must be a number."""
    node, outer = chain[-1], chain[-2]
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, _ARITHMETIC):
        other = value_of(outer.right if outer.left is node else outer.left, facts)
        if other is not None and other.tensor:
            return Use((other,))
        if other is not None and not other.shape and not other.kind:
            deeper = use_at(chain[:-1], facts)
            return Use(deeper.partners, False) if deeper is not None and not isinstance(outer.op, ast.Div) else None
        return None
    if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.USub):
        return use_at(chain[:-1], facts)
    if isinstance(outer, ast.Call) and dotted(outer.func) in ("max", "min") and len(outer.args) == 2 and not outer.keywords:
        other = value_of(outer.args[0] if outer.args[1] is node else outer.args[1], facts)
        deeper = use_at(chain[:-1], facts) if other is not None and other.number is not None else None
        return Use(deeper.partners, False) if deeper is not None else None
    if isinstance(outer, (ast.If, ast.IfExp)) and outer.test is node:
        return Use()
    if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
        return use_at(chain[:-1], facts)
    if isinstance(outer, ast.Compare) and len(outer.ops) == 1 and isinstance(chain[-3], (ast.If, ast.IfExp, ast.BoolOp, ast.Assert)):
        return Use(exact=False)
    return _passed(chain, facts)


def _passed(chain: tuple[ast.AST, ...], facts: Facts) -> Use | None:
    """The number as an argument of an operation that takes a tensor for it."""
    call = next((part for part in (chain[-2], chain[-3]) if isinstance(part, ast.Call)), None)
    found = operation(call) if call is not None else None
    if call is None or found is None or found[0] not in _TAKE_TENSORS or not found[1] or found[1][0] is chain[-1]:
        return None
    others = [part for part in (*found[1][1:], *(keyword.value for keyword in call.keywords)) if part is not chain[-1]]
    if found[0] in ("clamp", "where") and (found[0] == "where" or others):
        return None  # the borders of `clamp` must be alike
    value = value_of(found[1][0], facts)
    return Use((value,), exact=found[0] in PAIRED) if value is not None and value.tensor else None


def loads_of(function: Function, name: str) -> list[tuple[ast.AST, ...]] | None:
    """The chains of nodes to where a function reads a name; None where it is also read by, or written in, another function."""
    found = chains_to(function, lambda node: isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load))
    own = {id(node) for node in own_nodes(function)}
    return found if all(id(chain[-1]) in own for chain in found) else None


def chains_to(function: Function, wanted: Callable[[ast.AST], bool]) -> list[tuple[ast.AST, ...]]:
    """The chains of nodes from a function to each of a kind in it."""
    found: list[tuple[ast.AST, ...]] = []

    def visit(chain: tuple[ast.AST, ...]) -> None:
        for child in ast.iter_child_nodes(chain[-1]):
            if wanted(child):
                found.append((*chain, child))
            visit((*chain, child))

    visit((function,))
    return found
