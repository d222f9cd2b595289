"""The coordinate system: positions and offsets, Python's byte columns, edits, and spans that move with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.core.source import Edit, Position, SourceFile, Span, moved

PIECES = st.lists(st.sampled_from(["a", "b c", "é", "漢", "🎉", "\t", "\n", "\r\n", "\x0c"]), max_size=12).map("".join)
ANY_TEXT = st.text(st.sampled_from("ab é漢🎉\t\n\r\x0b\x0c\x85\u2028"), max_size=40)


def source_of(text: str) -> SourceFile:
    return SourceFile("/w/a.py", text)


def lsp_lines(text: str) -> list[str]:
    """Lines as the protocol defines them, one character at a time."""
    lines, line, index = [], "", 0
    while index < len(text):
        if text[index] in "\r\n":
            index += 2 if text[index : index + 2] == "\r\n" else 1
            lines.append(line)
            line = ""
        else:
            line += text[index]
            index += 1
    return [*lines, line]


def span_at(source: SourceFile, start: int, end: int) -> Span:
    return Span(source.position(start), source.position(end))


@given(ANY_TEXT)
def test_lines_are_cut_where_the_protocol_cuts_them(text: str) -> None:
    assert source_of(text).lines == lsp_lines(text)


@given(ANY_TEXT)
def test_every_offset_comes_back_from_its_position(text: str) -> None:
    source = source_of(text)
    for offset in range(len(text) + 1):
        inside_a_line_end = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
        assert source.offset(source.position(offset)) == (offset - 1 if inside_a_line_end else offset)


@given(ANY_TEXT)
def test_every_position_comes_back_from_its_offset(text: str) -> None:
    source = source_of(text)
    for number, line in enumerate(source.lines):
        for column in range(len(line) + 1):
            assert source.position(source.offset(Position(number, column))) == Position(number, column)


@pytest.mark.parametrize(
    ("position", "offset"),
    [
        (Position(-1, 5), 0),
        (Position(0, -3), 0),
        (Position(0, 99), 2),
        (Position(1, 99), 5),
        (Position(9, 0), 5),
    ],
)
def test_a_position_outside_the_text_is_moved_inside(position: Position, offset: int) -> None:
    assert source_of("ab\ncd").offset(position) == offset


@given(ANY_TEXT)
def test_byte_columns_become_character_columns(text: str) -> None:
    source = source_of(text)
    for number, line in enumerate(source.lines):
        for column in range(len(line) + 1):
            assert source.column(number, len(line[:column].encode())) == column
        assert source.column(number, 1000) == len(line)


def test_byte_columns_of_wide_characters_and_of_what_cannot_be_encoded() -> None:
    source = source_of("🎉x\ud800y")
    assert [source.column(0, utf8) for utf8 in (0, 4, 5, 8, 9, 99)] == [0, 1, 2, 3, 4, 4]
    assert 0 <= source.column(0, 2) <= 1
    assert source.column(7, 3) == 0
    assert source.line(7) == ""


@pytest.mark.parametrize(("text", "newline"), [("", "\n"), ("a", "\n"), ("a\r\nb\n", "\r\n"), ("a\nb\r\n", "\n"), ("a\rb", "\r")])
def test_a_file_keeps_the_line_end_that_it_uses(text: str, newline: str) -> None:
    assert source_of(text).newline == newline


@pytest.mark.parametrize(("line", "start", "end"), [("    x = 1  ", 4, 9), ("\tx", 1, 2), ("", 0, 0), ("   ", 3, 3), ("x  # why", 0, 8)])
def test_a_statement_span_leaves_out_the_white_space_around(line: str, start: int, end: int) -> None:
    assert source_of(line).statement_span(0) == Span.at(0, start, 0, end)


@given(PIECES, st.lists(st.integers(0, 60), max_size=6), st.lists(PIECES, min_size=3, max_size=3), st.randoms())
def test_edits_are_applied_as_if_each_were_the_only_one(text: str, cuts: list[int], texts: list[str], random: object) -> None:
    source = source_of(text)
    places = sorted({source.offset(source.position(min(cut, len(text)))) for cut in cuts})
    pairs = list(zip(places[::2], places[1::2]))
    edits = [Edit(span_at(source, start, end), new) for (start, end), new in zip(pairs, texts)]
    expected, done = "", 0
    for (start, end), new in zip(pairs, texts):
        expected += text[done:start] + new
        done = end
    random.shuffle(edits)  # type: ignore[attr-defined]
    assert source.apply(edits).text == expected + text[done:]


@given(PIECES, PIECES, PIECES, st.integers(0, 80), st.integers(0, 80), PIECES)
def test_a_moved_span_covers_the_same_text_or_is_given_up(before: str, inside: str, after: str, one: int, other: int, new: str) -> None:
    marked = f"⟦{inside}⟧"
    source = source_of(before + marked + after)
    start, end = sorted(source.offset(source.position(min(place, len(source.text)))) for place in (one, other))
    span = span_at(source, len(before), len(before) + len(marked))
    edit = Edit(span_at(source, start, end), new)
    edited = source.apply([edit])

    result = moved(span, edit)

    if end <= len(before) or start >= len(before) + len(marked):
        found = edited.text.index("⟦")
        assert result == span_at(edited, found, found + len(marked))
    else:
        assert result is None


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit(Span.at(1, 4, 1, 4), "x"), Span.at(1, 5, 1, 7)),  # right before: pushed on
        (Edit(Span.at(1, 6, 1, 6), "x"), Span.at(1, 4, 1, 6)),  # right behind: left alone
        (Edit(Span.at(1, 5, 1, 5), "x"), None),
        (Edit(Span.at(1, 3, 1, 5), ""), None),
        (Edit(Span.at(1, 5, 2, 0), ""), None),
        (Edit(Span.at(0, 0, 1, 0), ""), Span.at(0, 4, 0, 6)),
        (Edit(Span.at(0, 1, 1, 2), "\n\n"), Span.at(2, 2, 2, 4)),
        (Edit(Span.at(0, 0, 0, 0), "# new\r\n"), Span.at(2, 4, 2, 6)),
        (Edit(Span.at(2, 0, 2, 3), "y\ny\n"), Span.at(1, 4, 1, 6)),
    ],
)
def test_a_span_moves_with_the_text_before_it(edit: Edit, expected: Span | None) -> None:
    assert moved(Span.at(1, 4, 1, 6), edit) == expected


def test_spans_hold_and_touch_one_another() -> None:
    span = Span.at(1, 4, 2, 2)
    assert span.contains(span)
    assert span.contains(Span.at(1, 9, 1, 9))
    assert not span.contains(Span.at(1, 3, 1, 5))
    assert span.touches(Span.at(2, 2, 2, 5))
    assert not span.touches(Span.at(2, 3, 2, 5))
