"""Every case in `tests/cases/`, through the real worker: what is found is what the carets say, and each fix gives its text and helps."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Report
from graphbreak.core.source import Edit
from harness import Harness
from markdown_cases import Case, Mark, all_cases, mark
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


@pytest.mark.parametrize(("case", "title", "text"), WITH_FIXES, ids=lambda value: value.name if isinstance(value, Case) else None)
def test_fix(harness: Harness, tmp_path: Path, case: Case, title: str, text: str) -> None:
    before = analyse(harness, tmp_path, case.code)
    broken, fixed = fix_called(before, title)
    after_text = before.sources[before.path].apply(fixed).text
    assert text in after_text
    assert text not in case.code
    changed = [line[1:] for line in difflib.ndiff(case.code.splitlines(), after_text.splitlines()) if line.startswith("+ ")]
    assert all(line.strip() in text for line in changed), "the fix changes more than the case shows"

    after = analyse(harness, tmp_path, after_text)
    kinds = [diagnostic.kind for diagnostic in after.diagnostics]
    assert sum(kind in COUNTING for kind in kinds) < sum(diagnostic.kind in COUNTING for diagnostic in before.diagnostics)
    assert not any(diagnostic.gb_type == broken.gb_type and diagnostic.kind in COUNTING for diagnostic in after.diagnostics)
    assert sum(function.ops for function in after.functions) >= sum(function.ops for function in before.functions)


def fix_called(report: Report, title: str) -> tuple[Diagnostic, tuple[Edit, ...]]:
    for diagnostic in report.diagnostics:
        for fix in diagnostic.fixes:
            if fix.title == title:
                return diagnostic, fix.edits[report.path]
    titles = [fix.title for diagnostic in report.diagnostics for fix in diagnostic.fixes]
    raise AssertionError(f"no fix is called {title!r}; there are {titles}")


def test_unmarking_and_marking_are_inverse() -> None:
    for case in CASES:
        assert mark(case.code, case.marks).count("^") == sum(found.end - found.start for found in case.marks)
