"""Every case in `tests/cases/`, through the real worker: the carets say what is found, and each fix gives its text and passes its trial."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from graphbreak.core.findings import Diagnostic, Fix, Kind, Report
from graphbreak.core.trials import can_be_tried
from harness import Harness
from markdown_cases import Case, Mark, all_cases, claim_of, mark
from versions import at_home, has_columns

CASES = all_cases()
WITH_FIXES = [(case, title, text) for case in CASES for title, text in case.fixes]
COUNTING = (Kind.BREAK, Kind.SKIPPED)


def analyse(harness: Harness, folder: Path, code: str) -> Report:
    path = folder / "case.py"
    path.write_text(code, encoding="utf-8")
    return harness.analyse(path)


def marks_of(report: Report) -> list[Mark]:
    found = set()
    for diagnostic in report.diagnostics:
        if diagnostic.path == report.path:
            span = diagnostic.span
            assert span.start.line == span.end.line, f"a case cannot mark several lines: {diagnostic.message}"
            found.add(Mark(span.start.line, span.start.column, span.end.column, diagnostic.code, diagnostic.kind.value))
    return sorted(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(harness: Harness, tmp_path: Path, case: Case) -> None:
    found = marks_of(analyse(harness, tmp_path, case.code))
    if at_home():
        assert mark(case.code, found) == mark(case.code, case.marks)
    else:
        assert not misplaced(found, case.marks)


def misplaced(found: list[Mark], wanted: list[Mark]) -> list[Mark]:
    """With other versions: the breaks that are reported on their line with their code, but not at their expression (or, where the workers'
    Python has no columns, not around it). Whether they are all there is what the parity test asks that version itself."""
    missing = []
    for one in (one for one in wanted if one.code.startswith("GB") and one.kind != "caller"):
        alike = [other for other in found if (other.line, other.code) == (one.line, one.code) and other.kind != "caller"]
        fitting = [
            other
            for other in alike
            if (other.start, other.end) == (one.start, one.end) or (not has_columns() and other.start <= one.start and one.end <= other.end)
        ]
        missing += [one] if alike and not fitting else []
    return missing


@pytest.mark.parametrize(("case", "head", "text"), WITH_FIXES, ids=lambda value: value.name if isinstance(value, Case) else None)
def test_fix(harness: Harness, tmp_path: Path, case: Case, head: str, text: str) -> None:
    claim = claim_of(head)
    before = analyse(harness, tmp_path, case.code)
    if not at_home() and not any(fix.title == claim.title for found in before.diagnostics for fix in found.fixes):
        pytest.skip("this version breaks otherwise here, or lacks what the fix needs")
    broken, fix = fix_called(before, claim.title)
    after_text = before.sources[before.path].apply(fix.edits[before.path]).text
    assert text in after_text
    assert text not in case.code
    changed = [line[1:] for line in difflib.ndiff(case.code.splitlines(), after_text.splitlines()) if line.startswith("+ ")]
    assert all(line.strip() in text for line in changed), "the fix changes more than the case shows"

    assert fix.safety.label == claim.safety
    if claim.untried:
        assert not can_be_tried(broken, fix)
        after = analyse(harness, tmp_path, after_text)
        assert not [other for other in after.diagnostics if (other.kind, other.code, other.ignored) == (broken.kind, broken.code, False)]
        return
    trial = harness.try_fix(before, broken, fix)
    if not at_home() and not trial.verdict.accepted and not claim.refused:
        pytest.skip(f"this version refuses it: {trial.verdict.reason}")
    assert trial.verdict.accepted is not bool(claim.refused), trial.verdict
    assert claim.refused in trial.verdict.reason
    if not claim.refused:
        assert trial.verdict.same_outputs is True
        assert not any(
            other.gb_type == broken.gb_type and other.kind in COUNTING and other.id == broken.id for other in trial.after.diagnostics
        )
        assert sum(function.ops for function in trial.after.functions) > 0


def fix_called(report: Report, title: str) -> tuple[Diagnostic, Fix]:
    for diagnostic in report.diagnostics:
        for fix in diagnostic.fixes:
            if fix.title == title:
                return diagnostic, fix
    titles = [fix.title for diagnostic in report.diagnostics for fix in diagnostic.fixes]
    raise AssertionError(f"no fix is called {title!r}; there are {titles}")


def test_unmarking_and_marking_are_inverse() -> None:
    for case in CASES:
        assert mark(case.code, case.marks).count("^") == sum(found.end - found.start for found in case.marks)
