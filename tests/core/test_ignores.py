"""Ignore comments that do nothing: which are reported, where, and which never are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphbreak.core.findings import Diagnostic, FunctionResult, Kind, Outcome, Report, Severity
from graphbreak.core.ignores import is_code, with_ignores
from graphbreak.core.marks import find_marks
from graphbreak.core.reach import Reach
from graphbreak.core.source import SourceFile, Span
from graphbreak.core.unused import check_ignores, still_unused
from harness import Harness, code, of_kind

PATH = "/w/net.py"
TRACED = "•"
"""Stands before a line that was traced."""

Found = list[tuple[int, str]]


def parts(text: str) -> tuple[SourceFile, Reach]:
    """The source without its marks, and what was traced of it."""
    lines = text.splitlines()
    traced = frozenset(number for number, line in enumerate(lines) if line.startswith(TRACED))
    return SourceFile(PATH, "\n".join(line.removeprefix(TRACED) for line in lines)), Reach({PATH: traced}, whole=True)


def diagnostic(source: SourceFile, line: int, code: str) -> Diagnostic:
    return Diagnostic(f"{line}{code}", PATH, source.statement_span(line), Severity.WARNING, Kind.BREAK, code, "")


def idle(text: str, found: Found = [], outcome: Outcome = Outcome.TRACED, whole: bool = True) -> list[str]:  # noqa: B006
    """What the reported comments, or codes in them, say. The function on line 1 is the marked one."""
    source, reach = parts(text)
    row = FunctionResult(PATH, "f", 1, PATH, Span.at(0, 1, 0, 14), outcome)
    diagnostics = [diagnostic(source, *one) for one in found]
    reported, _ = check_ignores([(source, find_marks(source))], diagnostics, [row], replace(reach, whole=whole))
    assert all((one.kind, one.severity, one.code) == (Kind.UNUSED_IGNORE, Severity.HINT, "unused-ignore") for one in reported)
    return [source.slice(one.span) for one in reported]


HEAD = "@torch.compile\ndef f(x, flag):\n"

CASES: dict[str, tuple[str, Found, list[str]]] = {
    "nothing hidden": ("•    y = x * 2  # graphbreak: ignore\n", [], ["# graphbreak: ignore"]),
    "something hidden": ("•    print(x)  # graphbreak: ignore\n", [(2, "GB0059")], []),
    "another code": ("•    print(x)  # graphbreak: ignore[GB0170] why\n", [(2, "GB0059")], ["# graphbreak: ignore[GB0170] why"]),
    "in another case": ("•    print(x)  # graphbreak: ignore[gb0059]\n", [(2, "GB0059")], []),
    "one of two codes": ("•    print(x)  # graphbreak: ignore[GB0170, GB0059]\n", [(2, "GB0059")], ["GB0170"]),
    "both codes": ("•    print(x)  # graphbreak: ignore[GB0170, GB0124]\n", [(2, "GB0059")], ["GB0170", "GB0124"]),
    "a code twice": ("•    print(x)  # graphbreak: ignore[GB0170, GB0170]\n", [], ["# graphbreak: ignore[GB0170, GB0170]"]),
    "above the statement": ("    # graphbreak: ignore\n•    y = x * 2\n", [], ["# graphbreak: ignore"]),
    "inside a statement": ("    y = g(\n•        x,  # graphbreak: ignore\n    )\n", [], ["# graphbreak: ignore"]),
    "passed by, as what is behind it was traced": ("    n = 1  # graphbreak: ignore\n•    y = x * n\n", [], ["# graphbreak: ignore"]),
    "a loop that was entered": ("    for i in y:  # graphbreak: ignore\n•        x = x + 1\n", [], ["# graphbreak: ignore"]),
    "a branch not taken": ("•    if flag:\n        print(x)  # graphbreak: ignore\n•    x = x + 1\n", [], []),
    "behind all that was traced": ("•    x = x + 1\n    print(x)  # graphbreak: ignore\n", [], []),
    "another function": ("•    x = x + 1\n\n\ndef g(x):\n    print(x)  # graphbreak: ignore\n", [], []),
    "an inner function that did not run": (
        "•    x = x + 1\n    def g(x):\n        print(x)  # graphbreak: ignore\n•    return x\n",
        [],
        [],
    ),
    "around an inner function that was traced": (
        "    n = 1\n\n\ndef make():\n    n = 1  # graphbreak: ignore\n    def g(x):\n•        return x\n    return g\n",
        [],
        [],
    ),
    "the head of a function": ("•    return x\n\n\n# graphbreak: ignore\ndef g(x):\n•    return x\n", [], ["# graphbreak: ignore"]),
    "the head of a function that did not run": ("•    return x\n\n\n# graphbreak: ignore\ndef g(x):\n    return x\n", [], []),
    "outside of functions": ("•    return x\n\n\ny = f(x)  # graphbreak: ignore\n", [], []),
    "no statement": ("•    return x\n\n\n# graphbreak: ignore\n", [], []),
    "the file": ("•    return x\n# graphbreak: ignore-file\n", [], ["# graphbreak: ignore-file"]),
    "the file, hiding": ("•    print(x)\n# graphbreak: ignore-file\n", [(2, "GB0059")], []),
    "a code in the file": ("•    print(x)\n# graphbreak: ignore-file[GB0170]\n", [(2, "GB0059")], ["# graphbreak: ignore-file[GB0170]"]),
    "another mark in the file": ("•    return x\n@torch.compile\ndef g(x): ...\n# graphbreak: ignore-file\n", [], []),
    "no code": ("    print(x)  # graphbreak: ignore[GB59]\n", [], ["# graphbreak: ignore[GB59]"]),
    "no code among codes": ("    print(x)  # graphbreak: ignore[GB0059, print]\n", [], ["print"]),
    "no code in the file": ("    print(x)  # graphbreak: ignore-file[GB0059, GB59]\n", [(2, "GB0059")], ["GB59"]),
    "other codes": ("    f(x)  # graphbreak: ignore[recompile, raised, not-analysed, Recompile]\n", [], []),
}


@pytest.mark.parametrize("name", CASES)
def test_comments_that_do_nothing_are_reported(name: str) -> None:
    body, found, expected = CASES[name]
    assert idle(HEAD + body, found) == expected


def test_nothing_is_said_of_what_a_run_did_not_show_to_its_end() -> None:
    text = HEAD + "•    y = x * 2  # graphbreak: ignore[GB0059, GB59]\n# graphbreak: ignore-file\n"
    assert idle(text, whole=False) == ["GB59"]
    assert idle(HEAD + "    return x\n# graphbreak: ignore-file\n", outcome=Outcome.NOT_REACHED) == []


def test_a_file_without_marks_is_unused_only_when_all_of_it_was_traced() -> None:
    comment = "# graphbreak: ignore-file\n"
    assert idle(f"{comment}def g(x):\n•    return x\n") == ["# graphbreak: ignore-file"]
    assert idle(f"{comment}def g(x):\n•    return x\n\ndef h(x):\n    return x\n") == []
    assert idle(f"{comment}x = 1\n") == []


def test_the_messages() -> None:
    text = HEAD + "•    y = x  # graphbreak: ignore[GB59, GB0059]\n•    return y  # graphbreak: ignore\n"
    source, reach = parts(text)
    row = FunctionResult(PATH, "f", 1, PATH, Span.at(0, 1, 0, 14), Outcome.TRACED)
    reported, _ = check_ignores([(source, find_marks(source))], [], [row], reach)
    assert [one.message for one in reported] == [
        "`GB59` is not a code; codes look like GB0059.",
        "Unused ignore: `GB0059` did not occur here when the code was traced.",
        "Unused ignore: there was nothing to ignore here when the code was traced.",
    ]


def test_a_comment_that_another_run_needs_is_not_unused() -> None:
    helper = "def g(x):\n•    print(x)  # graphbreak: ignore[GB0059, GB0170]\n"
    source, reach = parts(helper)
    moved = SourceFile(PATH, "# above\n" + source.text)
    one, used = check_ignores([(source, find_marks(source))], [], [], reach)
    other, used_there = check_ignores(
        [(moved, find_marks(moved))], [diagnostic(moved, 2, "GB0059")], [], Reach({PATH: frozenset({2})}, whole=True)
    )
    assert [len(one), len(other), len(used), len(used_there)] == [2, 1, 0, 1]
    (left,) = still_unused(one, [used, used_there])
    assert source.slice(left.span) == "GB0170"
    assert left.id == other[0].id


@pytest.mark.parametrize(
    ("word", "expected"),
    [("GB0059", True), ("gb1234", True), ("GB59", False), ("GB00591", False), ("raised", True), ("break", False), ("*", False)],
)
def test_what_a_code_is(word: str, expected: bool) -> None:
    assert is_code(word) is expected


def test_settings_hide_by_path_and_code_and_a_cause_takes_its_callers_along() -> None:
    source = SourceFile(PATH, "print(x)\ng(x)\n")
    cause = diagnostic(source, 0, "GB0059")
    caller = replace(cause, path="/w/other.py", kind=Kind.CALLER)
    other = replace(cause, id="other", path="/w/other.py")
    hidden = with_ignores([cause, caller, other], {}, lambda path, code: (path, code) == (PATH, "GB0059"), lambda path: None)
    assert [one.ignored for one in hidden] == [True, True, False]


PROGRAM = """\
import torch


@torch.compile
def f(x, flag=False):
    y = x * 2  # graphbreak: ignore[GB0059] gone
    print("a")  # graphbreak: ignore[GB0059] needed
    if flag:
        print("b")  # graphbreak: ignore[GB0059] not reached
    return y + 1


f(torch.randn(4))
"""


def unused(report: Report) -> list[str]:
    return [code(report, one) for one in of_kind(report, Kind.UNUSED_IGNORE)]


def test_a_real_run(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "a.py", PROGRAM)
    assert unused(report) == ["# graphbreak: ignore[GB0059] gone"]
    (fix,) = of_kind(report, Kind.UNUSED_IGNORE)[0].fixes
    fixed = report.sources[report.path].apply(fix.edits[report.path]).text
    assert fixed == PROGRAM.replace("  # graphbreak: ignore[GB0059] gone", "")
    assert unused(harness.write_and_analyse(tmp_path / "a.py", fixed)) == []


@pytest.mark.parametrize("end", ["raise ValueError", "import sys; sys.exit(1)", "import os; os._exit(0)"])
def test_a_real_run_that_fails(harness: Harness, tmp_path: Path, end: str) -> None:
    report = harness.write_and_analyse(tmp_path / "a.py", f"{PROGRAM}{end}\n")
    assert [row.outcome for row in report.functions] == [Outcome.TRACED]
    assert unused(report) == []
