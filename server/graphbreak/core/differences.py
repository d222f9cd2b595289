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
    """The replacement of one text by another, without the lines' common beginnings and ends (a line end is never cut in two)."""
    most = min(len(before), len(after))
    head = next((index for index in range(most) if before[index] != after[index]), most)
    tail = next((index for index in range(most - head) if before[-1 - index] != after[-1 - index]), most - head)
    while head and before[head - 1] == "\r":
        head -= 1
    while tail and (before[len(before) - tail] == "\n" or after[len(after) - tail] == "\n"):
        tail -= 1
    span = Span(old.position(start + head), old.position(start + len(before) - tail))
    return Edit(span, after[head : len(after) - tail])
