"""Remove an ignore comment that hides nothing, or one code of it.

Before:

    y = x * 2  # graphbreak: ignore[GB0059]
    print(y)  # graphbreak: ignore[GB0059, GB0170] wanted here

After:

    y = x * 2
    print(y)  # graphbreak: ignore[GB0059] wanted here

A comment on a line of its own goes with its line; other comments on the line stay. The last code in the brackets goes with the
whole comment, since empty brackets would hide everything.

When it is not safe: the program stays as it is, always. Other inputs may lead to a break here that was hidden until then.
"""

from __future__ import annotations

from ..core.comments import Ignore, read_comments
from ..core.findings import Diagnostic, Fix, Safety
from ..core.source import Edit, Position, SourceFile, Span
from .model import FixContext


def remove_ignore(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Take out what the diagnostic stands under."""
    source = context.sources.get(diagnostic.path)
    ignores = read_comments(source).ignores if source is not None else ()
    ignore = next((ignore for ignore in ignores if ignore.span.contains(diagnostic.span)), None)
    if source is None or ignore is None:
        return None
    if len(ignore.codes) > 1 and diagnostic.span in ignore.code_spans:
        title, span = f"Remove `{source.slice(diagnostic.span)}` from this ignore", _code_with_comma(ignore, diagnostic.span)
    else:
        title, span = "Remove this ignore comment", _whole_comment(source, ignore)
    return Fix(title, Safety.SAFE, {source.path: (Edit(span, ""),)})


def _code_with_comma(ignore: Ignore, span: Span) -> Span:
    """A code with what stands between it and the one before, of the first one between it and the next."""
    index = ignore.code_spans.index(span)
    if index:
        return Span(ignore.code_spans[index - 1].end, span.end)
    return Span(span.start, ignore.code_spans[1].start)


def _whole_comment(source: SourceFile, ignore: Ignore) -> Span:
    """The comment with the blanks around it that only it needs, or with its line where nothing else is on it."""
    start, end = ignore.span.start, ignore.span.end
    line = source.line(start.line)
    before, behind = line[: start.column].rstrip(), line[end.column :].lstrip()
    if behind:
        return Span(start, Position(end.line, len(line) - len(behind)))
    if before:
        return Span(Position(start.line, len(before)), Position(end.line, len(line)))
    if end.line + 1 < len(source.lines):
        return Span(Position(start.line, 0), Position(end.line + 1, 0))
    return Span(Position(start.line, 0), Position(end.line, len(line)))
