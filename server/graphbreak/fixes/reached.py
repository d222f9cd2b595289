"""What has to hold for a place in a function to be reached: the tests that stand between the function's start and it."""

from __future__ import annotations

import ast
from itertools import pairwise

from .syntax import COMPREHENSIONS, DEFINITIONS, Place

_JUMPS = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_DECIDES = (ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, *([ast.TryStar] if hasattr(ast, "TryStar") else []))
_OUTSIDE = (*DEFINITIONS, ast.Lambda)
Guard = tuple[ast.expr, bool]
"""A test, and the answer that leads on."""


def guards_of(place: Place, node: ast.AST) -> list[Guard] | None:
    """The tests that a node's function asks before it comes to the node, outermost first.

    None where something else decides: a loop may have no round, a `try` may be left, a statement before may return in a way of its own.
    """
    chain = [*place.functions[-1:], *place.inside]
    found: list[Guard] = []
    for outer, inner in pairwise(chain[: chain.index(node) + 1]):
        own = _between(outer, inner)
        before = _before(outer, inner)
        if own is None or before is None:
            return None
        found += [*before, *own]
    return found


def _between(outer: ast.AST, inner: ast.AST) -> list[Guard] | None:
    """The tests by which one node leads to a part of it."""
    if isinstance(outer, (ast.If, ast.IfExp)):
        if inner is outer.test:
            return []
        taken = inner in outer.body if isinstance(outer, ast.If) else inner is outer.body
        return [(outer.test, taken)]
    if isinstance(outer, ast.BoolOp):
        return [(value, isinstance(outer.op, ast.And)) for value in outer.values[: _index(outer.values, inner)]]
    if isinstance(outer, ast.Compare):
        return [] if inner is outer.left or inner is outer.comparators[0] else None
    if isinstance(outer, (ast.For, ast.AsyncFor)):
        return [] if inner is outer.iter else None
    if isinstance(outer, ast.Assert):
        return [] if inner is outer.test else [(outer.test, False)]
    if isinstance(outer, COMPREHENSIONS):
        return [] if inner is outer.generators[0] else None
    if isinstance(outer, ast.comprehension):
        return [] if inner is outer.iter else None
    return None if isinstance(outer, _DECIDES) else []


def _before(outer: ast.AST, inner: ast.AST) -> list[Guard] | None:
    """The tests of the statements in front of one in its block that would have left the function."""
    block = next((block for name in ("body", "orelse") if isinstance(block := getattr(outer, name, None), list) and inner in block), [])
    found: list[Guard] = []
    for statement in block[: _index(block, inner)]:
        if isinstance(statement, ast.Assert):
            found.append((statement.test, True))
        elif _may_leave(statement):
            last = statement.body[-1] if isinstance(statement, ast.If) and not statement.orelse else None
            inside = statement.body[:-1] if isinstance(statement, ast.If) else []
            if not isinstance(statement, ast.If) or not isinstance(last, (ast.Return, ast.Raise)) or any(map(_may_leave, inside)):
                return None
            found.append((statement.test, False))
    return found


def _index(parts: list[ast.expr] | list[ast.stmt], part: ast.AST) -> int:
    return next((index for index, other in enumerate(parts) if other is part), 0)


def _may_leave(node: ast.AST) -> bool:
    """Whether a statement may end the call that it is a part of."""
    if isinstance(node, (*_JUMPS, ast.Assert)):
        return True
    return not isinstance(node, _OUTSIDE) and any(map(_may_leave, ast.iter_child_nodes(node)))
