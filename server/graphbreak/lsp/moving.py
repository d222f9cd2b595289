"""Reports follow the text: whatever a report says about a file is carried through the edits made to it since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, FunctionResult, Graph, Region, Related, Report, StackFrame
from ..core.source import Edit, Position, SourceFile, Span, moved, shared_beginning


def trimmed(source: SourceFile, edit: Edit) -> Edit:
    """The same change without the text that it replaces by itself, so that what did not change keeps its place.

    Some editors send a whole function, or the whole file, to change one word of it.
    """
    old, new = source.slice(edit.span), edit.text
    head = shared_beginning(old, new)
    while _in_line_end(old, head) or _in_line_end(new, head):
        head -= 1
    tail = shared_beginning(old[head:][::-1], new[head:][::-1])
    while _in_line_end(old, len(old) - tail) or _in_line_end(new, len(new) - tail):
        tail -= 1
    begin = source.offset(edit.span.start)
    return _with_whole_line_ends(source, begin + head, begin + len(old) - tail, new[head : len(new) - tail])


def _with_whole_line_ends(source: SourceFile, start: int, end: int, text: str) -> Edit:
    """The edit that replaces what is between two indices, made wider where two line ends become one by it."""
    if source.text[start - 1 : start] == "\r" and (text or source.text[end : end + 1]).startswith("\n"):
        start, text = start - 1, "\r" + text
    if source.text[end : end + 1] == "\n" and text.endswith("\r"):
        end, text = end + 1, text + "\n"
    return Edit(Span(source.position(start), source.position(end)), text)


def difference(source: SourceFile, text: str) -> Edit:
    """The smallest single edit that turns the file into `text`."""
    return trimmed(source, Edit(Span(Position(0, 0), source.position(len(source.text))), text))


def caught_up(report: Report, steps: Sequence[Edit], now: SourceFile) -> Report:
    """The report, brought to the text that one of its files has by now.

    `steps` are the edits that the editor sent meanwhile. Where they do not lead from the one text to the other (the file was
    opened or reloaded in between), the difference of the two texts serves in their place.
    """
    before = report.sources.get(now.path)
    if before is None:  # without the text it began with, the edits are all there is to go by
        for step in steps:
            report = moved_report(report, step, now)
        return report
    if before.text == now.text:
        return report
    texts = [before]
    for step in steps:
        texts.append(texts[-1].apply([step]))
    if texts[-1].text != now.text:
        steps, texts = [difference(before, now.text)], [before, now]
    for step, text in zip(steps, texts[1:], strict=True):
        report = moved_report(report, step, text)
    return report


def moved_report(report: Report, edit: Edit, after: SourceFile) -> Report:
    """The report after an edit of one file; `after` is that file as it is then. What the edit changed inside is dropped."""
    move = _Move(after.path, edit, report.sources.get(after.path))
    found = (_moved_diagnostic(diagnostic, move) for diagnostic in report.diagnostics)
    return replace(
        report,
        diagnostics=tuple(diagnostic for diagnostic in found if diagnostic is not None),
        functions=tuple(_moved_function(function, move) for function in report.functions),
        sources={path: after if path == after.path else source for path, source in report.sources.items()},
    )


class _Move:
    """One edit of one file, asked for places in any file. `before` is its text before the edit, where that is known."""

    def __init__(self, path: str, edit: Edit, before: SourceFile | None) -> None:
        self.path = path
        self._edit = edit
        self._before = before
        self._nothing = edit.span.start == edit.span.end and not edit.text
        self._first, self._last = edit.span.start.line, edit.span.end.line
        self._shift = len(SourceFile(path, edit.text).lines) - 1 - (self._last - self._first)

    def leaves(self, path: str, start: int, end: int) -> bool:
        """Whether what lies between two lines is certainly where it was: most keys shift no lines, and so change next to nothing."""
        return path != self.path or self._nothing or end < self._first or (start > self._last and not self._shift)

    def span(self, path: str, span: Span) -> Span | None:
        """Where a span is now; None when its text was changed."""
        if path != self.path or self._nothing or span.end.line < self._first:
            return span
        if span.start.line <= self._last:
            return moved(span, self._edit)
        # Most spans lie on lines of their own, and this is done for all of them at every key.
        start, end = span.start, span.end
        return Span.at(start.line + self._shift, start.column, end.line + self._shift, end.column) if self._shift else span

    def line(self, path: str, line: int) -> int:
        """Where a line is now; one that was itself rewritten keeps its number."""
        if path != self.path or self._nothing or line < self._first:
            return line
        if line > self._last:
            return line + self._shift
        start = self._text_of(line).start
        place = self.span(path, Span(start, start))
        return line if place is None else place.start.line

    def region(self, region: Region) -> Iterator[Region]:
        """What is left of a region: of a line that was changed nobody knows what becomes of it, so it is none of its lines any more."""
        first, last = self._edit.span.start.line, self._edit.span.end.line
        if region.path != self.path or self._nothing or region.end < first:
            yield region
            return
        if region.start > last:
            yield replace(region, start=self.line(region.path, region.start), end=self.line(region.path, region.end))
            return
        places = (self.span(region.path, self._text_of(line)) for line in range(region.start, region.end + 1))
        lines = list(dict.fromkeys(place.start.line for place in places if place is not None))
        start = 0
        for index in range(1, len(lines) + 1):
            if index == len(lines) or lines[index] != lines[index - 1] + 1:
                yield replace(region, start=lines[start], end=lines[index - 1])
                start = index

    def _text_of(self, line: int) -> Span:
        return self._before.statement_span(line) if self._before is not None else Span.at(line, 0, line, 0)


def _lines_of(diagnostic: Diagnostic) -> Iterator[tuple[str, int, int]]:
    """The files, first and last lines of all that a diagnostic points to."""
    yield diagnostic.path, diagnostic.span.start.line, diagnostic.span.end.line
    for frame in diagnostic.stack:
        yield frame.path, frame.line, frame.line
        if frame.span is not None:
            yield frame.path, frame.span.start.line, frame.span.end.line
    yield from ((effect.path, effect.line, effect.line) for effect in diagnostic.frames)
    yield from ((place.path, place.span.start.line, place.span.end.line) for place in diagnostic.related)
    for fix in diagnostic.fixes:
        yield from ((path, edit.span.start.line, edit.span.end.line) for path, edits in fix.edits.items() for edit in edits)


def _moved_diagnostic(diagnostic: Diagnostic, move: _Move) -> Diagnostic | None:
    if all(move.leaves(*lines) for lines in _lines_of(diagnostic)):
        return diagnostic
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


def _stays(function: FunctionResult, move: _Move) -> bool:
    return (
        move.leaves(function.mark_path, function.mark_span.start.line, function.mark_span.end.line)
        and move.leaves(function.path, function.line, function.line)
        and all(move.leaves(region.path, region.start, region.end) for region in function.regions)
        and all(move.leaves(operation.path, operation.line, operation.line) for graph in function.graph_list for operation in graph.ops)
    )


def _moved_function(function: FunctionResult, move: _Move) -> FunctionResult:
    if _stays(function, move):
        return function
    span = move.span(function.mark_path, function.mark_span)
    return replace(
        function,
        line=move.line(function.path, function.line),
        mark_span=span or function.mark_span,
        regions=tuple(left for region in function.regions for left in move.region(region)),
        graph_list=tuple(_moved_graph(graph, move) for graph in function.graph_list),
    )


def _moved_graph(graph: Graph, move: _Move) -> Graph:
    if not any(operation.path == move.path for operation in graph.ops):
        return graph
    lines = [move.line(op.path, op.line) for op in graph.ops]
    if all(line == op.line for line, op in zip(lines, graph.ops)):
        return graph
    return replace(graph, ops=tuple(replace(op, line=line) for line, op in zip(lines, graph.ops)))


def _in_line_end(text: str, index: int) -> bool:
    """Whether an index falls between the two characters of one line end, where no position can point."""
    return index > 0 and text[index - 1 : index + 1] == "\r\n"
