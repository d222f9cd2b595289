"""What is known of an entry document, from one report to the next."""

from __future__ import annotations

import time
from dataclasses import replace

from graphbreak.core.findings import Diagnostic, Fix, FunctionResult, Kind, Outcome, Report, Safety, Severity, Verdict
from graphbreak.core.source import Edit, SourceFile, Span
from graphbreak.lsp.results import Results

A = "/w/a.py"
TEXT = SourceFile(A, "one\ntwo\nthree\nfour\n")


def found(line: int) -> Diagnostic:
    span = Span.at(line, 0, line, 3)
    return Diagnostic(f"{line}", A, span, Severity.WARNING, Kind.BREAK, "GB0059", TEXT.slice(span))


def report(*lines: int, provisional: bool = False, stale: bool = False) -> Report:
    return Report(A, 1, diagnostics=tuple(map(found, lines)), sources={A: TEXT}, provisional=provisional, stale=stale)


def shown(results: Results) -> list[int]:
    return [diagnostic.span.start.line for diagnostic in results.at(A)]


def test_provisional_results_add_up_and_the_whole_report_takes_their_place() -> None:
    results = Results()
    results.put(A, report(0, 1))
    results.put(A, report(1, 2, provisional=True))
    assert shown(results) == [0, 1, 2]
    results.put(A, report(1, 3, provisional=True))
    assert shown(results) == [0, 1, 3], "a newer one takes the place of the provisional one before it"
    assert results.reports[A].provisional
    results.put(A, report(3))
    assert shown(results) == [3]
    assert not results.reports[A].provisional


def test_what_a_run_had_shown_when_it_was_ended_stays() -> None:
    results = Results()
    results.put(A, report(0))
    results.put(A, report(1, provisional=True))
    results.ended(A)
    results.put(A, report(2, provisional=True))
    assert shown(results) == [0, 1, 2]
    results.put(A, report(stale=True))
    assert shown(results) == [0, 1, 2], "nothing new is known"
    results.put(A, report(2))
    assert shown(results) == [2]


def test_both_move_with_the_text_and_are_dropped_together() -> None:
    results = Results()
    results.put(A, report(0))
    results.put(A, report(1, provisional=True))
    results.edited(edit := Edit(Span.at(0, 0, 0, 0), "zero\n"), after := TEXT.apply([edit]))
    assert shown(results) == [1, 2]
    moved = replace(found(2), span=Span.at(3, 0, 3, 3))
    results.put(A, Report(A, 2, diagnostics=(moved,), sources={A: after}, provisional=True))
    assert shown(results) == [1, 3]
    results.drop(A)
    results.put(A, report(3, provisional=True))
    assert shown(results) == [3]


def test_functions_asked_for_alone_are_put_beside_what_was_known_before_the_run() -> None:
    results = Results()
    results.put(A, Report(A, diagnostics=(replace(found(0), functions=("f",)), replace(found(1), functions=("g",)))))
    results.put(A, Report(A, diagnostics=(replace(found(2), functions=("f",)),), provisional=True))
    results.put(A, Report(A, diagnostics=(replace(found(3), functions=("f",)),)), only=True)
    assert 2 not in shown(results)


def test_a_verdict_on_a_text_that_changed_is_forgotten_in_what_was_known_before_too() -> None:
    fixed = replace(found(0), functions=("g",), fixes=(Fix("Remove it", Safety.SAFE, {}),))
    results = Results()
    results.put(A, Report(A, diagnostics=(fixed,), functions=(FunctionResult(A, "g", 0, A, fixed.span, Outcome.TRACED),)))
    results.put(A, report(1, provisional=True))
    results.verdict(A, "0", "Remove it", Verdict(1, 0, True, True))
    results.forget_verdicts(A)
    results.put(A, Report(A), only=True)
    assert results.at(A) == [fixed]


def test_what_could_not_be_found_out_again_says_from_when_it_is() -> None:
    now = time.mktime((2026, 11, 30, 14, 32, 0, 0, 0, -1))
    results = Results(now=lambda: now)
    row = FunctionResult(A, "f", 0, A, Span.at(0, 0, 0, 3), Outcome.TRACED, breaks=1)
    results.put(A, replace(report(0), functions=(row,)))
    (known,) = results.at(A)
    assert (results.age(known), results.reports[A].made) == ("", now)
    failed = replace(report(stale=True), functions=(replace(row, outcome=Outcome.WORKER_DIED, detail="it died", breaks=0),))
    now += 600
    results.put(A, failed)
    assert results.reports[A].functions[0].detail == "not analysed since 14:32: it died"
    assert results.age(known) == "14:32"
    now += 86400
    results.put(A, failed)
    assert results.reports[A].functions[0].detail == "not analysed since 30 Nov 14:32: it died"
    assert results.age(known) == "30 Nov 14:32"
    results.put(A, replace(report(0), functions=(row,)))
    assert (results.age(known), results.reports[A].made) == ("", now)
