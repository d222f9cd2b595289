"""Edits in the editor's own units against a plain model of a text: whatever is typed where, both texts are the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from fuzz import FUZZING
from graphbreak.core.findings import Diagnostic, Kind, Report, Severity
from graphbreak.core.source import SourceFile, Span
from graphbreak.lsp.convert import Converter
from graphbreak.lsp.documents import Document, Documents
from graphbreak.lsp.moving import caught_up, moved_report

CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
PATH = "/w/a.py"
texts = st.text(st.sampled_from("ab (\r\n\f\u2028\x85é€😀\ud83d"), max_size=14)
numbers = st.one_of(st.integers(0, 6), st.integers(0, 40), st.just(2**31 - 1))
edits = st.one_of(
    texts.map(lambda text: (None, text)),
    st.tuples(st.tuples(numbers, numbers, numbers, numbers), texts),
)


def model_offset(text: str, line: int, units: int, encoding: str) -> int:
    """Where a position is, counted character by character."""
    codec, size = CODECS[encoding]
    index = 0
    for _ in range(line):
        while index < len(text) and text[index] not in "\r\n":
            index += 1
        if index == len(text):
            return index
        index += 2 if text[index : index + 2] == "\r\n" else 1
    while index < len(text) and text[index] not in "\r\n":
        units -= len(text[index].encode(codec, "surrogatepass")) // size
        if units < 0:
            break
        index += 1
    return index


def assert_inside(report: Report, source: SourceFile) -> None:
    for found in report.diagnostics:
        assert found.span.start <= found.span.end
        for place in (found.span.start, found.span.end):
            assert source.position(source.offset(place)) == place


@FUZZING
@given(before=texts, encoding=st.sampled_from(list(CODECS)), steps=st.lists(edits, max_size=6), at=st.tuples(numbers, numbers))
def test_a_text_is_what_the_editor_made_of_it(
    before: str, encoding: str, steps: list[tuple[tuple[int, int, int, int] | None, str]], at: tuple[int, int]
) -> None:
    documents, document = Documents(), Document("file:///w/a.py", 1, "python", SourceFile(PATH, before))
    documents.open(document)
    converter = Converter(encoding, lambda path: document.source, documents.uri, lambda path: document.version)
    text, first = before, document.source
    marked = first.position(min(at[0], len(before))), first.position(min(at[0] + at[1] % 4, len(before)))
    span = Span(*marked)
    report = Report(PATH, diagnostics=(Diagnostic("d", PATH, span, Severity.WARNING, Kind.BREAK, "GB", "m"),), sources={PATH: first})
    moved = report
    for place, new in steps:
        change: types.TextDocumentContentChangeEvent
        if place is None:
            change, text = types.TextDocumentContentChangeWholeDocument(new), new
        else:
            ends = types.Position(*place[:2]), types.Position(*place[2:])
            start, end = sorted(model_offset(text, position.line, position.character, encoding) for position in ends)
            change, text = types.TextDocumentContentChangePartial(types.Range(*ends), new), text[:start] + new + text[end:]
        step = documents.change(document, converter.from_change(document.source, change))
        assert document.source.text == text
        moved = moved_report(moved, step, document.source)
        assert_inside(moved, document.source)
    assert_inside(caught_up(report, document.since(0), document.source), document.source)
    for diagnostic in moved.diagnostics:
        shown = converter.to_range(PATH, diagnostic.span)
        assert converter.from_range(document.source, shown) == diagnostic.span
        offsets = [model_offset(text, place.line, place.character, encoding) for place in (shown.start, shown.end)]
        assert offsets == [document.source.offset(place) for place in (diagnostic.span.start, diagnostic.span.end)]
