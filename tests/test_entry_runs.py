"""Inputs from elsewhere, on the real engine: example calls and entries of a project, tests, and files that nobody had to name."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphbreak.cli.entries import told
from graphbreak.core.findings import FunctionResult, Outcome, Report
from graphbreak.core.functions import NOTHING_CALLS
from graphbreak.core.requests import AnalysisRequest
from graphbreak.core.source import Span
from harness import INTERPRETER, Harness
from test_cli import Command

LAYERS = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        x = self.linear(x)
        print("block")
        return x + 1
"""

MODEL = """\
import torch
from torch import nn
from layers import Block


class Net(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.block = Block(dim)

    def forward(self, x):
        return self.block(x)


@torch.compile
def loss(y):
    return y.mean()
"""

TRAIN = """\
import torch
from model import Net, loss

net = torch.compile(Net())
for _ in range(2):
    loss(net(torch.randn(4, 8)))
"""

BREAKS = "@torch.compile\ndef f(x):\n    x = x * 2\n    print('a')\n    return x + 1\n"

needs_pytest = pytest.mark.skipif(
    subprocess.run([INTERPRETER, "-c", "import pytest"], capture_output=True, check=False).returncode != 0
    if sys.executable != INTERPRETER
    else importlib.util.find_spec("pytest") is None,
    reason="the interpreter of the workers has no pytest",
)


@pytest.fixture
def check(harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`graphbreak check` in an empty folder."""

    class Shared:
        async def analyse(
            self, request: AnalysisRequest, progress: Callable[[str], None], found: Callable[[Report], None] | None = None
        ) -> Report:
            return await asyncio.wrap_future(harness.submit(harness.engine.analyse(request, progress)))

        async def close(self) -> None:
            return

    monkeypatch.setattr("graphbreak.cli.check.Engine", Shared)
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path, capsys)


@pytest.fixture
def three(check: Command) -> Command:
    """The same in a project of three modules, of which only the last compiles the break in the first."""
    for name, text in (("layers.py", LAYERS), ("model.py", MODEL), ("train.py", TRAIN)):
        check.write(name, text)
    return check


def breaks(result: dict[str, Any]) -> list[tuple[str, int, list[str]]]:
    """Where breaks are, and which functions they are in."""
    found = [one for one in result["diagnostics"] if one["kind"] in ("break", "skipped")]
    return sorted((one["path"], one["range"]["start"]["line"], one["functions"]) for one in found)


def rows(result: dict[str, Any]) -> list[tuple[str, str, str, list[str]]]:
    """The functions, each with what became of it and through what it was called."""
    return [
        (row["path"], row["name"], row["outcome"], sorted({f"{one['source']}:{one.get('entry', '')}" for one in row["inputs"]}))
        for row in result["functions"]
    ]


def test_a_module_that_compiles_nothing_is_traced_through_the_program_that_does(three: Command) -> None:
    status, result = three.json("layers.py")
    assert status == 1
    assert breaks(result) == [("layers.py", 12, ["Net.forward"])]
    assert rows(result) == [("model.py", "Net.forward", "traced", ["call:train.py"])]
    assert "from train.py" in three("layers.py")[1]


def test_a_clean_module_is_known_to_be_traced(three: Command) -> None:
    three.write("layers.py", LAYERS.replace('        print("block")\n', ""))
    status, result = three.json("layers.py")
    assert (status, breaks(result)) == (0, [])
    assert rows(result) == [("model.py", "Net.forward", "traced", ["call:train.py"])]


def test_a_function_that_only_another_file_calls_is_traced_there(three: Command) -> None:
    three.write("model.py", MODEL + "\n\n@torch.compile\ndef never(y):\n    return y\n")
    _, result = three.json("model.py")
    by_name = {name: (outcome, inputs) for _, name, outcome, inputs in rows(result)}
    assert by_name["loss"] == ("traced", ["call:train.py"])
    assert by_name["never"] == ("traced", ["inferred:"])


def test_what_nothing_calls_says_where_a_call_was_looked_for() -> None:
    span = Span.at(1, 0, 1, 5)
    row = FunctionResult(
        "/w/model.py", "f", 2, "/w/model.py", span, Outcome.NO_INPUTS, f"{NOTHING_CALLS}, and there is nothing to call it with"
    )
    report = Report("/w/model.py", functions=(row,))
    details = [
        told([report], {"/w/model.py"}, {"/w/model.py": [f"/w/{name}.py" for name in names]})[0].functions[0].detail
        for names in ((), ("train",), ("train", "eval"))
    ]
    assert details == [
        "nothing in this file calls it, and there is nothing to call it with",
        "neither this file nor train.py calls it, and there is nothing to call it with",
        "neither this file, train.py nor eval.py calls it, and there is nothing to call it with",
    ]


def test_a_folder_finds_the_programs_that_call_what_is_marked(check: Command) -> None:
    check.write("lib/ops.py", "import torch\n" + BREAKS)
    check.write("run.py", "import torch\nfrom lib import ops\n\nif __name__ == '__main__':\n    ops.f(torch.ones(2))\n")
    check.write("unrelated.py", "open('ran', 'w')\nprint('x')\n")
    status, result = check.json(".")
    assert (status, breaks(result)) == (1, [("lib/ops.py", 5, ["f"])])
    assert rows(result) == [("lib/ops.py", "f", "traced", ["call:run.py"])]
    assert not (check.folder / "ran").exists()


def test_what_else_a_program_shows_is_not_told_of_a_file_that_was_not_asked_for(three: Command) -> None:
    three.write(
        "train.py",
        TRAIN + "\n@torch.compile\ndef other(x):\n    print(1)\n    return x\n\nother(torch.ones(2))\nraise ValueError('late')\n",
    )
    status, result = three.json("layers.py")
    assert (status, breaks(result)) == (1, [("layers.py", 12, ["Net.forward"])])
    assert [row[1] for row in rows(result)] == ["Net.forward"]
    assert any("late" in problem for problem in result["problems"])


def test_a_project_says_how_its_scripts_are_run(three: Command) -> None:
    three.write("train.py", "import sys\nassert sys.argv[1:] == ['--epochs', '1', 'a b'], sys.argv\n" + TRAIN)
    three.write("pyproject.toml", "[tool.graphbreak]\nentries = [\"train.py --epochs 1 'a b'\"]\n")
    through = ["project:train.py --epochs 1 'a b'"]
    for path in ("train.py", "layers.py", "."):
        status, result = three.json(path)
        assert (status, breaks(result), result["problems"]) == (1, [("layers.py", 12, ["Net.forward"])], []), path
        assert all(inputs == through for *_, inputs in rows(result)), path


def test_a_function_is_an_entry(check: Command) -> None:
    check.write("src/pkg/__init__.py", "")
    check.write("src/pkg/ops.py", "import torch\n" + BREAKS)
    check.write(
        "src/pkg/demo.py", "import torch\nfrom .ops import f\n\nasync def main():\n    f(torch.ones(2))\n\nclass A:\n    b = main\n"
    )
    check.write("pyproject.toml", '[tool.graphbreak]\nentries = ["pkg.demo:main", "pkg.demo:A.b", "pkg.demo:gone"]\n')
    status, result = check.json("src/pkg/ops.py")
    assert (status, breaks(result)) == (1, [("src/pkg/ops.py", 5, ["f"])])
    assert rows(result) == [("src/pkg/ops.py", "f", "traced", ["project:pkg.demo:A.b", "project:pkg.demo:main"])]
    assert [problem for problem in result["problems"] if "There is no `gone` in" in problem]


def test_each_folder_of_a_monorepo_has_its_own_inputs(check: Command) -> None:
    for folder, shape in (("one", "2"), ("two", "3, 4")):
        check.write(f"{folder}/pyproject.toml", f'[tool.graphbreak.examples]\n"net.py::g" = "g(torch.ones({shape}))"\n')
        check.write(f"{folder}/net.py", "import torch\n\ndef g(x):\n    print('a')\n    return x + 1\n")
    check.write("pyproject.toml", '[tool.graphbreak]\nignore = ["GB0059"]\n')
    status, result = check.json("one", "two")
    assert (status, breaks(result)) == (1, [("one/net.py", 4, ["g"]), ("two/net.py", 4, ["g"])])
    assert [row["inputs"] for row in result["functions"]] == [
        [{"source": "project", "summary": "x: f32[2]"}],
        [{"source": "project", "summary": "x: f32[3, 4]"}],
    ]


def test_an_example_that_fails_is_shown_where_it_is_written(check: Command) -> None:
    project = (
        '[tool.graphbreak.examples]\n"net.py::f" = "f(torch.ones(é))"\n"net.py::gone" = "f(1)"\n"net.py::A.m" = "A().m(torch.ones(2))"\n'
    )
    check.write("pyproject.toml", project)
    check.write("net.py", "import torch\n" + BREAKS + "class A:\n    def m(self, x):\n        return x + 1\n")
    status, result = check.json("net.py")
    assert status == 1
    assert [(one["range"]["start"]["line"], one["message"]) for one in result["diagnostics"] if one["path"] == "pyproject.toml"] == [
        (2, "Raised: NameError: name 'é' is not defined"),
        (3, f"There is no `gone` in {check.folder}/net.py."),
    ]
    (undefined, _) = [one["range"] for one in result["diagnostics"] if one["path"] == "pyproject.toml"]
    line = project.splitlines()[1]
    assert line[undefined["start"]["column"] - 1 : undefined["end"]["column"] - 1] == "é"
    assert [(name, outcome) for _, name, outcome, _ in rows(result)] == [("f", "no-inputs"), ("A.m", "traced")]


TESTS = """\
import pytest
import torch
from layers import Block


@pytest.fixture
def block(width):
    return torch.compile(Block(width))


@pytest.mark.parametrize("rows", [1, 2])
def test_forward(block, rows):
    assert block(torch.randn(rows, 4)).sum() < 1e9


class TestOther:
    def test_item(self):
        f = torch.compile(lambda x: x.item())
        assert f(torch.ones(1)) == 1


@torch.compile
def checks(x):
    assert x.sum().item() > 0
    return x


def test_assert():
    checks(torch.ones(2))
"""


@pytest.fixture
def tested(check: Command) -> Command:
    """A module with tests of it, a conftest, and options of the project that would send the tests elsewhere."""
    check.write("layers.py", LAYERS)
    check.write("tests/conftest.py", "import pytest\n\n@pytest.fixture\ndef width():\n    return 4\n")
    check.write("tests/test_net.py", TESTS)
    check.write("pytest.ini", "[pytest]\naddopts = --last-failed --strict-markers\npythonpath = .\n")
    return check


@needs_pytest
def test_a_test_is_traced_with_its_fixtures(tested: Command) -> None:
    status, result = tested.json("tests/test_net.py::test_forward")
    assert (status, breaks(result), result["problems"]) == (1, [("layers.py", 12, ["Block.forward"])], [])
    (row,) = result["functions"]
    assert [one["entry"] for one in row["inputs"]] == ["tests/test_net.py::test_forward"] * 2
    assert [one["summary"] for one in row["inputs"]] == ["x: f32[1, 4]", "x: f32[2, 4]"]
    assert not list(tested.folder.rglob(".pytest_cache"))


@needs_pytest
def test_tests_are_chosen_by_parameters_and_classes(tested: Command) -> None:
    _, one = tested.json("tests/test_net.py::test_forward[2]")
    assert [row["inputs"][0]["summary"] for row in one["functions"]] == ["x: f32[2, 4]"]
    _, two = tested.json("tests/test_net.py::TestOther", "tests/test_net.py::test_assert")
    assert breaks(two) == [("tests/test_net.py", 18, ["TestOther.test_item.<lambda>"]), ("tests/test_net.py", 24, ["checks"])]


@needs_pytest
def test_ranges_in_tests_are_those_of_the_text(tested: Command) -> None:
    _, result = tested.json("tests/test_net.py::test_assert")
    (found,) = [one for one in result["diagnostics"] if one["kind"] in ("break", "skipped")]
    line = TESTS.splitlines()[found["range"]["start"]["line"] - 1]
    assert line[found["range"]["start"]["column"] - 1 : found["range"]["end"]["column"] - 1] == "x.sum().item()"


@needs_pytest
def test_a_file_of_tests_is_run_by_pytest_and_its_unsaved_text_counts(tested: Command, harness: Harness) -> None:
    path = tested.folder / "tests" / "test_net.py"
    text = TESTS.replace("x.item()", "x.tolist()").replace("== 1", "== [1]")
    report = harness.analyse(path, text, root=tested.folder)
    assert {row.name: row.outcome.value for row in report.functions} == dict.fromkeys(
        ("checks", "TestOther.test_item.<lambda>", "Block.forward"), "traced"
    )
    assert any(text.splitlines()[d.span.start.line][d.span.start.column : d.span.end.column] == "x.tolist()" for d in report.diagnostics)


@needs_pytest
def test_a_test_of_the_project_is_an_entry(tested: Command) -> None:
    tested.write("pyproject.toml", '[tool.graphbreak]\nentries = ["tests/test_net.py::test_forward[1]"]\n')
    _, result = tested.json("layers.py")
    assert breaks(result) == [("layers.py", 12, ["Block.forward"])]
    assert rows(result) == [("layers.py", "Block.forward", "traced", ["project:tests/test_net.py::test_forward[1]"])]


@needs_pytest
def test_a_test_that_fails_or_is_missing_is_told(tested: Command) -> None:
    tested.write(
        "tests/test_bad.py",
        "import torch\ndef test_a():\n    f = torch.compile(lambda x: x + 1)\n    f(torch.ones(1))\n    raise ValueError('no')\n",
    )
    status, result = tested.json("tests/test_bad.py::test_a")
    assert status == 1
    assert [(one["range"]["start"]["line"], one["message"]) for one in result["diagnostics"]] == [(5, "Raised: ValueError: no")]
    status, result = tested.json("tests/test_bad.py::test_gone")
    assert status == 2
    assert [problem for problem in result["problems"] if "pytest found no test `test_bad.py::test_gone`" in problem], result["problems"]
