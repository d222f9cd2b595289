"""What several reports say together."""

from __future__ import annotations

from graphbreak.core.findings import Diagnostic, FunctionResult, InputSet, Kind, Outcome, Report, Severity
from graphbreak.core.merging import is_open, not_analysed_id, without_outdone
from graphbreak.core.source import Span

F, G = Span.at(1, 0, 1, 5), Span.at(5, 0, 5, 5)


def row(name: str, span: Span, *sources: str, outcome: Outcome = Outcome.TRACED) -> FunctionResult:
    return FunctionResult("/w/m.py", name, 2, "/w/m.py", span, outcome, inputs=tuple(InputSet(source, "x") for source in sources))


def found(key: str, *functions: str, guessed: bool = True, kind: Kind = Kind.BREAK) -> Diagnostic:
    return Diagnostic(key, "/w/m.py", F, Severity.WARNING, kind, "GB0059", "", functions=functions, guessed=guessed)


GUESSES = Report(
    "/w/m.py",
    functions=(row("f", F, "inferred"), row("g", G, "inferred")),
    diagnostics=(found("1", "f"), found("2", "f", "g"), found("3", "g"), found("4", "f", guessed=False)),
)


def shown(*reports: Report) -> list[tuple[list[str], list[str]]]:
    return [([one.name for one in report.functions], [one.id for one in report.diagnostics]) for report in without_outdone(reports)]


def test_a_real_call_takes_the_place_of_a_guess() -> None:
    called = Report("/w/train.py", functions=(row("f", F, "call"),))
    assert shown(GUESSES, called) == [(["g"], ["2", "3", "4"]), (["f"], [])]
    assert shown(called, GUESSES)[1] == (["g"], ["2", "3", "4"])


def test_guesses_stay_where_nothing_is_known_better() -> None:
    missed = Report("/w/train.py", functions=(row("f", F, outcome=Outcome.RAISED), row("f", G, "inferred")))
    (first, _) = without_outdone([GUESSES, missed])
    assert first is GUESSES


def test_what_another_file_showed_is_not_called_not_analysed() -> None:
    missed = row("f", F, outcome=Outcome.NOT_REACHED)
    hint = found(not_analysed_id(missed), "f", guessed=False, kind=Kind.NOT_ANALYSED)
    report = Report("/w/m.py", functions=(missed,), diagnostics=(hint,))
    assert shown(report) == [(["f"], [hint.id])]
    assert shown(report, Report("/w/train.py", functions=(row("f", F, "call"),)))[0] == (["f"], [])


def test_what_nothing_called_is_open() -> None:
    assert [is_open(row("f", F, outcome=outcome)) for outcome in (Outcome.NOT_REACHED, Outcome.RAISED, Outcome.NO_INPUTS)] == [True] * 3
    assert is_open(row("f", F, "inferred"))
    assert not is_open(row("f", F, "inferred", "call"))
    assert not is_open(row("f", F))
