"""What a project says about inputs: entries, example calls with their places, and the runs that come of them."""

from __future__ import annotations

from typing import Any

import pytest

from graphbreak.core.entries import Entry, EntryError, EntryKind, read_entry
from graphbreak.core.findings import InputSet
from graphbreak.core.inputs import plan_runs
from graphbreak.core.lens import origin
from graphbreak.core.marks import find_marks
from graphbreak.core.project import ProjectSettings, read_project
from graphbreak.core.source import SourceFile

FILES = {"/w/train.py", "/w/tests/test_net.py", "/w/pkg/mod.py", "/w/src/lib/__init__.py", "/w/net.py"}

F = "@torch.compile\ndef f(x): return x\n"

NET = """\
import torch
class Net:
    def forward(self, x): return x
@torch.compile
def loss(x): return x
# graphbreak: own(1)
def own(x): return x
net = Net()
def plain(x): return x
g = torch.compile(plain)
"""


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("train.py", Entry("train.py", EntryKind.SCRIPT, "/w/train.py")),
        ("train.py --name 'a b' -n 2", Entry("train.py --name 'a b' -n 2", EntryKind.SCRIPT, "/w/train.py", ("--name", "a b", "-n", "2"))),
        ("./train.py", Entry("./train.py", EntryKind.SCRIPT, "/w/train.py")),
        ("net.py::T::test_f[a b]", Entry("net.py::T::test_f[a b]", EntryKind.TEST, "/w/net.py", ("T::test_f[a b]",))),
        ("pkg.mod:main", Entry("pkg.mod:main", EntryKind.FUNCTION, "/w/pkg/mod.py", function="main")),
        ("lib:Net.demo", Entry("lib:Net.demo", EntryKind.FUNCTION, "/w/src/lib/__init__.py", function="Net.demo")),
    ],
)  # fmt: skip
def test_an_entry_is_a_script_a_test_or_a_function(text: str, entry: Entry) -> None:
    assert read_entry(text, "/w", FILES.__contains__) == entry


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("train", "is neither a script"),
        ("", "is neither a script"),
        ("train.py 'x", "cannot be split into words"),
        ("gone.py", "names a file that does not exist: /w/gone.py"),
        ("tests/gone.py::test_f", "names a file that does not exist: /w/tests/gone.py"),
        ("pkg.gone:f", "names a file that does not exist: /w/pkg/gone.py"),
    ],
)
def test_what_is_no_entry_is_said_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(EntryError, match=says.replace("(", r"\(")):
        read_entry(text, "/w", FILES.__contains__)


def settings_of(text: str, table: dict[str, Any]) -> ProjectSettings:
    return read_project("/w/pyproject.toml", table, text, FILES.__contains__)


def test_each_example_knows_where_it_is_written() -> None:
    text = '# "net.py::f" here\n[tool.graphbreak.examples]\n"net.py::f" = [ "f(1)",\n  "é(f(1))" ]\n\'net.py::g\' = "g(\\"a\\")"\n'
    settings = settings_of(text, {"examples": {"net.py::f": ["f(1)", "é(f(1))"], "net.py::g": 'g("a")'}})
    assert settings.problems == ()
    places = [(str(one.span), one.utf8) for one in settings.examples]
    source = SourceFile("", text)
    assert [source.slice(one.span) for one in settings.examples] == ["f(1)", "é(f(1))", "net.py::g"], places
    assert [one.span.start.line for one in settings.examples] == [2, 3, 4]
    assert settings.examples_of("/w/net.py") == list(settings.examples)
    assert settings.examples_of("/w/train.py") == []


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"examples": ["f(1)"]}, "tool.graphbreak.examples is ignored: expected a table such as"),
    ({"examples": {"f": "f(1)"}}, 'tool.graphbreak.examples."f" is ignored: expected a file and a function in it'),
    ({"examples": {"net.py::f": 1}}, 'tool.graphbreak.examples."net.py::f" is ignored: expected an example call, or a list of them'),
    ({"examples": {"gone.py::f": "f(1)"}}, 'tool.graphbreak.examples."gone.py::f" is ignored: there is no /w/gone.py'),
    ({"entries": "train.py"}, "tool.graphbreak.entries is ignored: expected a list such as"),
    ({"entries": ["gone.py"]}, "tool.graphbreak.entries: `gone.py` names a file that does not exist: /w/gone.py"),
]


@pytest.mark.parametrize(("table", "says"), WRONG)
def test_wrong_inputs_are_left_out_and_named(table: dict[str, Any], says: str) -> None:
    settings = settings_of("", table)
    assert [problem.startswith(f"/w/pyproject.toml: {says}") for problem in settings.problems] == [True], settings.problems
    assert (settings.examples, settings.entries) == ((), ())


def example_runs(*named: tuple[str, str]) -> tuple[list[tuple[str, list[str], list[tuple[str, str]]]], list[str]]:
    text = "".join(f'"net.py::{name}" = "{call}"\n' for name, call in named)
    examples = settings_of(text, {"examples": {f"net.py::{name}": call for name, call in named}}).examples
    source = SourceFile("/w/net.py", NET)
    marks = find_marks(source, examples)
    runs = plan_runs(source, marks)
    assert all(call.file == "/w/pyproject.toml" for run in runs if run.source == "project" for call in run.calls)
    calls = [(run.source, [mark.name for mark in run.marks], [(c.expression, c.compile_path) for c in run.calls]) for run in runs]
    return calls, [one.error for one in marks.stray]


def test_an_example_counts_as_a_comment_above_its_function_does() -> None:
    runs, stray = example_runs(("Net.forward", "Net()(1)"), ("loss", "loss(1)"), ("net", "net(1)"), ("own", "own(2)"))
    assert runs == [
        ("directive", ["own"], [("own(1)", "own")]),
        ("project", ["Net.forward", "loss", "net"], [("Net()(1)", "Net.forward"), ("loss(1)", ""), ("net(1)", "net")]),
        ("call", ["plain"], []),
    ]
    assert stray == []


def test_an_example_for_nothing_or_that_is_no_call_is_an_error_where_it_is_written() -> None:
    runs, stray = example_runs(("lossy", "loss(1)"), ("loss", "loss(1"))
    assert [source for source, *_ in runs] == ["directive", "call"]
    assert stray == ["There is no `lossy` in /w/net.py.", "This is not a Python expression: '(' was never closed."]


def entry(text: str) -> Entry:
    return read_entry(text, "/w", FILES.__contains__)


def test_entries_come_before_the_program_and_a_script_in_place_of_it() -> None:
    source = SourceFile("/w/train.py", "import torch\n" + F)
    marks = find_marks(source)
    test = plan_runs(source, marks, entries=[entry("tests/test_net.py::test_f")])
    assert [(run.source, len(run.marks)) for run in test] == [("project", 1), ("call", 1)]
    assert [run.source for run in plan_runs(source, marks, entries=[entry("train.py -n 1"), entry("train.py -n 2")])] == ["project"] * 2
    unmarked = SourceFile("/w/train.py", "import net\n")
    assert [run.source for run in plan_runs(unmarked, find_marks(unmarked), entries=[entry("train.py")])] == ["project"]


def test_a_run_is_left_out_once_its_marks_are_shown() -> None:
    source = SourceFile("/w/train.py", "import torch\n" + F)
    marks = find_marks(source)
    first, second = plan_runs(source, marks, entries=[entry("tests/test_net.py::test_f")])
    assert first.after([]) == first
    assert second.after(first.marks) is None
    (unmarked,) = plan_runs(source, find_marks(SourceFile("/w/train.py", "")), entries=[entry("train.py")])
    assert unmarked.after(marks.marks) is not None


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (InputSet("call", ""), "from call"),
        (InputSet("call", "", "/w/train.py"), "from train.py"),
        (InputSet("call", "", "tests/test_net.py::test_f"), "from test_net.py::test_f"),
        (InputSet("project", ""), "from project"),
        (InputSet("project", "", "train.py --epochs 1"), "from project: train.py --epochs 1"),
        (InputSet("inferred", ""), "a guess"),
    ],
)
def test_where_inputs_came_from_is_said(inputs: InputSet, words: str) -> None:
    assert origin(inputs) == words
