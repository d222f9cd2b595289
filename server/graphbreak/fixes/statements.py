"""Text edits on whole statements: taking one out, putting a header above one, putting lines in before one."""

from __future__ import annotations

import ast

from ..core.places import node_span
from ..core.source import Edit, Position, SourceFile, Span
from .edits import indent_unit, indentation, insertion
from .extraction import Unmovable
from .syntax import Place, first_line, last_line
from .tokens import line_tokens


def siblings(place: Place, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that a statement stands in."""
    for node in reversed(place.chain):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and statement in block:
                return block
    return [statement]


def has_own_lines(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether a statement shares its lines with no other code (a comment behind it does not count)."""
    start = source.line(first_line(statement))[: node_span(source, statement).start.column]
    tokens = line_tokens(source.lines)
    if start.strip() or tokens is None:
        return False
    last = last_line(statement)
    column = tokens.comments.get(last, (len(source.line(last)), ""))[0]
    return not source.line(last)[node_span(source, statement).end.column : column].strip()


def removed(place: Place, statement: ast.stmt) -> Edit:
    """The edit that takes a statement out: with its lines where it has them to itself; `pass` where its block would be empty."""
    source, span = place.source, node_span(place.source, statement)
    if len(siblings(place, statement)) == 1:
        return Edit(span, "pass")
    if has_own_lines(source, statement):
        start, behind = first_line(statement), last_line(statement) + 1
        if behind < len(source.lines):
            return Edit(Span(Position(start, 0), Position(behind, 0)), "")
        return Edit(Span(Position(start, 0), Position(behind - 1, len(source.line(behind - 1)))), "")
    text = source.line(span.end.line)
    behind_text = text[span.end.column :]
    if behind_text.lstrip().startswith(";"):
        column = span.end.column + behind_text.index(";") + 1
        rest = text[column:]
        return Edit(Span(span.start, Position(span.end.line, column + len(rest) - len(rest.lstrip()))), "")
    before = source.line(span.start.line)[: span.start.column].rstrip()
    if before.endswith(";"):
        return Edit(Span(Position(span.start.line, len(before[:-1].rstrip())), span.end), "")
    return Edit(span, "pass")


def under_header(place: Place, statement: ast.stmt, header: str) -> tuple[Edit, ...]:
    """Put a statement under a header such as `if x:`. Raises `Unmovable` where its text cannot be indented."""
    source = place.source
    if not has_own_lines(source, statement):
        raise Unmovable
    first, last = first_line(statement), last_line(statement)
    tokens = line_tokens(source.lines)
    if tokens is None or any(line in tokens.open_strings for line in range(first, last)):
        raise Unmovable
    unit, own = indent_unit(place.top, source), indentation(source.line(first))
    deeper = [insertion(line, unit) for line in range(first, last + 1) if source.line(line).strip()]
    return (insertion(first, f"{own}{header}{source.newline}{unit}"), *deeper[1:])


def lines_before(place: Place, statement: ast.stmt, lines: tuple[str, ...]) -> Edit:
    """Put statements in before one. Raises `Unmovable` where it does not begin its line."""
    source, first = place.source, first_line(statement)
    own = indentation(source.line(first))
    if source.line(first)[: node_span(source, statement).start.column].strip() and not getattr(statement, "decorator_list", []):
        raise Unmovable
    return insertion(first, "".join(own + line + source.newline for line in lines))
