"""What several reports say together: of a function that one came to, another that did not, or only guessed its inputs, is not heard."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from .findings import Diagnostic, FunctionResult, Kind, Outcome, Report
from .source import Span

Marked = tuple[str, Span]
"""A mark by its file and place."""


def is_guess(row: FunctionResult) -> bool:
    """Whether a function was only traced with inputs that were guessed."""
    return row.outcome is Outcome.TRACED and bool(row.inputs) and all(inputs.source == "inferred" for inputs in row.inputs)


def is_open(row: FunctionResult) -> bool:
    """Whether the run of another file may show more of a function: nothing called it here."""
    return row.outcome in (Outcome.NOT_REACHED, Outcome.NO_INPUTS, Outcome.RAISED) or is_guess(row)


def without_outdone(reports: Collection[Report]) -> list[Report]:
    """The reports without what another one knows better: each mark's guess where a real call was seen, and the hint that there was none."""
    rows = [row for report in reports for row in report.functions if row.outcome is Outcome.TRACED]
    called = {_marked(row) for row in rows if not is_guess(row)}
    hints = {not_analysed_id(row) for row in rows}
    return [_without(report, called, hints) for report in reports]


def _without(report: Report, called: set[Marked], hints: set[str]) -> Report:
    outdone = {row.name for row in report.functions if is_guess(row) and _marked(row) in called}
    needed = {row.name for row in report.functions if not (is_guess(row) and _marked(row) in called)}

    def stays(found: Diagnostic) -> bool:
        if found.kind is Kind.NOT_ANALYSED:
            return found.id not in hints
        return not found.guessed or not outdone.issuperset(found.functions) or bool(needed.intersection(found.functions))

    if not outdone and all(map(stays, report.diagnostics)):
        return report
    rows = tuple(row for row in report.functions if row.name not in outdone or row.name in needed)
    return replace(report, functions=rows, diagnostics=tuple(filter(stays, report.diagnostics)))


def _marked(row: FunctionResult) -> Marked:
    return row.mark_path, row.mark_span


def not_analysed_id(row: FunctionResult) -> str:
    """What the hint at a function that was not analysed has for an id, the same in the reports of all files."""
    return f"not-analysed:{row.mark_path}:{row.name}"
