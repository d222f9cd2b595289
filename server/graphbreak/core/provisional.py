"""Results before the end: what a run has shown so far, put beside what was known before it. It adds; only a whole report takes away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .findings import Diagnostic, FunctionResult, Kind, Outcome, Report

_TOLD = frozenset({Kind.BREAK, Kind.SKIPPED, Kind.CALLER, Kind.INTENDED, Kind.RAISED})
"""What can be said before the end. A recompile is counted to the end; that something was not reached, or a comment not needed, is only
known there."""


def as_provisional(report: Report) -> Report:
    """Of the report of a run that goes on, what its end will not take back: breaks, and the functions that have some.

    Nothing in it says that something is clean: functions without a break are left out, and so are the lines that were not reached yet.
    """
    rows = (row for row in report.functions if row.outcome is Outcome.TRACED and row.breaks + row.skipped)
    return replace(
        report,
        functions=tuple(replace(row, provisional=True, regions=(), graph_list=()) for row in rows),
        diagnostics=tuple(found for found in report.diagnostics if found.kind in _TOLD),
        provisional=True,
    )


def beside(older: Report | None, seen: Report) -> Report:
    """What was known, with what a provisional report adds.

    What was known already stays word for word, since more is said of it than so far was seen again; so does all that was not seen again.
    """
    if older is None:
        return seen
    known = {_place(found): found for found in older.diagnostics}
    names = {found.id: known[_place(found)].id for found in seen.diagnostics if _place(found) in known}
    new = (found for found in seen.diagnostics if _place(found) not in known)
    return replace(
        older,
        version=seen.version,
        functions=_rows(older.functions, seen.functions),
        diagnostics=older.diagnostics + tuple(_renamed(found, names) for found in new),
        sources={**older.sources, **seen.sources},
        provisional=True,
    )


def _renamed(found: Diagnostic, names: dict[str, str]) -> Diagnostic:
    """The diagnostic of a cause that is shown under the name that it had before the text was edited."""
    return replace(found, id=names.get(found.id, found.id), caused_by=names.get(found.caused_by, found.caused_by))


def _rows(older: Sequence[FunctionResult], seen: Sequence[FunctionResult]) -> tuple[FunctionResult, ...]:
    """The rows as they were, and those of functions of which nothing was known."""
    known = {_mark(row) for row in older if row.outcome is Outcome.TRACED}
    new = [row for row in seen if _mark(row) not in known]
    replaced = {_mark(row) for row in new}
    rows = [row for row in older if _mark(row) not in replaced]
    return tuple(sorted(rows + new, key=lambda row: (row.path, row.line)))


def _mark(row: FunctionResult) -> tuple[object, ...]:
    return row.mark_path, row.mark_span


def _place(found: Diagnostic) -> tuple[object, ...]:
    """What is the same of one cause, or one caller of it, before and after the lines above it were edited."""
    inner = (found.stack[-1].path, found.stack[-1].line) if found.stack else ()
    return found.path, found.span, found.gb_type or found.code, found.kind is Kind.CALLER, inner
