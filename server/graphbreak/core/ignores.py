"""Which diagnostics the user has asked not to see: by a comment on the line, for a file, or by a setting."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from .comments import Ignore
from .findings import Diagnostic, Kind
from .nodes import tree_of
from .places import Sources
from .source import SourceFile

NO_GB_ID = "graph-break"
"""The code of a break for which PyTorch has no id."""

_GB_ID = re.compile(r"GB\d{4}", re.IGNORECASE)
_WORDS = frozenset({Kind.RECOMPILE.value, Kind.RAISED.value, Kind.NOT_ANALYSED.value, Kind.UNUSED_IGNORE.value, NO_GB_ID})


def is_code(word: str) -> bool:
    """Whether a diagnostic can have this code. Case does not matter wherever users write codes."""
    return bool(_GB_ID.fullmatch(word)) or word.lower() in _WORDS


def no_code(word: str) -> str:
    """What to say of a word that is none."""
    return f"`{word}` is not a code; codes look like GB0059"


def with_ignores(
    diagnostics: Sequence[Diagnostic],
    ignores: Mapping[str, tuple[Ignore, ...]],
    hidden: Callable[[str, str], bool],
    sources: Sources,
) -> list[Diagnostic]:
    """The same diagnostics with those marked that a comment asks to ignore, or the settings (`hidden`, by path and code).

    A cause takes its callers with it.
    """

    def ignored(diagnostic: Diagnostic) -> bool:
        if hidden(diagnostic.path, diagnostic.code):
            return True
        source = sources(diagnostic.path)
        return any(covers(ignore, diagnostic, source) for ignore in ignores.get(diagnostic.path, ()))

    causes = {diagnostic.id for diagnostic in diagnostics if diagnostic.kind is not Kind.CALLER and ignored(diagnostic)}
    return [
        replace(diagnostic, ignored=True) if diagnostic.id in causes or ignored(diagnostic) else diagnostic for diagnostic in diagnostics
    ]


def covers(ignore: Ignore, diagnostic: Diagnostic, source: SourceFile | None) -> bool:
    """Whether a comment asks to ignore a diagnostic of the same file."""
    if ignore.codes and diagnostic.code.upper() not in {code.upper() for code in ignore.codes}:
        return False
    if ignore.line is None:
        return True
    span = diagnostic.span
    if span.start.line <= ignore.line <= span.end.line:
        return True
    return source is not None and ignore.line <= span.start.line <= _simple_statements(source).get(ignore.line, -1)


@lru_cache(maxsize=64)
def _simple_statements(source: SourceFile) -> dict[int, int]:
    """The lines on which simple statements begin, each with the last line of the longest one."""
    lines: dict[int, int] = {}
    tree = tree_of(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            lines[node.lineno - 1] = max((node.end_lineno or node.lineno) - 1, lines.get(node.lineno - 1, 0))
    return lines
