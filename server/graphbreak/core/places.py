"""From the places that Python names to spans in the source: the smallest expression that was meant."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache

from ..worker.protocol import Place
from .source import Position, SourceFile, Span

Sources = Callable[[str], "SourceFile | None"]
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@lru_cache(maxsize=64)
def tree_of(source: SourceFile) -> ast.Module | None:
    """The syntax tree of a file, or None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the user's strings are not our output
            return ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def node_span(source: SourceFile, node: ast.AST) -> Span:
    """The span of a node that has a position."""
    line, end_line = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    start = source.column(line, node.col_offset)  # type: ignore[attr-defined]
    return Span.at(line, start, end_line, source.column(end_line, node.end_col_offset))  # type: ignore[attr-defined]


def span_of(source: SourceFile | None, place: Place, wanted: str = "") -> Span:
    """What a place covers. Without columns: the smallest expression of its line that fits the reason `wanted`, else the statement."""
    line = place.line - 1
    if source is None:
        return Span.at(line, 0, line, 0)
    if place.column is not None and place.end_column is not None and place.end_line is not None:
        end_line = place.end_line - 1
        exact = Span.at(line, source.column(line, place.column), end_line, source.column(end_line, place.end_column))
        return exact if end_line == line else _without_body(source, exact)
    if place.column is not None and place.end_column is not None:
        return _snapped(source, line, source.column(line, place.column), place.end_column)
    return _guessed(source, line, wanted)


def _without_body(source: SourceFile, span: Span) -> Span:
    """Of a whole compound statement, which is what Python names for `if not ...:`, only what its head asks or goes over."""
    for node in nodes_on(source, span.start.line):
        if isinstance(node, ast.stmt) and hasattr(node, "body") and node_span(source, node) == span:
            head = getattr(node, "test", None) or getattr(node, "iter", None) or getattr(node, "subject", None)
            return node_span(source, head) if head is not None else source.statement_span(span.start.line)
    return span


def _snapped(source: SourceFile, line: int, column: int, utf8_end: int) -> Span:
    """The expression that begins at a place and whose last line ends at a column, when the end line is not known."""
    fitting = [
        node_span(source, node)
        for node in nodes_on(source, line)
        if node.lineno - 1 == line and source.column(line, node.col_offset) == column and node.end_col_offset == utf8_end
    ]
    end = source.column(line, utf8_end)
    return min(fitting, key=lambda span: span.end) if fitting else Span.at(line, column, line, max(end, column))


def _guessed(source: SourceFile, line: int, wanted: str) -> Span:
    """Without columns: the call of the name that the reason quotes, the condition of the branch, else the whole statement."""
    nodes = list(nodes_on(source, line))
    if "jump" in wanted or "branching" in wanted:
        tests = [
            node.test for node in nodes if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) and node.test.lineno - 1 == line
        ]
        if len(tests) == 1:
            return node_span(source, tests[0])
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.lineno - 1 == line]
    named = [call for call in calls if _called_name(call) and _quotes(wanted, _called_name(call))]
    if len(named) == 1:
        return node_span(source, named[0])
    statements = [node for node in nodes if isinstance(node, ast.stmt) and not isinstance(node, _Definition)]
    if statements:
        return _head(source, min(statements, key=lambda node: ((node.end_lineno or 0) - node.lineno, -node.lineno)), line)
    return source.statement_span(line)


def _head(source: SourceFile, statement: ast.stmt, line: int) -> Span:
    """A simple statement as a whole; of a compound one only its own line."""
    return source.statement_span(line) if hasattr(statement, "body") else node_span(source, statement)


def _called_name(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def _quotes(text: str, name: str) -> bool:
    words = text.replace("`", " ").replace("'", " ").replace(".", " ").replace("(", " ").split()
    return name in words


def nodes_on(source: SourceFile, line: int) -> Iterator[ast.expr | ast.stmt]:
    """The expressions and statements that have a part on a 0-based line."""
    tree = tree_of(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.expr, ast.stmt)) and node.lineno - 1 <= line <= (node.end_lineno or node.lineno) - 1:
            yield node


def definition_at(source: SourceFile | None, name: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """The innermost definition called `name` (the last part of a qualified name) whose text, decorators included, holds a 0-based line."""
    tree = tree_of(source) if source is not None else None
    last = name.rpartition(".")[2]
    best = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _Definition) and node.name == last and _first_line(node) - 1 <= line <= (node.end_lineno or 0) - 1:
            best = node if best is None or node.lineno > best.lineno else best
    return best


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


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
