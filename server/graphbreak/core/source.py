"""Text, positions and spans: the one coordinate system that everything inside the server uses.

Lines and columns are 0-based and columns count code points. Python's own columns are UTF-8 bytes and an
editor's may be UTF-16 units; the first are converted here, the second in `lsp/convert.py`.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, order=True)
class Position:
    """A place between two characters: 0-based line, 0-based column in code points."""

    line: int
    column: int


@dataclass(frozen=True, order=True)
class Span:
    """The text from `start` up to, not including, `end`."""

    start: Position
    end: Position

    @classmethod
    def at(cls, line: int, column: int, end_line: int, end_column: int) -> Span:
        """The span between two places given as plain numbers."""
        return cls(Position(line, column), Position(end_line, end_column))

    def contains(self, other: Span) -> bool:
        """Whether `other` lies wholly inside this span (its borders included)."""
        return self.start <= other.start and other.end <= self.end

    def touches(self, other: Span) -> bool:
        """Whether the two share a character or a border."""
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Edit:
    """Replace the text of `span` by `text`."""

    span: Span
    text: str


@dataclass(frozen=True)
class SourceFile:
    """One Python file as it is in the editor or on disk: where it is and what it says (without a byte-order mark)."""

    path: str
    text: str

    @cached_property
    def _starts(self) -> list[int]:
        if "\r" in self.text:
            return [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return [0, *accumulate([len(line) + 1 for line in self.lines[:-1]])]

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends, cut where Python and LSP cut them (`\\n`, `\\r\\n`, `\\r`; never at a form feed)."""
        return _LINE_END.split(self.text) if "\r" in self.text else self.text.split("\n")

    @cached_property
    def newline(self) -> str:
        """The line end that the file uses (its first one; `\\n` in a file of one line)."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def line(self, number: int) -> str:
        """The text of a line, or nothing where the file has no such line."""
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def offset(self, position: Position) -> int:
        """The index of a position in `text`; a position outside is moved to the nearest place inside."""
        if position.line < 0:
            return 0
        if position.line >= len(self._starts):
            return len(self.text)
        return self._starts[position.line] + min(max(position.column, 0), len(self.line(position.line)))

    def position(self, offset: int) -> Position:
        """The position of an index of `text`."""
        line = bisect.bisect_right(self._starts, offset) - 1
        return Position(line, min(offset - self._starts[line], len(self.lines[line])))

    def slice(self, span: Span) -> str:
        """The text that a span covers."""
        return self.text[self.offset(span.start) : self.offset(span.end)]

    def inside(self, span: Span) -> Span:
        """The span, or the nearest one that lies in the text."""
        start, end = self.offset(span.start), self.offset(span.end)
        return Span(self.position(start), self.position(max(start, end)))

    def column(self, line: int, utf8_column: int) -> int:
        """The code-point column of a UTF-8 byte column, as Python's `ast` and code objects count them."""
        text = self.line(line)
        if text.isascii():
            return min(utf8_column, len(text))
        return sum(byte & 0xC0 != 0x80 for byte in text.encode("utf-8", "surrogatepass")[:utf8_column])

    def statement_span(self, line: int) -> Span:
        """What is written on one line, from its first to its last visible character (a comment left out by nobody)."""
        text = self.line(line)
        start = len(text) - len(text.lstrip())
        return Span.at(line, start, line, max(len(text.rstrip()), start))

    def apply(self, edits: Iterable[Edit]) -> SourceFile:
        """The file after the edits, which must not overlap; their spans are all of the text before."""
        text = self.text
        for edit in sorted(edits, key=lambda e: (e.span.start, e.span.end), reverse=True):
            text = text[: self.offset(edit.span.start)] + edit.text + text[self.offset(edit.span.end) :]
        return SourceFile(self.path, text)


def moved(span: Span, edit: Edit) -> Span | None:
    """Where a span is after an edit; None when the edit changed text inside it.

    Text put in right before a span pushes it on; text put in right behind it leaves it alone.
    """
    if edit.span.end <= span.start:
        return Span(_moved(span.start, edit), _moved(span.end, edit))
    if edit.span.start >= span.end:
        return span
    return None


def _moved(position: Position, edit: Edit) -> Position:
    new_lines = _LINE_END.split(edit.text)
    end = edit.span.end
    line = position.line + len(new_lines) - 1 - (end.line - edit.span.start.line)
    if position.line > end.line:
        return Position(line, position.column)
    before = edit.span.start.column if len(new_lines) == 1 else 0
    return Position(line, position.column - end.column + before + len(new_lines[-1]))


def shared_beginning(one: str, other: str) -> int:
    """How many characters two texts begin with in common: by halving, as whole files are compared at every key."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
