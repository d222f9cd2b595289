"""hover: why the graph breaks here, from the newest report."""

from __future__ import annotations

import re

from lsprotocol import types
from pygls.capabilities import get_capability

from ..core.explain import hover_markdown
from ..core.findings import Diagnostic, Kind, Outcome
from ..core.lens import function_markdown, inputs_words
from ..core.source import Span
from ..rules import page, page_named
from .connection import GraphbreakServer
from .convert import to_path
from .diagnostics import is_library_cause
from .documents import Document

_MOST_FUNCTIONS = 3
_MOST_TOLD = 20
"""So many things are told of one place: nobody reads more, and each costs its time."""
_RULE = "\n\n---\n\n"


def hover(ls: GraphbreakServer, params: types.HoverParams) -> types.Hover | None:
    """What is known about the position, the smallest expression first."""
    path = to_path(params.text_document.uri)
    document = None if path is None else ls.session.documents.get(path)
    if document is None:
        return None
    converter = ls.session.converter
    place = converter.from_position(document.source, params.position)
    ls.session.looked_at(document.path, Span(place, place))
    here = [d for d in ls.session.results.at(document.path) if d.span.touches(Span(place, place))]
    if not here:
        return _about_mark(ls, document, Span(place, place))
    here.sort(key=lambda d: _size(ls, d))
    here, more = here[:_MOST_TOLD], len(here) - _MOST_TOLD
    told = set() if not ls.session.extension.shows_messages else {id(d) for d in here if not is_library_cause(d)}
    text = _RULE.join(
        hover_markdown(diagnostic, _page_summary(diagnostic), told=id(diagnostic) in told) + _inputs(ls, diagnostic, document.path)
        for diagnostic in _with_causes(ls, here)[: 2 * _MOST_TOLD]
    )
    if age := ls.session.results.age(here[0]):
        text += f"{_RULE}This is known from {age}; it could not be analysed since."
    text += f"{_RULE}… and {more} more here." if more > 0 else ""
    return types.Hover(_content(ls, text), converter.to_range(document.path, here[0].span))


def _about_mark(ls: GraphbreakServer, document: Document, place: Span) -> types.Hover | None:
    """At a mark, or the name of what is marked, in which nothing is wrong: what became of it, with all its inputs."""
    path = document.path
    mark = next((mark for mark in document.marks.marks if mark.name_span.touches(place) or mark.span.touches(place)), None)
    if mark is None or not ls.session.configuration.of(path).trusted:
        return None
    rows = [row for report in ls.session.results.shown.values() for row in report.functions]
    mine = [row for row in rows if (row.mark_path, row.mark_span) == (path, mark.span) or (row.path, row.line) == (path, mark.line)]
    text = _RULE.join(dict.fromkeys(function_markdown(row, path) for row in mine if row.outcome is Outcome.TRACED))
    span = mark.name_span if mark.name_span.touches(place) else mark.span
    return types.Hover(_content(ls, text), ls.session.converter.to_range(path, span)) if text else None


def _inputs(ls: GraphbreakServer, diagnostic: Diagnostic, here: str) -> str:
    """With what the functions that it is in were called, and where that came from; a caller leaves it to its cause."""
    if diagnostic.kind in (Kind.CALLER, Kind.NOT_ANALYSED, Kind.UNUSED_IGNORE):
        return ""
    lines = [
        f"`{row.name}` was called with {inputs_words(row.inputs, here, '`')}."
        for row in ls.session.results.functions_of(diagnostic)
        if row.inputs
    ]
    return "".join(f"\n\n{line}" for line in lines[:_MOST_FUNCTIONS])


def _page_summary(diagnostic: Diagnostic) -> str:
    """Our own page on the kind of break, in short; a caller leaves it to its cause."""
    if diagnostic.kind is Kind.CALLER:
        return ""
    own = page(diagnostic.code) or page_named(diagnostic.gb_type)
    return f"{own.in_short}\n\n`graphbreak rule {own.code}` shows an example." if own is not None else ""


def _size(ls: GraphbreakServer, diagnostic: Diagnostic) -> int:
    source = ls.session.source(diagnostic.path)
    return len(source.slice(diagnostic.span)) if source is not None else 0


def _with_causes(ls: GraphbreakServer, here: list[Diagnostic]) -> list[Diagnostic]:
    """A caller alone says little: what it inherits comes right behind it."""
    told: list[Diagnostic] = []
    for diagnostic in here:
        causes = ls.session.results.linked(diagnostic) if diagnostic.kind is Kind.CALLER else []
        told += [d for d in (diagnostic, *causes) if d not in told]
    return told


def _content(ls: GraphbreakServer, markdown: str) -> types.MarkupContent:
    formats = get_capability(ls.client_capabilities, "text_document.hover.content_format")
    if formats and types.MarkupKind.Markdown not in formats:
        return types.MarkupContent(types.MarkupKind.PlainText, plain(markdown))
    return types.MarkupContent(types.MarkupKind.Markdown, markdown)


def plain(markdown: str) -> str:
    """Markdown to read as it is: links become their text, marks of emphasis and code go."""
    text = re.sub(r"^```\w*\n?", "", markdown, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^#+ ", "", text, flags=re.MULTILINE)
    text = re.sub(r"\\([\\`*_{}\[\]()#+\-.!<>|])", r"\1", text)
    return text.replace("**", "").replace("`", "")
