"""Marks and comments in arbitrary texts: whatever a file says, its marks, comments and completions are found or not, and lie inside it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzz import FUZZING, TEXTS
from graphbreak.core.completion import completions
from graphbreak.core.imports import imports_in
from graphbreak.core.inputs import plan_runs
from graphbreak.core.marks import find_marks
from graphbreak.core.programs import program_of
from graphbreak.core.source import Position, SourceFile, Span


def assert_inside(source: SourceFile, span: Span) -> None:
    assert span.start <= span.end
    for place in (span.start, span.end):
        assert 0 <= place.line < len(source.lines)
        assert 0 <= place.column <= len(source.line(place.line))


@FUZZING
@given(text=TEXTS, line=st.integers(0, 12), column=st.integers(0, 60))
def test_marks_and_comments_are_found_in_any_text(text: str, line: int, column: int) -> None:
    source = SourceFile("/w/a.py", text)
    marks = find_marks(source)
    for mark in marks.marks:
        assert_inside(source, mark.span)
        assert_inside(source, mark.name_span)
    for directive in (*marks.stray, *(one for mark in marks.marks for one in mark.directives)):
        assert_inside(source, directive.span)
    for ignore in marks.ignores:
        assert_inside(source, ignore.span)
    imports_in(text)
    plan_runs(source, marks, run_unmarked=True)
    program_of(source.path, text, lambda: text)
    place = source.position(min(source.offset(Position(line, column)), len(text)))
    for found in completions(source, place, lambda mark: "", lambda mark: ""):
        assert_inside(source, found.span)
