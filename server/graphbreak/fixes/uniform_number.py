"""Draw a random number with the function that Dynamo knows: `random.uniform(0.0, 1.0)` for `random.random()`.

Before:

    x = x * random.random()
    y = y * (0.5 + 2 * random.random())

After (one fix each):

    x = x * random.uniform(0.0, 1.0)
    y = y * random.uniform(0.5, 2.5)

`uniform(a, b)` draws from the same generator and gives `a + (b - a) * random()`, so it takes in sums and products with plain numbers, which
Dynamo does not trace for a random one. Compiled code draws before the graph runs, and hands the number over.

When it is not safe: where `b - a` is not the very factor that was there (`1 + 0.1 * random()`), the last digit may be another one; that
changes behaviour. What is asked of the number (`if random.random() < 0.5`) is asked of a tensor then, so the break moves, and the trial
shows it. It is not offered where `random` is another object than the module.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, SourceFile, Span
from .edits import finished, module_name
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .syntax import dotted, first_line


@dataclass(frozen=True)
class _Range:
    """`low + factor * random()`; `exact` says that it was computed in no other way."""

    low: float = 0.0
    factor: float = 1.0
    exact: bool = True


def uniform_number(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the call of `random.random` that broke, and the arithmetic with plain numbers around it."""
    place = compiled_place(diagnostic, context)
    call = place.node if place is not None else None
    if place is None or not isinstance(call, ast.Call) or call.args or call.keywords:
        return None
    if resolved(place, dotted(call.func)) != "random.random":
        return None
    module = module_name(place.source, "random", first_line(place.top))
    if module is None or resolved(place, module[0]) not in ("random", ""):
        return None
    whole, drawn, outer = _around(place.chain)
    high = drawn.low + drawn.factor
    span = node_span(place.source, whole)
    span = _with_parentheses(place.source, span) if isinstance(outer, ast.BinOp) else span
    edit = Edit(span, f"{module[0]}.uniform({drawn.low!r}, {high!r})")
    safety = Safety.SAFE if drawn.exact and high - drawn.low == drawn.factor else Safety.CHANGES_BEHAVIOUR
    return finished("Draw the number with `random.uniform`, which Dynamo traces", place.source, (*module[1], edit), safety)


def _around(chain: tuple[ast.AST, ...]) -> tuple[ast.AST, _Range, ast.AST]:
    """The largest expression around a random number that meets plain numbers only, what it draws, and what stands around that."""
    node, drawn, outer = chain[-1], _Range(), chain[-2]
    for outer in reversed(chain[:-1]):
        number = _number(outer.right if outer.left is node else outer.left) if isinstance(outer, ast.BinOp) else None
        wider = _wider(drawn, outer, number, outer.left is node) if isinstance(outer, ast.BinOp) and number is not None else None
        if wider is None:
            break
        node, drawn = outer, wider
    return node, drawn, outer


def _with_parentheses(source: SourceFile, span: Span) -> Span:
    """The place of an operand with the parentheses right around it."""
    start, end = source.offset(span.start) - 1, source.offset(span.end) + 1
    return (
        Span(source.position(start), source.position(end)) if source.text[start : start + 1] + source.text[end - 1 : end] == "()" else span
    )


def _number(node: ast.expr) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _wider(drawn: _Range, outer: ast.BinOp, number: float, is_left: bool) -> _Range | None:
    """What a sum or product with a number draws; None for other arithmetic."""
    plain = drawn == _Range()
    if isinstance(outer.op, ast.Mult):
        return _Range(drawn.low * number, drawn.factor * number, plain)
    exact = drawn.exact and drawn.low == 0
    if isinstance(outer.op, ast.Add):
        return _Range(drawn.low + number, drawn.factor, exact)
    if isinstance(outer.op, ast.Sub):
        return _Range(drawn.low - number, drawn.factor, exact) if is_left else _Range(number - drawn.low, -drawn.factor, exact)
    return None
