"""Where the fields of a formatted string stand in its text: Python before 3.12 does not say it."""

from __future__ import annotations

import ast

from ..core.parsing import parse_expression
from .extraction import Unmovable


def fields(text: str, node: ast.JoinedStr) -> list[tuple[int, str]]:
    """For each `{field}` of a formatted string the offset of its expression in the string's text, and that expression's text.

    Raises `Unmovable` where they cannot be told for certain, and for `{field=}` and fields inside a format.
    """
    found: list[tuple[int, str]] = []
    values = [part for part in node.values if isinstance(part, ast.FormattedValue)]
    cursor = 0
    for value in values:
        if value.format_spec is not None and any(isinstance(part, ast.FormattedValue) for part in ast.walk(value.format_spec)):
            raise Unmovable
        start = _opening(text, cursor)
        end = _ending(text, start, ast.dump(value.value))
        found.append((start, text[start:end]))
        cursor = text.index("}", end) + 1
    if "{" in text[cursor:].replace("{{", ""):
        raise Unmovable
    return found


def _opening(text: str, cursor: int) -> int:
    """The offset behind the next brace that opens a field."""
    while cursor < len(text):
        if text.startswith("{{", cursor):
            cursor += 2
        elif text[cursor] == "{":
            return cursor + 1
        else:
            cursor += 1
    raise Unmovable


def _ending(text: str, start: int, wanted: str) -> int:
    """The offset where the expression of a field ends."""
    for end in range(start + 1, len(text)):
        if text[end] in "}:!" and _dump(text[start:end]) == wanted:
            return end
    raise Unmovable


def _dump(text: str) -> str:
    try:
        return ast.dump(parse_expression(f"({text.strip()})").body)
    except (SyntaxError, ValueError):
        return ""
