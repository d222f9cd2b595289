"""What becomes of names when a compiled function is cut into parts: which ones statements bind, read, and bind for certain."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..core.source import Position, SourceFile, Span
from .syntax import dotted, first_line, last_line, walk

_UNMOVABLE = (ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom)
_ABOUT_SCOPES = frozenset({"locals", "vars", "eval", "exec", "super", "dir"})
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.AsyncFor, ast.AsyncWith)


def can_be_split(function: ast.FunctionDef) -> bool:
    """Whether nothing in a function asks for its own names, binds others than its own, or takes a name away."""
    nodes = [node for statement in function.body for node in walk(statement)]
    return not any(isinstance(node, _UNMOVABLE) or (isinstance(node, ast.Name) and node.id in _ABOUT_SCOPES) for node in nodes)


def only_mark(function: ast.FunctionDef) -> ast.expr | None:
    """The mark, where it is the only decorator."""
    if len(function.decorator_list) != 1:
        return None
    decorator = function.decorator_list[0]
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return decorator if dotted(called).endswith("compile") else None


def lines_of(source: SourceFile, statements: Sequence[ast.stmt]) -> str:
    """The text of statements, from the line of the first one to that of the last."""
    last = last_line(statements[-1])
    return source.slice(Span(Position(first_line(statements[0]), 0), Position(last, len(source.line(last)))))


def stored(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that statements may bind."""
    return {n.id for s in statements for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def loaded(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements may read."""
    read = {n.id for s in statements for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return read | {n.target.id for s in statements for n in walk(s) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}


def certainly(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that are bound when the statements have run: those stored outside of blocks."""
    plain = [statement for statement in statements if not isinstance(statement, _COMPOUND)]
    both = [s for s in statements if isinstance(s, ast.If) and s.orelse]
    return stored(plain).union(*(certainly(s.body) & certainly(s.orelse) for s in both))
