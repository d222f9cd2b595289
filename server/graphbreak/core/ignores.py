"""Which diagnostics the user has asked not to see: by a comment on the line, for a file, or by a setting."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .comments import Ignore
from .findings import Diagnostic, Kind
from .places import Sources, tree_of
from .source import SourceFile, Span


def with_ignores(
    diagnostics: Sequence[Diagnostic], ignores: dict[str, tuple[Ignore, ...]], codes: Iterable[str], sources: Sources
) -> list[Diagnostic]:
    """The same diagnostics with those marked that a comment or a code in `codes` asks to ignore. A cause takes its callers with it."""
    wanted = {code.upper() for code in codes}

    def ignored(diagnostic: Diagnostic) -> bool:
        if diagnostic.code.upper() in wanted:
            return True
        source = sources(diagnostic.path)
        return any(_covers(ignore, diagnostic, source) for ignore in ignores.get(diagnostic.path, ()))

    causes = {diagnostic.id for diagnostic in diagnostics if diagnostic.kind is not Kind.CALLER and ignored(diagnostic)}
    return [
        replace(diagnostic, ignored=True) if diagnostic.id in causes or ignored(diagnostic) else diagnostic for diagnostic in diagnostics
    ]


def _covers(ignore: Ignore, diagnostic: Diagnostic, source: SourceFile | None) -> bool:
    if ignore.codes and diagnostic.code.upper() not in {code.upper() for code in ignore.codes}:
        return False
    if ignore.line is None:
        return True
    span = diagnostic.span
    return span.start.line <= ignore.line <= span.end.line or _statement_holds(source, ignore.line, span)


def _statement_holds(source: SourceFile | None, line: int, span: Span) -> bool:
    """Whether a simple statement that begins on a line goes on to hold a span."""
    tree = tree_of(source) if source is not None else None
    return any(
        isinstance(node, ast.stmt)
        and not hasattr(node, "body")
        and node.lineno - 1 == line
        and line <= span.start.line <= (node.end_lineno or 0) - 1
        for node in (ast.walk(tree) if tree is not None else ())
    )
