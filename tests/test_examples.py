"""Every file in `examples/`, checked by the real command line: exactly these diagnostics, at exactly these expressions."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Expected:
    """A diagnostic: its kind and code, and the expression under it (`line` holds it; the first such place in the file)."""

    kind: str
    code: str
    expression: str
    severity: str = "warning"
    function: str = ""


@dataclass(frozen=True)
class Example:
    file: str
    name: str
    graphs: int
    ops: int
    found: tuple[Expected, ...]


EXAMPLES = (
    Example("print_middle.py", "scale", 2, 2, (Expected("break", "GB0059", 'print("mid")'),)),
    Example(
        "helper_print.py",
        "big",
        3,
        3,
        (Expected("break", "GB0059", 'print("log")'), Expected("caller", "GB0059", "util(y)", "information")),
    ),
    Example("print_first.py", "announce", 1, 2, (Expected("break", "GB0059", 'print("start")'),)),
    Example("print_in_loop.py", "refine", 0, 0, (Expected("skipped", "GB0059", 'print("step", step)'),)),
    Example("branch_on_data.py", "gate", 2, 7, (Expected("break", "GB0170", "y.sum() > 0"),)),
    Example("item_score.py", "rescale", 2, 2, (Expected("break", "GB0124", "x.sum().item()"),)),
    Example("disabled_callee.py", "step", 2, 2, (Expected("intended", "GB0098", "report_shape(y)", "information"),)),
    Example("fullgraph_print.py", "normalize", 0, 0, (Expected("break", "GB0059", 'print("centred")', "error"),)),
    Example(
        "two_callers.py",
        "blend",
        4,
        5,
        (
            Expected("break", "GB0059", 'print("norm")'),
            Expected("caller", "GB0059", "log_norm(x * 2)", "information"),
            Expected("caller", "GB0059", "log_norm(y * 3)", "information"),
        ),
    ),
)


@pytest.fixture(scope="session")
def report() -> dict[str, Any]:
    """The JSON of `graphbreak check examples`, run once from the repository's root."""
    command = [sys.executable, "-m", "graphbreak", "check", "examples", "--format", "json", "--python", sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=_environment())
    assert done.returncode == 1, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT / "server")}


def _place(file: str, expression: str) -> tuple[int, int, int, int]:
    """1-based line and columns of the first line of an example that holds an expression."""
    lines = (ROOT / "examples" / file).read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines) if expression in text and not text.lstrip().startswith(("#", '"""', "def")))
    column = lines[line].index(expression)
    return line + 1, column + 1, line + 1, column + 1 + len(expression)


def _found(report: dict[str, Any], file: str) -> list[dict[str, Any]]:
    return [diagnostic for diagnostic in report["diagnostics"] if diagnostic["path"] == f"examples/{file}"]


def _range(diagnostic: dict[str, Any]) -> tuple[int, int, int, int]:
    start, end = diagnostic["range"]["start"], diagnostic["range"]["end"]
    return start["line"], start["column"], end["line"], end["column"]


def test_every_example_has_an_expectation() -> None:
    files = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert files == {example.file for example in EXAMPLES} | {"transformers_model.py"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.file)
def test_example(report: dict[str, Any], example: Example) -> None:
    actual = [(found["kind"], found["code"], found["severity"], _range(found)) for found in _found(report, example.file)]
    wanted = [(found.kind, found.code, found.severity, _place(example.file, found.expression)) for found in example.found]
    assert sorted(actual) == sorted(wanted)
    (function,) = [function for function in report["functions"] if function["mark"]["path"] == f"examples/{example.file}"]
    assert (function["name"], function["outcome"]) == (example.name, "traced")
    assert (function["graphs"], function["ops"]) == (example.graphs, example.ops)
    assert function["breaks"] == sum(found.kind == "break" for found in example.found)
    assert function["skipped"] == sum(found.kind == "skipped" for found in example.found)
    assert function["inputs"]
    assert all("f32[8, 16]" in inputs["summary"] for inputs in function["inputs"])


def test_loop_says_that_the_whole_function_runs_eagerly(report: dict[str, Any]) -> None:
    (found,) = _found(report, "print_in_loop.py")
    assert "whole function `refine` runs eagerly" in found["message"]
    assert found["cost"]["in_loop"]
    assert [frame["effect"] for frame in found["frames"]] == ["eager"]


def test_branch_explains_itself(report: dict[str, Any]) -> None:
    (found,) = _found(report, "branch_on_data.py")
    assert found["gb_type"] == "Data-dependent branching"
    assert "data-dependent branching" in found["explanation"]
    assert any("torch.cond" in hint for hint in found["hints"])
    assert found["url"].endswith("gb0170.html")


def test_one_cause_has_two_callers(report: dict[str, Any]) -> None:
    found = _found(report, "two_callers.py")
    assert len({diagnostic["cause"] for diagnostic in found}) == 1
    assert [diagnostic["kind"] for diagnostic in found].count("caller") == 2


def test_caller_says_what_happened_to_its_own_frame(report: dict[str, Any]) -> None:
    (caller,) = [found for found in _found(report, "helper_print.py") if found["kind"] == "caller"]
    assert "`big` is split at this call" in caller["message"]
    assert caller["related"][0]["line"] == _place("helper_print.py", 'print("log")')[0]


def test_fullgraph_is_traced_from_its_directive(report: dict[str, Any]) -> None:
    (function,) = [function for function in report["functions"] if function["name"] == "normalize"]
    assert function["fullgraph"]
    assert function["inputs"][0]["source"] == "directive"
    assert not [found for found in report["diagnostics"] if found["kind"] == "raised"]


def test_library_breaks_sit_on_the_line_of_the_user_that_led_there(report: dict[str, Any]) -> None:
    found = _found(report, "transformers_model.py")
    assert sorted(diagnostic["code"] for diagnostic in found) == ["GB0124", "GB0170", "GB0170", "GB0170"]
    place = _place("transformers_model.py", "model(tokens)")
    for diagnostic in found:
        assert _range(diagnostic) == place
        assert diagnostic["kind"] == "break"
        assert diagnostic["stack"][0]["path"] == "examples/transformers_model.py"
        innermost = diagnostic["stack"][-1]
        assert innermost["library"]
        assert innermost["path"].endswith("transformers/models/reformer/modeling_reformer.py")
        assert any(innermost["line"] == place["line"] and place["path"] == innermost["path"] for place in diagnostic["related"])
    assert len({diagnostic["stack"][-1]["line"] for diagnostic in found}) == 4
