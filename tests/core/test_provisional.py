"""What is shown while a run goes on: never less than before it, never more than was seen."""

from __future__ import annotations

from dataclasses import replace

from graphbreak.core.findings import Diagnostic, Fix, FunctionResult, Kind, Outcome, Region, Report, Safety, Severity, StackFrame
from graphbreak.core.provisional import as_provisional, beside
from graphbreak.core.source import SourceFile, Span

A = "/w/a.py"


def row(name: str, line: int, outcome: Outcome = Outcome.TRACED, breaks: int = 0) -> FunctionResult:
    regions = (Region(A, line, line, "not-reached"),)
    return FunctionResult(A, name, line, A, Span.at(line - 1, 0, line - 1, 9), outcome, breaks=breaks, regions=regions)


def found(key: str, line: int, kind: Kind = Kind.BREAK, inner: int | None = None, caused_by: str = "") -> Diagnostic:
    stack = (StackFrame(A, line if inner is None else inner, "f"),)
    return Diagnostic(
        key, A, Span.at(line, 4, line, 9), Severity.WARNING, kind, "GB0059", f"message of {key}", stack=stack, caused_by=caused_by
    )


def ids(report: Report) -> list[str]:
    return [diagnostic.id for diagnostic in report.diagnostics]


def test_a_run_that_goes_on_calls_nothing_clean_and_nothing_not_analysed() -> None:
    rows = (row("f", 1, breaks=2), row("g", 5), row("h", 9, Outcome.NOT_REACHED))
    told = [
        found("b", 2),
        found("c", 3, Kind.CALLER),
        found("s", 4, Kind.SKIPPED),
        found("i", 5, Kind.INTENDED),
        found("r", 6, Kind.RAISED),
    ]
    held = [found("n", 9, Kind.NOT_ANALYSED), found("u", 7, Kind.UNUSED_IGNORE), found("again", 8, Kind.RECOMPILE)]
    seen = as_provisional(Report(A, functions=rows, diagnostics=(*held, *told)))
    assert seen.provisional
    assert [(function.name, function.provisional, function.regions) for function in seen.functions] == [("f", True, ())]
    assert list(seen.diagnostics) == told


def test_what_was_known_stays_word_for_word_and_what_is_new_is_added() -> None:
    fixed = replace(found("old", 2), fixes=(Fix("Remove it", Safety.SAFE, {}),))
    older = Report(A, 1, (row("f", 1, breaks=2),), (fixed, found("gone", 3)), output="before", sources={A: SourceFile(A, "old")})
    seen = Report(A, 2, (row("f", 1, breaks=1),), (replace(found("old", 2), message="less"), found("new", 4)), provisional=True)
    both = beside(older, seen)
    assert both.diagnostics == (fixed, found("gone", 3), found("new", 4))
    assert (both.functions, both.version, both.output, both.provisional) == (older.functions, 2, "before", True)
    assert both.sources[A].text == "old"
    assert beside(None, seen) is seen


def test_a_cause_that_was_moved_is_the_same_one_under_the_name_it_had() -> None:
    older = Report(A, diagnostics=(found("before", 5),))
    callers = (found("now", 9, Kind.CALLER, inner=5), found("then", 7, caused_by="now"))
    both = beside(older, Report(A, diagnostics=(found("now", 5), *callers), provisional=True))
    assert ids(both) == ["before", "before", "then"]
    assert both.diagnostics[2].caused_by == "before"


def test_two_causes_of_a_library_below_one_call_are_two() -> None:
    older = Report(A, diagnostics=(found("one", 5, inner=100),))
    assert ids(beside(older, Report(A, diagnostics=(found("other", 5, inner=200),), provisional=True))) == ["one", "other"]


def test_a_kind_that_is_only_known_at_the_end_of_its_frame_is_not_a_second_cause() -> None:
    older = Report(A, diagnostics=(found("x", 5, Kind.SKIPPED),))
    assert beside(older, Report(A, diagnostics=(found("x", 5),), provisional=True)).diagnostics == older.diagnostics


def test_a_function_of_which_nothing_was_known_has_its_row_at_once() -> None:
    older = Report(A, functions=(row("f", 1), row("g", 5, Outcome.NOT_REACHED)))
    both = beside(older, Report(A, functions=(row("g", 5, breaks=1), row("f", 1, breaks=1)), provisional=True))
    assert [(function.name, function.outcome, function.breaks) for function in both.functions] == [
        ("f", Outcome.TRACED, 0),
        ("g", Outcome.TRACED, 1),
    ]
