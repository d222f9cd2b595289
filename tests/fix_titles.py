"""Which fix a title in `tests/cases/` is of: told by the texts that its module makes titles of."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from functools import lru_cache

from graphbreak.fixes import FIXERS
from markdown_cases import all_cases, claim_of

_LONG_ENOUGH = 6
_WITHOUT_BEGINNING = 30
_FIELD = r"(?:[^`]+|`[^`]+`)"
_MORE = r"(?: \(.+| of `[^`]+` \(.+| only in eager mode)?"
"""What functions that several fixes share put behind the words that a module gives them."""


def fixes_called(title: str) -> set[str]:
    """The modules of the fixes that make such a title: more than one only where they word it alike."""
    return {name for name, patterns in _patterns().items() if any(pattern.fullmatch(title) for pattern in patterns)}


@lru_cache
def shown() -> dict[str, set[str]]:
    """For each fix with a case, by its module: the codes that are marked in its cases."""
    found: dict[str, set[str]] = {}
    for case in all_cases():
        for head, _ in case.fixes:
            for name in fixes_called(claim_of(head).title):
                found.setdefault(name, set()).update(mark.code for mark in case.marks if mark.kind != "caller")
    return found


@lru_cache
def _patterns() -> dict[str, list[re.Pattern[str]]]:
    return {row.fixer.__module__.rpartition(".")[2]: _of_module(row.fixer.__module__) for row in FIXERS}


def _of_module(module: str) -> list[re.Pattern[str]]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    texts = [_pattern(node) for node in ast.walk(tree) if isinstance(node, (ast.Constant, ast.JoinedStr))]
    return [re.compile(pattern + _MORE) for pattern, literal in texts if _is_title(pattern, literal)]


def _pattern(node: ast.Constant | ast.JoinedStr) -> tuple[str, str]:
    """A regular expression for a text, and the text without its fields."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    literals = [str(part.value) if isinstance(part, ast.Constant) and isinstance(part.value, str) else "" for part in parts]
    return "".join(re.escape(literal) or _FIELD for literal in literals), "".join(literals)


def _is_title(pattern: str, literal: str) -> bool:
    if "\n" in literal or len(literal) < _LONG_ENOUGH:
        return False
    return pattern[0].isupper() or (pattern.startswith(_FIELD) and len(literal) > _WITHOUT_BEGINNING)
