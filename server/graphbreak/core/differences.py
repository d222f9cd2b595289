"""Small edits that make one text of another, where only the two texts are known."""

from __future__ import annotations

import difflib
import re

from .source import Edit, SourceFile, Span

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, cut where `SourceFile` cuts them."""
    return _LINES.findall(text)


def edits_between(old: SourceFile, new: SourceFile) -> tuple[Edit, ...]:
    """The edits, of whole lines where these differ, without what both have in common at their ends; all are of the old text."""
    before, after = lines_of(old.text), lines_of(new.text)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    edits = []
    for tag, first, last, new_first, new_last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            edits.append(_trimmed(old, starts[first], "".join(before[first:last]), "".join(after[new_first:new_last])))
    return tuple(edits)


def _trimmed(old: SourceFile, start: int, before: str, after: str) -> Edit:
    """The replacement of one text by another, without the lines' common beginnings and ends (no line end is cut in two)."""
    most = min(len(before), len(after))
    head = next((index for index in range(most) if before[index] != after[index]), most)
    tail = next((index for index in range(most - head) if before[-1 - index] != after[-1 - index]), most - head)
    while _in_line_end(before, head) or _in_line_end(after, head):
        head -= 1
    while _in_line_end(before, len(before) - tail) or _in_line_end(after, len(after) - tail):
        tail -= 1
    span = Span(old.position(start + head), old.position(start + len(before) - tail))
    return Edit(span, after[head : len(after) - tail])


def _in_line_end(text: str, index: int) -> bool:
    """Whether an index falls between the two characters of one line end."""
    return index > 0 and text[index - 1 : index + 1] == "\r\n"
