"""Reports follow the text: whatever a report says about a file is carried through the edits made to it since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, FunctionResult, Related, Report, StackFrame
from ..core.source import Edit, Position, SourceFile, Span, moved


def trimmed(source: SourceFile, edit: Edit) -> Edit:
    """The same change without the text that it replaces by itself, so that what did not change keeps its place.

    Some editors send a whole function, or the whole file, to change one word of it.
    """
    old, new = source.slice(edit.span), edit.text
    head = _shared(old, new)
    while _in_line_end(old, head) or _in_line_end(new, head):
        head -= 1
    tail = _shared(old[head:][::-1], new[head:][::-1])
    while _in_line_end(old, len(old) - tail) or _in_line_end(new, len(new) - tail):
        tail -= 1
    start = source.offset(edit.span.start)
    span = Span(source.position(start + head), source.position(start + len(old) - tail))
    return Edit(span, new[head : len(new) - tail])


def difference(source: SourceFile, text: str) -> Edit:
    """The smallest single edit that turns the file into `text`."""
    return trimmed(source, Edit(Span(Position(0, 0), source.position(len(source.text))), text))


def caught_up(report: Report, steps: Sequence[Edit], now: SourceFile) -> Report:
    """The report, brought to the text that one of its files has by now.

    `steps` are the edits that the editor sent meanwhile. Where they do not lead from the one text to the other (the file was
    opened or reloaded in between), the difference of the two texts serves in their place.
    """
    before = report.sources.get(now.path)
    if before is None or before.text == now.text:
        return report
    text = before
    for step in steps:
        text = text.apply([step])
    if text.text != now.text:
        steps = [difference(before, now.text)]
    for step in steps:
        report = moved_report(report, step, now)
    return report


def moved_report(report: Report, edit: Edit, after: SourceFile) -> Report:
    """The report after an edit of one file; `after` is that file as it is then. What the edit changed inside is dropped."""
    move = _Move(after.path, edit)
    found = (_moved_diagnostic(diagnostic, move) for diagnostic in report.diagnostics)
    return replace(
        report,
        diagnostics=tuple(diagnostic for diagnostic in found if diagnostic is not None),
        functions=tuple(_moved_function(function, move) for function in report.functions),
        sources={path: after if path == after.path else source for path, source in report.sources.items()},
    )


class _Move:
    """One edit of one file, asked for places in any file."""

    def __init__(self, path: str, edit: Edit) -> None:
        self.path = path
        self._edit = edit
        self._nothing = edit.span.start == edit.span.end and not edit.text

    def span(self, path: str, span: Span) -> Span | None:
        """Where a span is now; None when its text was changed."""
        return span if path != self.path or self._nothing else moved(span, self._edit)

    def line(self, path: str, line: int) -> int:
        """Where a line is now; one that was itself rewritten keeps its number."""
        place = self.span(path, Span.at(line, 0, line, 0))
        return line if place is None else place.start.line


def _moved_diagnostic(diagnostic: Diagnostic, move: _Move) -> Diagnostic | None:
    span = move.span(diagnostic.path, diagnostic.span)
    if span is None:
        return None
    related = (_moved_related(place, move) for place in diagnostic.related)
    fixes = (_moved_fix(fix, move) for fix in diagnostic.fixes)
    return replace(
        diagnostic,
        span=span,
        stack=tuple(_moved_frame(frame, move) for frame in diagnostic.stack),
        frames=tuple(replace(frame, line=move.line(frame.path, frame.line)) for frame in diagnostic.frames),
        related=tuple(place for place in related if place is not None),
        fixes=tuple(fix for fix in fixes if fix is not None),
    )


def _moved_related(place: Related, move: _Move) -> Related | None:
    span = move.span(place.path, place.span)
    return None if span is None else replace(place, span=span)


def _moved_frame(frame: StackFrame, move: _Move) -> StackFrame:
    span = None if frame.span is None else move.span(frame.path, frame.span)
    return replace(frame, line=move.line(frame.path, frame.line) if span is None else span.start.line, span=span)


def _moved_fix(fix: Fix, move: _Move) -> Fix | None:
    """The fix for the text as it is now, or nothing when any part of what it replaces was changed: half a fix is none."""
    moved_edits: dict[str, tuple[Edit, ...]] = {}
    for path, edits in fix.edits.items():
        spans = [move.span(path, edit.span) for edit in edits]
        moved_edits[path] = tuple(Edit(span, edit.text) for span, edit in zip(spans, edits, strict=True) if span is not None)
        if None in spans:
            return None
    return replace(fix, edits=moved_edits)


def _moved_function(function: FunctionResult, move: _Move) -> FunctionResult:
    span = move.span(function.mark_path, function.mark_span)
    return replace(function, line=move.line(function.path, function.line), mark_span=span or function.mark_span)


def _shared(one: str, other: str) -> int:
    """How many characters the two begin with in common: by halving, as whole files are compared here at every key."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _in_line_end(text: str, index: int) -> bool:
    """Whether an index falls between the two characters of one line end, where no position can point."""
    return index > 0 and text[index - 1 : index + 1] == "\r\n"
