"""codeLens: one row above each marked function: what became of it, and what can be done about it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from ..core import lens
from ..core.findings import FunctionResult, InputSet, Kind, Outcome
from ..core.marks import Mark
from ..core.suggest import suggest
from .connection import GraphbreakServer
from .convert import to_path
from .documents import Document
from .extensions import EDIT_INPUTS, SHOW_GRAPHS, TRACE, TRACE_FILE
from .settings import MANUAL

OPTIONS = types.CodeLensOptions(resolve_provider=False)


def code_lens(ls: GraphbreakServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The rows of a document, from the newest reports and the marks of its text as it is now."""
    path = to_path(params.text_document.uri)
    document = None if path is None else ls.session.documents.get(path)
    if document is None or not ls.session.configuration.of(document.path).lens:
        return []
    rows = _rows(document, _functions(ls, document.path))
    place = ls.session.converter.at_line
    return [types.CodeLens(place(line), command) for line, mark, found in rows for command in _commands(ls, document, mark, found)]


Row = tuple[int, Mark | None, list[FunctionResult]]


def _functions(ls: GraphbreakServer, path: str) -> list[FunctionResult]:
    """All that reports say of functions that are marked or defined in a file; of one mark what says most, the file's own trace first."""
    reports = ls.session.results.shown
    entries = sorted(ls.session.results.entries_with(path), key=lambda entry: entry != path)
    found = [function for entry in entries for function in reports[entry].functions if path in (function.path, function.mark_path)]
    found.sort(key=lambda function: (function.outcome is not Outcome.TRACED, not function.graphs))
    best: dict[object, FunctionResult] = {}
    for function in found:
        best.setdefault((function.mark_path, function.mark_span, function.path, function.line, function.name), function)
    return list(best.values())


def _rows(document: Document, functions: Sequence[FunctionResult]) -> Iterator[Row]:
    """The marks of the text with what is known of them; then what is defined here and marked elsewhere."""
    path = document.path
    marks = [mark for mark in document.marks.marks if not mark.options.disabled]
    lines, spans = [mark.line for mark in marks], {mark.span for mark in marks}
    own: dict[tuple[object, ...], list[FunctionResult]] = {}
    for function in functions:
        here = function.mark_path == path and function.mark_span in spans
        key = (function.mark_span,) if here else (function.path, function.line, function.name)
        own.setdefault(key, []).append(function)
    for mark in marks:
        mine = own.pop((mark.span,), []) + own.pop((path, mark.line, mark.name), [])
        # A function that was never called has the same row in each report.
        mine = [function for function in mine if function.outcome is Outcome.TRACED] or mine[:1]
        yield mark.line if lines.count(mark.line) == 1 else mark.span.start.line, mark, mine
    for function, *_ in own.values():
        line = function.line if function.path == path else function.mark_span.start.line
        if line not in lines:
            yield line, None, [function]


def _commands(ls: GraphbreakServer, document: Document, mark: Mark | None, found: Sequence[FunctionResult]) -> Iterable[types.Command]:
    uri, extended = document.uri, ls.session.extension.has_commands
    trusted = ls.session.configuration.of(document.path).trusted
    shown = [function for function in found if not lens.is_not_analysed(function)] if trusted else []
    for function in shown:
        title = lens.title(function, _intended(ls, function), document.path)
        title = f"{function.name}: {title}" if len(shown) > 1 else title
        where = [ls.session.converter.uri(function.path), function.name]
        yield types.Command(title, SHOW_GRAPHS, arguments=where) if extended else types.Command(title, TRACE, arguments=[uri])
    if not shown:
        reason = _tracing(ls, document.path) or (lens.title(found[0]) if found and trusted else _unknown(ls, document.path, trusted))
        yield types.Command(reason, "") if extended else types.Command(reason, TRACE, arguments=[uri])
    if not extended:
        return
    if trusted:
        yield types.Command("Trace now", TRACE_FILE, arguments=[uri])
    if shown:
        yield types.Command("Show graphs", SHOW_GRAPHS, arguments=[ls.session.converter.uri(shown[0].path), shown[0].name])
    if mark is not None:
        yield types.Command("Edit inputs", EDIT_INPUTS, arguments=_edit(document, mark, shown))


def _tracing(ls: GraphbreakServer, path: str) -> str:
    """What is being run that may yet show what the file's own trace did not."""
    entry = ls.session.entries.running(path)
    return f"tracing {os.path.basename(entry)}…" if entry is not None else ""


def _intended(ls: GraphbreakServer, function: FunctionResult) -> int:
    """How many breaks the user asked for in it."""
    reports = (report for report in ls.session.results.shown.values() if function in report.functions)
    found = next(reports).diagnostics
    return sum(diagnostic.kind is Kind.INTENDED and function.name in diagnostic.functions for diagnostic in found)


def _unknown(ls: GraphbreakServer, path: str, trusted: bool) -> str:
    """Why nothing is known of a mark at all."""
    if not trusted:
        return lens.not_analysed("the workspace is not trusted")
    if ls.session.runs.is_running(path):
        return "tracing…"
    if ls.session.runs.is_waiting(path):
        return "waits to be traced…"
    return lens.not_analysed("tracing waits for the command" if ls.session.configuration.of(path).run == MANUAL else "not traced yet")


def _edit(document: Document, mark: Mark, found: Sequence[FunctionResult]) -> list[object]:
    last = next((function.inputs[-1] for function in found if function.inputs), InputSet("", ""))
    suggestion = suggest(document.program, document.marks, mark, last.summary, call=last.expression)
    return [document.uri, suggestion.line, suggestion.indentation, suggestion.text, suggestion.existing]
