"""What an edit did to the causes of a file: two reports, of the text before and after it, compared by place and not by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .breaks import DISABLED_HERE
from .findings import Diagnostic, FunctionResult, Kind, Outcome, Report
from .source import Edit, Position, SourceFile, Span, moved

Edits = Mapping[str, Sequence[Edit]]
"""Edits by absolute path; those of one file are all of its text before, and do not overlap."""

COUNTED = frozenset({Kind.BREAK, Kind.SKIPPED, Kind.INTENDED})
"""What counts as a break here. One that is made intended is still there."""

_LOOKED_AT = COUNTED | {Kind.RAISED, Kind.RECOMPILE}


@dataclass(frozen=True)
class Change:
    """What became of the causes. `gone` and `left` are of the text before, the others of the text after.

    `made` stand in text that the edit put in, `revealed` in text that it left alone: they lay behind what is gone.
    """

    gone: tuple[Diagnostic, ...] = ()
    left: tuple[Diagnostic, ...] = ()
    made: tuple[Diagnostic, ...] = ()
    revealed: tuple[Diagnostic, ...] = ()
    moved: Mapping[str, Diagnostic] = field(default_factory=dict)
    """For each that is left, by its id, what it is after the edit."""


def causes(report: Report, kinds: Iterable[Kind] = COUNTED) -> list[Diagnostic]:
    """The causes of some kinds that a report shows, each once."""
    wanted = frozenset(kinds)
    return list({(found.kind, found.id): found for found in report.diagnostics if found.kind in wanted}.values())


def changed(before: Report, after: Report, edits: Edits) -> Change:
    """Which causes an edit removed, left, made and laid bare."""
    waiting = causes(after, _LOOKED_AT)
    gone, left, pairs = [], [], {}
    for cause in causes(before, _LOOKED_AT):
        place = _Place(cause, edits.get(cause.path, ()), before.sources.get(cause.path))
        found = next((other for other in waiting if place.is_now(other)), None)
        if found is None:
            gone.append(cause)
        else:
            waiting.remove(found)
            left.append(cause)
            pairs[cause.id] = found
    own = [found for found in waiting if _was_there(found, edits)]
    return Change(tuple(gone), tuple(left), tuple(found for found in waiting if found not in own), tuple(own), pairs)


class _Place:
    """A cause of the text before, asked whether one of the text after is the same."""

    def __init__(self, cause: Diagnostic, edits: Sequence[Edit], source: SourceFile | None) -> None:
        self._cause = cause
        self._back = inverted(edits)
        self._span = moved_through(cause.span, edits)
        self._image = image(cause.span, edits)

    def is_now(self, other: Diagnostic) -> bool:
        """Whether it is: the same type at the same place, or, where the edit changed the text there, around the same place."""
        mine = self._cause
        if other.path != mine.path or not _alike(mine, other):
            return False
        if self._span is not None:
            return other.span == self._span
        return moved_through(other.span, self._back) is None and self._image.start < other.span.end and other.span.start < self._image.end


def _alike(cause: Diagnostic, other: Diagnostic) -> bool:
    """Whether two are of one type. A break that costs the whole function may after an edit cost less; one made intended is another."""
    classes = {Kind.SKIPPED: Kind.BREAK}
    if classes.get(cause.kind, cause.kind) is not classes.get(other.kind, other.kind):
        return False
    return cause.kind in (Kind.RECOMPILE, Kind.RAISED) or (cause.gb_type or cause.code) == (other.gb_type or other.code)


def _was_there(found: Diagnostic, edits: Edits) -> bool:
    """Whether a cause of the text after stands in text that was there before; of a disabled callee, where it is disabled counts."""
    own = inverted(edits.get(found.path, ()))
    if moved_through(found.span, own) is None:
        return False
    places = [place for place in found.related if place.message == DISABLED_HERE]  # each is known by its line only
    return not any(_is_on(place.span.start.line, edit.span) for place in places for edit in inverted(edits.get(place.path, ())))


def _is_on(line: int, span: Span) -> bool:
    return span.start.line <= line <= span.end.line


def moved_through(span: Span, edits: Iterable[Edit]) -> Span | None:
    """Where a span of the text before is after edits that are all of the text before; None when one changed text inside it."""
    place: Span | None = span
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        place = moved(place, edit) if place is not None else None
    return place


def inverted(edits: Iterable[Edit]) -> list[Edit]:
    """Edits that are all of the text after, and cover what the given ones put in; what they put back does not matter here."""
    found: list[Edit] = []
    ordered = sorted(edits, key=lambda edit: edit.span)
    for index, edit in enumerate(ordered):
        start = edit.span.start
        for earlier in reversed(ordered[:index]):
            shifted = moved(Span(start, start), earlier)
            start = shifted.start if shifted is not None else start
        lines = edit.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        column = len(lines[-1]) + (start.column if len(lines) == 1 else 0)
        removed = edit.span
        text = "\n" * (removed.end.line - removed.start.line)
        text += " " * (removed.end.column - (removed.start.column if not text else 0))
        found.append(Edit(Span(start, Position(start.line + len(lines) - 1, column)), text))
    return found


def image(span: Span, edits: Iterable[Edit]) -> Span:
    """What a span of the text before covers after edits, those inside it and at its borders included."""
    start, end = span.start, span.end
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        whole = Span(min(start, edit.span.start), max(end, edit.span.end)) if _overlap(edit.span, Span(start, end)) else None
        if whole is None:
            place = moved(Span(start, end), edit)
            start, end = (place.start, place.end) if place is not None else (start, end)
        else:
            tail = moved(Span(whole.end, whole.end), edit)
            start, end = whole.start, tail.end if tail is not None else whole.end
    return Span(start, end)


def _overlap(one: Span, other: Span) -> bool:
    """Whether two spans share a character, or one is empty and lies in the other."""
    if one.start == one.end or other.start == other.end:
        return one.touches(other)
    return one.start < other.end and other.start < one.end


# What was captured


def lost_function(before: Report, after: Report) -> str:
    """The marked function that is not compiled any more though it was, in words; empty where there is none."""
    now = {(row.mark_path, row.name): row for row in after.functions}
    for row in before.functions:
        found = now.get((row.mark_path, row.name)) or now.get((row.mark_path, part_name(row.name)))
        if row.outcome is Outcome.TRACED and (found is None or found.outcome is not Outcome.TRACED):
            return f"`{row.name}` is not traced any more"
        if row.graphs and found is not None and not found.graphs:
            return f"nothing of `{row.name}` is compiled any more"
    return ""


def part_name(name: str) -> str:
    """What the compiled part of a function is called where a fix leaves its name to one that calls it; the comparison goes by it too."""
    head, dot, last = name.rpartition(".")
    return f"{head}{dot}_{last}"


def lost_operations(before: Report, after: Report, edits: Edits, freed: Iterable[tuple[str, Span]] = ()) -> int:
    """How many operations fewer are captured of the text that the edit left alone, and did not free of them."""
    free = {(path, line) for path, span in freed for line in range(span.start.line, span.end.line + 1)}
    lines = ((place, count) for row in before.functions for place, count in _captured(row).items())
    kept = sum(count for place, count in lines if place not in free and not _is_edited(*place, edits))
    return kept - sum(count for row in after.functions for count in _captured(row).values())


def _captured(row: FunctionResult) -> Counter[tuple[str, int]]:
    """How often each line has an operation in a graph. Where guards failed, graphs were captured again: then the fullest counts."""
    found: Counter[tuple[str, int]] = Counter()
    for graph in row.graph_list:
        own = Counter((op.path, op.line) for op in graph.ops)
        found = found | own if row.recompiles else found + own
    return found


def _is_edited(path: str, line: int, edits: Edits) -> bool:
    """Whether an edit replaces something of a line."""
    spans = [edit.span for edit in edits.get(path, ()) if edit.span.start != edit.span.end]
    return any(span.start < Position(line + 1, 0) and Position(line, 0) < span.end for span in spans)
