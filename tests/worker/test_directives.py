"""Example calls in comments: what they compile, which inputs they are, and where their own faults are shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from graphbreak.core.findings import Kind, Outcome
from harness import Harness, code, of_kind, only, squiggles

IMPORT = "import torch\n"
BODY = "    x = x * 2\n    print('a')\n    return x + 1\n"
F = "def f(x):\n" + BODY
MARKED = "@torch.compile\n" + F
METHOD_BODY = "        x = x * 2\n        print('a')\n        return x + 1\n"
NET = "class Net(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.layer = torch.nn.Linear(n, n)\n"
FORWARD = "    def forward(self, x):\n" + METHOD_BODY
BREAK = ("break", "GB0059", "print('a')")


@dataclass(frozen=True)
class Example:
    text: str
    name: str
    line: int
    inputs: tuple[str, ...] = ("x: f32[3]",)


EXAMPLES = {
    "above a marked function": Example("# graphbreak: f(torch.ones(3))\n" + MARKED, "f", 3),
    "above an unmarked function": Example("# graphbreak: f(torch.ones(3))\n" + F, "f", 2),
    "several input sets": Example(
        "# graphbreak: f(torch.ones(3))\n# graphbreak: f(torch.ones(3, dtype=torch.float64))\n" + MARKED, "f", 4, ("x: f32[3]", "x: f64[3]")
    ),
    "with arguments by name": Example("# graphbreak: f(x=torch.ones(2, 3))\n" + MARKED, "f", 3, ("x: f32[2, 3]",)),
    "above an unmarked method": Example(
        NET + "    # graphbreak: Net(4)(torch.ones(2, 4))\n" + FORWARD, "Net.forward", 6, ("x: f32[2, 4]",)
    ),
    "above a marked method": Example(
        NET + "    # graphbreak: Net(4)(torch.ones(2, 4))\n    @torch.compile\n" + FORWARD, "Net.forward", 7, ("x: f32[2, 4]",)
    ),
    "above a method of a plain class": Example(
        "class Step:\n    # graphbreak: Step().run(torch.ones(3))\n    def run(self, x):\n" + METHOD_BODY, "Step.run", 3
    ),
    "above a static method": Example(
        "class Step:\n    # graphbreak: Step.run(torch.ones(3))\n    @staticmethod\n    def run(x):\n" + METHOD_BODY, "Step.run", 4
    ),
    "above a class method": Example(
        "class Step:\n    # graphbreak: Step.run(torch.ones(3))\n    @classmethod\n    def run(cls, x):\n" + METHOD_BODY,
        "Step.run",
        4,
        ("cls: Step, x: f32[3]",),
    ),
    "above an unmarked class": Example("# graphbreak: Net(4)(torch.ones(2, 4))\n" + NET + FORWARD, "Net", 2, ("x: f32[2, 4]",)),
    "above a marked class": Example(
        "# graphbreak: Net(4)(torch.ones(2, 4))\n@torch.compile\n" + NET + FORWARD, "Net", 3, ("x: f32[2, 4]",)
    ),
    "above an assignment that compiles": Example(F + "# graphbreak: g(torch.ones(3))\ng = torch.compile(f)\n", "f", 1),
    "above an assignment that does not": Example(
        "class Net(torch.nn.Module):\n" + FORWARD + "# graphbreak: net(torch.ones(3))\nnet = Net()\n", "net", 7
    ),
    "of a file that makes the same call": Example("# graphbreak: f(torch.ones(3))\n" + MARKED + "f(torch.ones(3))\n", "f", 3),
    "of a file that is also a program": Example(
        "# graphbreak: f(torch.ones(3))\n" + MARKED + "f(torch.ones(5))\nif __name__ == '__main__':\n    raise SystemExit(5)\n", "f", 3
    ),
}


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_an_example_call_shows_the_function_that_it_stands_above(harness: Harness, tmp_path: Path, example: Example) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + example.text)
    assert [shown for shown in squiggles(report) if shown[0] != "recompile"] == [BREAK], report.output
    assert len(of_kind(report, Kind.RECOMPILE)) <= 2 * (len(example.inputs) - 1)
    row = only(report)
    assert (row.name, row.line, row.outcome, row.breaks) == (example.name, example.line, Outcome.TRACED, 1)
    assert row.graphs == row.ops == 2 * len(example.inputs)
    assert tuple(inputs.summary for inputs in row.inputs) == example.inputs
    assert {inputs.source for inputs in row.inputs} == {"directive"}
    assert report.diagnostics[0].functions == (example.name,)


def test_marks_with_and_without_examples_share_a_file(harness: Harness, tmp_path: Path) -> None:
    text = "# graphbreak: f(torch.ones(3))\n" + MARKED + "\n@torch.compile\ndef g(x):\n    x = x * 3\n    print('g')\n    return x - 1\n"
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text + "g(torch.ones(5))\nf(torch.ones(9))\n")
    rows = [(row.name, row.graphs, [(inputs.source, inputs.summary) for inputs in row.inputs]) for row in report.functions]
    assert rows == [("f", 2, [("directive", "x: f32[3]")]), ("g", 2, [("call", "x: f32[5]")])]
    assert squiggles(report) == [BREAK, ("break", "GB0059", "print('g')")]
    assert [found.functions for found in report.diagnostics] == [("f",), ("g",)]


def test_one_function_asked_for_runs_its_own_examples_alone(harness: Harness, tmp_path: Path) -> None:
    example = "# graphbreak: {0}(torch.ones(3))\n@torch.compile\ndef {0}(x):\n    print('{0} runs')\n    return x + 1\n\n"
    (tmp_path / "main.py").write_text(IMPORT + example.format("f") + example.format("g") + "@torch.compile\ndef h(x): return x\nh(1)\n")
    report = harness.analyse(tmp_path / "main.py", only="g")
    row = only(report)
    assert (row.name, row.outcome, row.breaks, row.inputs[0].source) == ("g", Outcome.TRACED, 1, "directive")
    assert report.output == "g runs\n"
    assert squiggles(report) == [("break", "GB0059", "print('g runs')")]


def test_a_fullgraph_mark_with_an_example_and_no_call(harness: Harness, tmp_path: Path) -> None:
    text = "# graphbreak: f(torch.ones(3))\n@torch.compile(fullgraph=True)\n" + F
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text)
    assert squiggles(report) == [BREAK]
    assert report.diagnostics[0].severity.value == "error"
    assert (only(report).outcome, only(report).fullgraph, only(report).graphs) == (Outcome.TRACED, True, 0)


@dataclass(frozen=True)
class Wrong:
    text: str
    outcome: Outcome
    detail: str
    at: str
    message: str


WRONG = {
    "a name that is not there": Wrong(
        "# graphbreak: f(torch.one(3))\n" + MARKED,
        Outcome.NO_INPUTS,
        "its example call raised AttributeError: module 'torch' has no attribute 'one'",
        "torch.one",
        "Raised: AttributeError: module 'torch' has no attribute 'one'",
    ),
    "no expression": Wrong(
        "# graphbreak: f(torch.ones(3)\n" + MARKED,
        Outcome.NOT_REACHED,
        "nothing in this file calls it",
        "f(torch.ones(3)",
        "This is not a Python expression: '(' was never closed.",
    ),
    "too many arguments": Wrong(
        "# graphbreak: f(1, 2)\n" + MARKED,
        Outcome.TRACED,
        "",
        "f(1, 2)",
        "Fails in eager mode too: TypeError: f() takes 1 positional argument but 2 were given",
    ),
    "an exit while the file is imported": Wrong(
        "# graphbreak: f(torch.ones(3))\n" + MARKED + "raise SystemExit(4)\n",
        Outcome.RAISED,
        "the program raised SystemExit: 4 before it was called",
        "raise SystemExit(4)",
        "Raised: SystemExit: 4",
    ),
    "an exception while the file is imported": Wrong(
        "# graphbreak: f(torch.ones(3))\n" + MARKED + "raise ValueError('top')\n",
        Outcome.RAISED,
        "the program raised ValueError: top before it was called",
        "raise ValueError('top')",
        "Raised: ValueError: top",
    ),
    "an exit of the example": Wrong(
        "# graphbreak: exit(3)\n" + MARKED, Outcome.NO_INPUTS, "its example call raised SystemExit: 3", "exit(3)", "Raised: SystemExit: 3"
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_the_fault_of_an_example_is_shown_on_it(harness: Harness, tmp_path: Path, wrong: Wrong) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + wrong.text)
    assert only(report).outcome is wrong.outcome
    assert wrong.detail in only(report).detail
    (raised,) = of_kind(report, Kind.RAISED)
    assert code(report, raised) == wrong.at
    assert raised.message == wrong.message


def test_one_example_may_fail_and_the_others_count(harness: Harness, tmp_path: Path) -> None:
    text = "# graphbreak: f(torch.one(3))\n# graphbreak: f(torch.ones(3))\n" + MARKED
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text)
    assert only(report).outcome is Outcome.TRACED
    assert squiggles(report) == [BREAK, ("raised", "raised", "torch.one")]


def test_an_example_that_is_no_expression_above_an_unmarked_function(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", "# graphbreak: f(\n" + F)
    assert report.functions == ()
    assert [(found.kind, code(report, found)) for found in report.diagnostics] == [(Kind.RAISED, "f(")]


def test_an_example_above_nothing(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + F + "# graphbreak: f(torch.ones(3))\n\nf(1)\n")
    (found,) = report.diagnostics
    assert (found.kind, code(report, found)) == (Kind.NOT_ANALYSED, "f(torch.ones(3))")
    assert found.message == "Not analysed: this example call stands above nothing that can be compiled."


def test_an_example_that_calls_something_else(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + "# graphbreak: torch.ones(3)\n" + MARKED)
    assert (only(report).outcome, only(report).detail) == (Outcome.NOT_REACHED, "its example call ran without calling it")
    (hint,) = report.diagnostics
    assert "write an example call" not in hint.message
