"""From the places that Python names to spans in the source: the smallest expression that was meant."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..worker.protocol import Place
from .guesses import blamed_node, call_line, calling_node, nodes_of
from .nodes import Definition, definitions_of, nodes_on, tree_of
from .source import Position, SourceFile, Span

Sources = Callable[[str], "SourceFile | None"]


def node_span(source: SourceFile, node: ast.AST) -> Span:
    """The span of a node that has a position."""
    line, end_line = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    start = source.column(line, node.col_offset)  # type: ignore[attr-defined]
    return Span.at(line, start, end_line, source.column(end_line, node.end_col_offset))  # type: ignore[attr-defined]


def span_of(source: SourceFile | None, place: Place, says: str = "", callee: str = "") -> Span:
    """What a place covers. Without columns: the expression of its line that fits what PyTorch says there, or that runs `callee`; else
    the statement."""
    line = place.line - 1
    if source is None:
        return Span.at(line, 0, line, 0)
    if place.column is not None and place.end_column is not None and place.end_line is not None:
        end_line = place.end_line - 1
        exact = Span.at(line, source.column(line, place.column), end_line, source.column(end_line, place.end_column))
        return _narrowed(source, exact)
    if place.column is not None and place.end_column is not None:
        return _narrowed(source, _snapped(source, line, source.column(line, place.column), place.end_column))
    return _guessed(source, place, says, callee)


def _narrowed(source: SourceFile, span: Span) -> Span:
    """Of a whole statement or conditional expression, which is what some Pythons name for a condition, only what it asks or goes over.

    Python 3.11 names all of `if not x.all(): ...` and of `a if x.any() else b`, where 3.12 names `x.all()` and `x.any()`.
    """
    for node in nodes_on(source, span.start.line):
        if node_span(source, node) != span:
            continue
        if isinstance(node, (ast.IfExp, ast.Assert, ast.If, ast.While)):
            return node_span(source, node.test.operand if _is_negation(node.test) else node.test)  # type: ignore[attr-defined]
        if isinstance(node, (ast.With, ast.AsyncWith)) and len(node.items) == 1:
            return node_span(source, node.items[0].context_expr)
        if isinstance(node, ast.stmt) and hasattr(node, "body"):
            head = getattr(node, "iter", None) or getattr(node, "subject", None)
            return node_span(source, head) if head is not None else source.statement_span(span.start.line)
    return span


def _is_negation(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _snapped(source: SourceFile, line: int, column: int, utf8_end: int) -> Span:
    """The expression that begins at a place and whose last line ends at a column, when the end line is not known."""
    fitting = [
        node_span(source, node)
        for node in nodes_on(source, line)
        if node.lineno - 1 == line and source.column(line, node.col_offset) == column and node.end_col_offset == utf8_end
    ]
    end = source.column(line, utf8_end)
    return min(fitting, key=lambda span: span.end) if fitting else Span.at(line, column, line, max(end, column))


def _guessed(source: SourceFile, place: Place, says: str, callee: str) -> Span:
    """Without columns: the expression that is meant, where that is certain, else the whole statement."""
    line = place.line - 1
    nodes = list(nodes_on(source, line))
    own = nodes_of(nodes, place.function)
    found = calling_node(own, place.line, callee) if callee else blamed_node(own, place.line, says) if says else None
    if isinstance(found, ast.Call) and found.lineno < call_line(found):
        span, name = node_span(source, found), found.func  # a method on a line of its own: from its name on, as later Pythons have it
        assert isinstance(name, ast.Attribute)
        end = source.column(line, name.end_col_offset or 0)
        return Span(Position(line, end - len(name.attr)), span.end)
    return node_span(source, found) if found is not None else _statement(source, line, nodes)


def _statement(source: SourceFile, line: int, nodes: list[ast.expr | ast.stmt]) -> Span:
    """The statement of a line; of a compound one its head, and where several begin on the line, all of the line."""
    statements = [node for node in nodes if isinstance(node, ast.stmt)]
    simple = [node for node in statements if not hasattr(node, "body") and not hasattr(node, "cases")]
    heads = [node for node in statements if node not in simple and _head_end(node) - 1 >= line]
    if len(simple) == 1 and not heads:
        return node_span(source, simple[0])
    if len(heads) == 1 and not simple and heads[0].lineno - 1 < line:
        end = _head_end(heads[0]) - 1
        return Span(source.statement_span(heads[0].lineno - 1).start, source.statement_span(end).end)
    return source.statement_span(line)


def _head_end(node: ast.stmt) -> int:
    """The last line (from 1) of what stands before the body of a compound statement."""
    first = getattr(node, "body", None) or getattr(node, "cases", None)
    if not first:
        return node.lineno
    begins: int = first[0].pattern.lineno if isinstance(first[0], ast.match_case) else _first_line(first[0])
    return max(node.lineno, begins - 1)


def definition_at(source: SourceFile | None, name: str, line: int) -> Definition | None:
    """The innermost definition called `name` (the last part of a qualified name) whose text, decorators included, holds a 0-based line."""
    best = None
    for node in definitions_of(source, name.rpartition(".")[2]) if source is not None else ():
        if _first_line(node) - 1 <= line <= (node.end_lineno or 0) - 1:
            best = node if best is None or node.lineno > best.lineno else best
    return best


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def definition_line(source: SourceFile | None, name: str, line: int, fallback: int) -> int:
    """The 0-based line of the `def` that `definition_at` finds, else `fallback`."""
    node = definition_at(source, name, line)
    return node.lineno - 1 if node is not None else fallback


def name_span(source: SourceFile, line: int, name: str) -> Span:
    """Where a name is written on its `def` line, else the line's text."""
    last = name.rpartition(".")[2]
    text = source.line(line)
    at = text.find(last, text.find("def") + 3 if "def" in text else 0)
    return Span(Position(line, at), Position(line, at + len(last))) if last and at >= 0 else source.statement_span(line)


def in_loop(source: SourceFile | None, span: Span) -> bool:
    """Whether a place stands in a `for` or `while` of its own function (the loop's head does not count)."""
    tree = tree_of(source) if source is not None else None
    if tree is None or source is None:
        return False
    found = False
    node: ast.AST = tree
    while True:
        inner = next((child for child in ast.iter_child_nodes(node) if _holds(source, child, span)), None)
        if inner is None:
            return found
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found = False
        elif _repeats(node, inner):
            found = True
        node = inner


def _repeats(loop: ast.AST, part: ast.AST) -> bool:
    """Whether a part of a statement runs once per turn of it."""
    if isinstance(loop, ast.While) and part is loop.test:
        return True
    return isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) and part in loop.body


def _holds(source: SourceFile, node: ast.AST, span: Span) -> bool:
    if not hasattr(node, "lineno"):
        return any(_holds(source, child, span) for child in ast.iter_child_nodes(node))
    return node_span(source, node).contains(span)
