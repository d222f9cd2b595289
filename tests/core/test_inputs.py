"""Which runs a file needs, from which source, and for which marks."""

from __future__ import annotations

import pytest

from graphbreak.core.entries import Entry, EntryKind
from graphbreak.core.inputs import PlannedRun, begun, in_order, plan_runs, runs_for, stages
from graphbreak.core.marks import find_marks
from graphbreak.core.source import SourceFile
from graphbreak.worker.protocol import ExampleCall

F = "@torch.compile\ndef f(x): return x\n"
G = "@torch.compile\ndef g(x): return x\n"


def runs_of(text: str, run_unmarked: bool = False) -> list[PlannedRun]:
    source = SourceFile("/w/a.py", "import torch\n" + text)
    return plan_runs(source, find_marks(source), run_unmarked)


def shown(runs: list[PlannedRun]) -> list[tuple[str, list[str], list[str]]]:
    return [(run.source, [mark.name for mark in run.marks], [call.expression for call in run.calls]) for run in runs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n", []),
        (F + "f(1)\n", [("call", ["f"], [])]),
        ("# graphbreak: f(1)\n" + F, [("directive", ["f"], ["f(1)"])]),
        ("# graphbreak: f(1)\n# graphbreak: f(2)\n" + F, [("directive", ["f"], ["f(1)", "f(2)"])]),
        ("# graphbreak: f(1)\n" + F + G, [("directive", ["f"], ["f(1)"]), ("call", ["g"], [])]),
        ("# graphbreak: f(1)\n" + F + "# graphbreak: g(2)\n" + G, [("directive", ["f", "g"], ["f(1)", "g(2)"])]),
        ("# graphbreak: f(1\n" + F, [("call", ["f"], [])]),  # an example that is no expression
        ("# graphbreak: f(1\n# graphbreak: f(2)\n" + F, [("directive", ["f"], ["f(2)"])]),
        ("# graphbreak: f(1)\ndef f(x): return x\n", [("directive", ["f"], ["f(1)"])]),
        ("def f(x): return x\ng = torch.compile(f, disable=True)\n", []),
        ("# graphbreak: ignore\n" + F, [("call", ["f"], [])]),
    ],
)
def test_directives_come_first_and_the_program_shows_the_rest(text: str, expected: list[tuple[str, list[str], list[str]]]) -> None:
    assert shown(runs_of(text)) == expected


def test_a_later_run_knows_which_marks_an_earlier_one_shows() -> None:
    first, second = runs_of("# graphbreak: f(1)\n" + F + G)
    assert first.elsewhere == ()
    assert second.elsewhere == first.marks


def test_runs_go_on_at_once_as_far_as_each_knows_what_is_left_for_it() -> None:
    text = "# graphbreak: f(1)\n" + F + G
    source = SourceFile("/w/a.py", text)
    marks = find_marks(source)
    entries = [Entry(f"{name}.py", EntryKind.SCRIPT, "/w/a.py", (name,)) for name in ("one", "two")]
    runs = plan_runs(source, marks, entries=entries)
    found = list(stages(runs))
    assert [[run.source for run in stage] for stage in found] == [["directive", "project"], ["project"]]
    f, g = marks.marks
    first, second = begun(found[0], [])
    assert (first.marks, second.marks, second.elsewhere) == ((f,), (g,), (f,))
    assert begun(found[1], [f, g]) == [], "the first entry showed what there was"
    assert [run.marks for run in begun(found[1], [f])] == [(g,)]
    assert begun(found[0], [f])[0].source == "project"


def test_what_runs_together_begins_with_the_function_that_the_user_is_in() -> None:
    text = "# graphbreak: f(1)\n" + F + G
    source = SourceFile("/w/a.py", text)
    marks = find_marks(source)
    runs = plan_runs(source, marks, entries=[Entry("one.py", EntryKind.SCRIPT, "/w/a.py", ("one",))])
    (stage,) = stages(runs)
    f, g = marks.marks
    planned = begun(stage, [])
    assert [run.marks for run in planned] == [(f,), (g,)]
    behind = g.span.start.line + 1
    assert [in_order(planned, marks.marks, line) for line in (None, 0, f.line, behind, 99)] == [[0, 1], [0, 1], [0, 1], [1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f", [("directive", ["f"], ["f(1)"])]),
        ("g", [("directive", ["g"], ["g(2)", "g(3)"])]),
        ("h", [("call", ["h", "i"], [])]),  # a run of the program shows what it shows
        ("nobody", [("directive", ["f", "g"], ["f(1)", "g(2)", "g(3)"]), ("call", ["h", "i"], [])]),
    ],
)
def test_one_function_needs_only_its_own_examples(name: str, expected: list[tuple[str, list[str], list[str]]]) -> None:
    text = "# graphbreak: f(1)\n" + F + "# graphbreak: g(2)\n# graphbreak: g(3)\n" + G + G.replace("g", "h") + G.replace("g", "i")
    runs = runs_for(name, runs_of(text))
    assert shown(runs) == expected
    assert all(len(run.owners) == len(run.calls) and not set(run.marks) & set(run.elsewhere) for run in runs)


def test_only_an_unmarked_object_is_compiled_for_its_example() -> None:
    text = "class Net:\n    # graphbreak: Net()(1)\n    def forward(self): pass\n\n# graphbreak: f(1)\n" + F
    (run,) = runs_of(text)
    assert run.calls == (ExampleCall("Net()(1)", 3, 18, "Net.forward"), ExampleCall("f(1)", 6, 14, ""))
    assert [mark.name for mark in run.owners] == ["Net.forward", "f"]


def test_an_example_is_placed_by_bytes() -> None:
    text = "def f(x): return x\ng = torch.compile(f)  # 🎉 note\nh = '漢'; g = torch.compile(f)  # graphbreak: g(1)\n"
    calls = [call for run in runs_of(text) for call in run.calls]
    line = text.splitlines()[2]
    assert [(call.line, call.column) for call in calls] == [(4, len(line[: line.index("g(1)")].encode()))]


def test_a_file_that_the_user_named_runs_without_marks() -> None:
    assert shown(runs_of("x = 1\n", run_unmarked=True)) == [("call", [], [])]
    assert shown(runs_of("# compile\nx = (\n", run_unmarked=True)) == []  # the syntax error is reported, nothing is run
    assert shown(runs_of(F, run_unmarked=True)) == [("call", ["f"], [])]
