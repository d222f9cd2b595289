"""Python's own parser, for one thread at a time.

CPython counts the depth of the tree that it builds once for all threads: two that parse at the same time disturb each other, and one
of them fails with a `SystemError`, whatever its text.
"""

from __future__ import annotations

import ast
import threading

_ONE_AT_A_TIME = threading.RLock()


def parse_module(text: str) -> ast.Module:
    """The tree of a file. Raises what `ast.parse` raises: SyntaxError, ValueError, RecursionError, MemoryError."""
    with _ONE_AT_A_TIME:
        return ast.parse(text)


def parse_expression(text: str) -> ast.Expression:
    """The tree of an expression. Raises the same."""
    with _ONE_AT_A_TIME:
        return ast.parse(text, mode="eval")


def literal(text: str) -> object:
    """The value of a literal. Raises the same, ValueError where it is none."""
    with _ONE_AT_A_TIME:
        return ast.literal_eval(text)
