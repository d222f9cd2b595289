"""The baseline: what an entry survives and what it does not hide, the file, and the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphbreak.cli import main
from graphbreak.cli.baseline import BaselineFile
from graphbreak.cli.check import Result
from graphbreak.core.baseline import Baseline, BaselineError, Entry, baseline_text, counted, covered, entry_of, normalised, parse_baseline
from graphbreak.core.findings import Diagnostic, Environment, FunctionResult, Kind, Outcome, Severity
from graphbreak.core.source import SourceFile, Span
from harness import PRINT

TORCH = "2.13"
GB_TYPE = "Failed to trace builtin operator"


def found_in(text: str, path: str = "net.py", **changes: Any) -> tuple[SourceFile, list[Diagnostic]]:
    """The source without its marks, and a break at each place between « and »."""
    pieces = text.replace("«", "\0«").replace("»", "\0»").split("\0")
    clean, begin, spans = "", 0, []
    for piece in pieces:
        if piece.startswith("»"):
            spans.append((begin, len(clean)))
        elif piece.startswith("«"):
            begin = len(clean)
        clean += piece.lstrip("«»") if piece[:1] in ("«", "»") else piece
    source = SourceFile(path, clean)
    places = [Span(source.position(start), source.position(end)) for start, end in spans]
    plain = [Diagnostic(str(n), path, span, Severity.WARNING, Kind.BREAK, "GB0059", "", GB_TYPE) for n, span in enumerate(places)]
    return source, [replace(one, **changes) for one in plain]


def baseline_of(text: str, path: str = "net.py", torch: str = TORCH, **changes: Any) -> Baseline:
    source, found = found_in(text, path, **changes)
    return Baseline(tuple(counted(entry_of(one, source, path) for one in found)), torch)


def unknown(baseline: Baseline, text: str, path: str = "net.py", **changes: Any) -> list[str]:
    """What the baseline does not cover of a text, and the expressions of entries that are not there any more (with a minus)."""
    source, found = found_in(text, path, **changes)
    entries = {one.id: entry_of(one, source, path) for one in found}
    known, left = covered(baseline, entries, f"{TORCH}.0+cpu", lambda name: source if name == path else None)
    return [source.slice(one.span) for one in found if one.id not in known] + [f"-{entry.expression}" for entry in left]


BEFORE = """\
class Net:
    def forward(self, x):
        y = «log(x, "a")» + 1
        return y


def other(x): return x
"""

SURVIVED = {
    "nothing": BEFORE,
    "lines above": "import os\n\n\ndef first(x):\n    return x\n\n\n" + BEFORE,
    "lines around it in the function": BEFORE.replace("        y =", "        # why\n        z = x\n        y =").replace(
        "return y", "return y + z"
    ),
    "other code reformatted and renamed": BEFORE.replace("def other(x): return x", "def another(\n    x,\n):\n    return x"),
    "itself reformatted": BEFORE.replace(
        '«log(x, "a")»', "(\n            «log(  # why\n                x,\n                'a',\n            )»\n        )"
    ),
    "other parts of the statement": BEFORE.replace('y = «log(x, "a")» + 1', 'y = z = 2 + «log(x, "a")»'),
    "indented": BEFORE.replace("        y =", "        if x:\n            y ="),
    "the function renamed": BEFORE.replace("forward", "call"),
    "the class renamed": BEFORE.replace("Net", "Model"),
    "no columns": BEFORE.replace('y = «log(x, "a")» + 1', '«y = log(x, "a") + 1»'),
}


@pytest.mark.parametrize("name", SURVIVED)
def test_an_entry_survives(name: str) -> None:
    assert unknown(baseline_of(BEFORE), SURVIVED[name]) == []


def test_an_entry_survives_a_python_that_knows_columns() -> None:
    assert unknown(baseline_of(SURVIVED["no columns"]), BEFORE) == []
    head = "def f(x):\n    while «x.sum() > 0»:\n        x = x - 1\n"
    assert unknown(baseline_of(head), head.replace("«x.sum() > 0»", "«x.sum()» > 0")) == []


def test_an_entry_survives_a_renamed_file() -> None:
    assert unknown(baseline_of(BEFORE, "old.py"), BEFORE) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "GB9999"},
        {"code": "graph-break", "gb_type": "Failed to trace builtin operator."},
        {"gb_type": "worded in another way"},
        {"kind": Kind.SKIPPED},
        {"message": "worded in another way"},
    ],
)
def test_an_entry_survives_another_id_or_wording_or_loss(changes: dict[str, Any]) -> None:
    assert unknown(baseline_of(BEFORE), BEFORE, **changes) == []
    assert unknown(baseline_of(BEFORE, **changes), BEFORE) == []


def test_an_entry_survives_both_only_from_another_torch() -> None:
    changes = {"code": "GB9999", "gb_type": "worded in another way"}
    assert unknown(baseline_of(BEFORE, torch="2.8"), BEFORE, **changes) == []
    assert unknown(baseline_of(BEFORE), BEFORE, **changes) == ['log(x, "a")', "-log(x, 'a')"]


NOT_COVERED = {
    "another expression": BEFORE.replace('"a"', '"b"'),
    "another function, with the old one still there": BEFORE.replace("«", "").replace("»", "").replace("return x", 'return «log(x, "a")»'),
}


@pytest.mark.parametrize("name", NOT_COVERED)
def test_what_is_new_is_not_covered(name: str) -> None:
    source, (one,) = found_in(NOT_COVERED[name])
    assert unknown(baseline_of(BEFORE), NOT_COVERED[name]) == [source.slice(one.span), "-log(x, 'a')"]


def test_another_kind_of_finding_is_not_covered() -> None:
    assert unknown(baseline_of(BEFORE), BEFORE, kind=Kind.RAISED) == ['log(x, "a")', "-log(x, 'a')"]
    other_file = unknown(baseline_of(BEFORE, "old.py"), BEFORE.replace("log", "print"))
    assert other_file == ['print(x, "a")', "-log(x, 'a')"]


def test_one_of_several_alike() -> None:
    line = "    «print(x)»\n"
    two = baseline_of("def f(x):\n" + line * 2)
    assert [entry.count for entry in two.entries] == [2]
    assert unknown(two, "def f(x):\n" + line * 2) == []
    assert unknown(two, "def f(x):\n" + line * 3) == ["print(x)"]
    assert unknown(two, "def f(x):\n" + line) == ["-print(x)"]


def test_a_recompile_is_known_by_its_function() -> None:
    before = "def «f»(x, n):\n    return x + n\n"
    changes = {"kind": Kind.RECOMPILE, "code": "recompile", "gb_type": ""}
    assert unknown(baseline_of(before, **changes), before.replace("«f»", "f").replace("x + n", "«x + n»"), **changes) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f( x,\n  y, )", "f(x, y)"),
        ('f("a",  # why\n (x))', "f('a', x)"),
        ("y  =  f(x)", "y = f(x)"),
        ("x +\n1", "x + 1"),
        ("for  x in\ty", "for x in y"),
        ("yield  x", "yield x"),
        ("", ""),
        ("(" * 500, "(" * 500),
    ],
)
def test_code_is_compared_by_what_it_says(text: str, expected: str) -> None:
    assert normalised(text) == expected
    assert normalised(expected) == expected


def test_the_file_is_for_people_too() -> None:
    long = "def f(x):\n    return «g(" + ", ".join(f"'{n}  {n}'" for n in range(90)) + ")»\n"
    baseline = Baseline((*baseline_of(BEFORE, "a.py").entries, *baseline_of(long, "ü.py").entries), TORCH)
    text = baseline_text(baseline)
    lines = text.splitlines()
    assert lines[4] == (
        '  {"path": "a.py", "function": "Net.forward", "code": "GB0059", "kind": "break", '
        f'"gb_type": "{GB_TYPE}", "expression": "log(x, \'a\')", "statement": "y = log(x, \'a\') + 1"}},'
    )
    assert max(map(len, lines)) < 700
    assert parse_baseline(text) == baseline
    assert unknown(parse_baseline(text), long, "ü.py") == ["-log(x, 'a')"]
    assert json.loads(baseline_text(Baseline())) == {"version": 1, "torch": "", "entries": []}


def test_the_order_does_not_depend_on_that_of_the_findings() -> None:
    entries = [Entry(path, function, "GB0059", "break", "", "x") for path in "ba" for function in "dc"]
    assert counted(entries) == counted(reversed(entries))
    assert [(entry.path, entry.function) for entry in counted(entries)] == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]


CORRUPT = [
    ("", "it is not valid JSON (Expecting value: line 1 column 1 (char 0))"),
    ("[]", "it is no baseline that graphbreak wrote"),
    ('{"version": 1}', "it is no baseline that graphbreak wrote"),
    ('{"version": 2, "entries": []}', "it has version 2, and this graphbreak reads version 1"),
    ('{"version": 1, "entries": [3]}', "its entry 1 is incomplete"),
    ('{"version": 1, "entries": [{"path": "a"}]}', "its entry 1 is incomplete"),
    ('{"version": 1, "entries": [{"path": 1}]}', "its entry 1 has a value of a wrong type"),
    ('{"version": 1, "entries": [{"count": 0}]}', "its entry 1 has a value of a wrong type"),
]


@pytest.mark.parametrize(("text", "why"), CORRUPT)
def test_what_is_no_baseline_is_one_sentence_and_status_2(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("")
    Path("base.json").write_text(text)
    assert main(["check", "a.py", "--baseline", "base.json"]) == 2
    assert capsys.readouterr() == ("", f"graphbreak: The baseline base.json cannot be used: {why}.\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--baseline", "base.json"], "There is no baseline base.json; --write-baseline base.json makes it."),
        (["--baseline", "."], "The baseline . cannot be read: "),
        (["--write-baseline", "nowhere/base.json"], "The baseline nowhere/base.json cannot be written: "),
        (["--write-baseline", "."], "The baseline . cannot be written: "),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence_and_status_2(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("")
    assert main(["check", "a.py", *arguments]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith(f"graphbreak: {says}")
    assert errors.count("\n") == 1


def result_of(folder: Path, texts: dict[str, str], outcome: Outcome = Outcome.TRACED) -> Result:
    """A result with a break at each marked place of some files, which are written."""
    sources, found = {}, []
    for name, text in texts.items():
        path = str(folder / name)
        source, here = found_in(text, path)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(source.text)
        sources[path] = source
        found += [replace(one, id=f"{name}{one.id}") for one in here]
    row = FunctionResult(str(folder / "a.py"), "f", 0, str(folder / "a.py"), Span.at(0, 0, 0, 0), outcome)
    return Result(Environment(torch=f"{TORCH}.0"), (row,), tuple(found), (), sources)


def shown(result: Result) -> list[str]:
    return [result.sources[one.path].slice(one.span) for one in result.diagnostics if one.is_shown]


def with_caller(result: Result) -> Result:
    (cause,) = result.diagnostics
    caller = replace(cause, path=cause.path, span=Span.at(0, 0, 0, 1), kind=Kind.CALLER)
    return replace(result, diagnostics=(caller, cause))


TWO = {"a.py": "def f(x):\n    «print(x)»\n", "deep/b.py": "def g(x):\n    «log(x)»\n"}


def write_and_read(path: Path, result: Result) -> Baseline:
    file = BaselineFile(str(path))
    file.write(file.of(result))
    return file.read()


def test_a_result_without_what_was_known(tmp_path: Path) -> None:
    baseline = write_and_read(tmp_path / "base.json", result_of(tmp_path, TWO))
    assert [entry.path for entry in baseline.entries] == ["a.py", "deep/b.py"]
    now = result_of(tmp_path, {**TWO, "a.py": "def f(x):\n    «print(x)»\n    «print(x.shape)»\n"})
    assert now.status == 1
    result = BaselineFile(str(tmp_path / "base.json")).applied(baseline, now)
    assert (shown(result), result.status, result.problems) == (["print(x.shape)"], 1, ())
    assert BaselineFile(str(tmp_path / "base.json")).applied(baseline, result_of(tmp_path, TWO)).status == 0


def test_callers_follow_their_cause(tmp_path: Path) -> None:
    result = with_caller(result_of(tmp_path, {"a.py": TWO["a.py"]}))
    file = BaselineFile(str(tmp_path / "base.json"))
    assert [one.baselined for one in file.applied(file.of(result), result).diagnostics] == [True, True]
    assert len(file.of(result).entries) == 1


def test_what_is_ignored_is_not_written_and_leaves_its_entry_in_place(tmp_path: Path) -> None:
    file = BaselineFile(str(tmp_path / "base.json"))
    before = result_of(tmp_path, {"a.py": TWO["a.py"]})
    ignored = replace(before, diagnostics=tuple(replace(one, ignored=True) for one in before.diagnostics))
    assert file.of(ignored).entries == ()
    assert file.applied(file.of(before), ignored).problems == ()


def gone(result: Result) -> Sequence[str]:
    return [problem.partition(";")[0] for problem in result.problems]


def test_entries_that_do_not_occur_any_more_are_counted_where_that_is_known(tmp_path: Path) -> None:
    file = BaselineFile(str(tmp_path / "base.json"))
    baseline = file.of(result_of(tmp_path, TWO))
    fixed = {name: text.replace("«", "").replace("»", "") for name, text in TWO.items()}
    assert gone(file.applied(baseline, result_of(tmp_path, fixed))) == ["2 baseline entries no longer occur"]
    one = file.applied(baseline, result_of(tmp_path, {"a.py": fixed["a.py"]}))
    assert one.problems == (f"1 baseline entry no longer occurs; write it again with --write-baseline {tmp_path / 'base.json'}.",)
    assert one.status == 0
    assert gone(file.applied(baseline, result_of(tmp_path, fixed, Outcome.TIMED_OUT))) == []
    (tmp_path / "deep" / "b.py").unlink()
    assert gone(file.applied(baseline, result_of(tmp_path, {"a.py": TWO["a.py"]}))) == ["1 baseline entry no longer occurs"]


def test_paths_are_those_below_the_baseline_or_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(tmp_path / "project", TWO)
    (tmp_path / "project" / ".ci").mkdir()
    for here, at, expected in (
        (tmp_path, tmp_path / "project" / "base.json", "a.py"),
        (tmp_path / "project" / "deep", tmp_path / "project" / "base.json", "a.py"),
        (tmp_path / "project", tmp_path / "project" / ".ci" / "base.json", "a.py"),
        (tmp_path, tmp_path / "project" / ".ci" / "base.json", "project/a.py"),
        (tmp_path / "project" / ".ci", tmp_path / "project" / ".ci" / "base.json", str(tmp_path / "project" / "a.py")),
    ):
        monkeypatch.chdir(here)
        baseline = write_and_read(at, result)
        assert baseline.entries[0].path == expected
        assert BaselineFile(str(at)).applied(baseline, result).status == 0


def test_it_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "base.json"
    link = tmp_path / "link.json"
    link.symlink_to(path)
    before = write_and_read(link, result_of(tmp_path, TWO))
    assert link.is_symlink()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(BaselineError, match=r"cannot be written: No space left on device\.$"):
        BaselineFile(str(link)).write(Baseline())
    assert BaselineFile(str(path)).read() == before
    assert sorted(file.name for file in tmp_path.glob("*.json*")) == ["base.json", "link.json"]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(PRINT)
    assert main(["check", "a.py", "--write-baseline", "base.json"]) == 0
    output, errors = capsys.readouterr()
    assert errors == "graphbreak: wrote 1 entry to base.json\n"
    assert "0 graph breaks, 1 in the baseline in 1 compiled function" in output
    assert "GB0059" not in output

    Path("a.py").write_text("# above\n" + PRINT.replace("scale", "stretch"))
    assert main(["check", "a.py", "--baseline", "base.json", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(one["code"], one["baselined"], one["ignored"]) for one in document["diagnostics"]] == [("GB0059", True, False)]

    Path("a.py").write_text(PRINT.replace("mid", "middle"))
    assert main(["check", "a.py", "--baseline", "base.json", "--color", "never"]) == 1
    output = capsys.readouterr().out
    assert "note: 1 baseline entry no longer occurs; write it again with --write-baseline base.json." in output
    assert "1 graph break in 1 compiled function" in output
