"""Hide a diagnostic: `# graphbreak: ignore[GB0059]` on its line.

Before:

    print("mid")

After:

    print("mid")  # graphbreak: ignore[GB0059]

The program stays as it is, breaks included. A line that has such a comment gets the code added to its list; another
comment stays in front of it. Where the line cannot take a comment (it ends inside a string or with a backslash), the
comment goes on a line of its own above the statement.

When it is not safe: it always is; it removes nothing.
"""

from __future__ import annotations

import ast
import re

from ..core.findings import Diagnostic, Fix, Kind, Safety
from ..core.nodes import tree_of
from ..core.source import Edit, Position, SourceFile, Span
from .edits import indentation, insertion
from .model import FixContext
from .syntax import first_line, last_line
from .tokens import LineTokens, line_tokens

_IGNORE = re.compile(r"(?:^|(?<=\s))#+\s*graphbreak:\s*ignore(?![\w-])(?:\s*\[(?P<codes>[^\]]*)\])?")


def ignore(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Add the comment, unless the line has it."""
    source = context.sources.get(diagnostic.path)
    tokens = line_tokens(source.lines) if source is not None else None
    if source is None or tokens is None or diagnostic.ignored or diagnostic.kind is Kind.NOT_ANALYSED:
        return None
    edit = _edit(source, tokens, diagnostic.span.start.line, diagnostic.code)
    return Fix(f"Ignore {diagnostic.code} on this line", Safety.SAFE, {source.path: (edit,)}) if edit is not None else None


def _edit(source: SourceFile, tokens: LineTokens, line: int, code: str) -> Edit | None:
    text = source.line(line)
    _, comment = tokens.comments.get(line, (0, ""))
    if _IGNORE.search(comment):
        return _extended(tokens, line, code)
    if not comment and (line in tokens.open_strings or text.endswith("\\")):
        return _above(source, tokens, line, code)
    end = len(text.rstrip())
    return Edit(Span.at(line, end, line, len(text)), f"  # graphbreak: ignore[{code}]")


def _extended(tokens: LineTokens, line: int, code: str) -> Edit | None:
    """The code added to the list of an ignore comment; None where that hides it already."""
    column, comment = tokens.comments[line]
    match = _IGNORE.search(comment)
    listed = match["codes"] if match else None
    if match is None or listed is None or code in (item.strip() for item in listed.split(",")):
        return None
    end = Position(line, column + match.start("codes") + len(listed.rstrip()))
    return Edit(Span(end, end), f", {code}" if listed.strip() else code)


def _above(source: SourceFile, tokens: LineTokens, line: int, code: str) -> Edit | None:
    """The comment above the simple statement that holds a line: it then counts for all of its lines."""
    start = _statement_line(source, line)
    above = source.line(start - 1) if start else ""
    column, comment = tokens.comments.get(start - 1, (0, ""))
    if start != line and _is_compound(source, start):
        return None
    if _IGNORE.search(comment) and not above[:column].strip():
        return _extended(tokens, start - 1, code)
    if start - 1 in tokens.open_strings or above.endswith("\\"):
        return None
    return insertion(start, f"{indentation(source.line(start))}# graphbreak: ignore[{code}]{source.newline}")


def _statement_line(source: SourceFile, line: int) -> int:
    """The line where the innermost statement of a line begins."""
    starts = [node.lineno - 1 for node in _statements(source) if first_line(node) <= line <= last_line(node)]
    return max(starts, default=line)


def _is_compound(source: SourceFile, line: int) -> bool:
    return any(hasattr(node, "body") for node in _statements(source) if node.lineno - 1 == line)


def _statements(source: SourceFile) -> list[ast.stmt]:
    return [node for node in ast.walk(tree_of(source) or ast.Module([], [])) if isinstance(node, ast.stmt)]
