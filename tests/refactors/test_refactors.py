"""The refactors as pure edits, and a split function under the real worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphbreak.core.findings import Diagnostic, FunctionResult, Graph, Kind, Outcome, Severity
from graphbreak.core.source import SourceFile, Span
from graphbreak.refactors import extract_compiled, fullgraph
from harness import Harness

PATH = "/w/net.py"

PROGRAM = """import torch

seen = []


def note(value):
    seen.append(float(value))


@torch.compile
def step(x, scale=2):
    \"\"\"Double and note.\"\"\"
    y = x * scale
    if scale > 1:
        z = y.relu()
    else:
        z = y
    «note(z.sum())»
    w = z + y
    return w * scale


print(step(torch.arange(-2.0, 3.0)).tolist(), seen)
"""
SPLIT = """@torch.compile
def _step_before(x, scale):
    y = x * scale
    if scale > 1:
        z = y.relu()
    else:
        z = y
    return y, z


@torch.compile
def _step_after(scale, y, z):
    w = z + y
    return w * scale


def step(x, scale=2):
    \"\"\"Double and note.\"\"\"
    y, z = _step_before(x, scale)
    note(z.sum())
    return _step_after(scale, y, z)
"""


def split(text: str, newline: str = "\n") -> str | None:
    text = text.replace("\n", newline)
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    fix = extract_compiled(source, Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0059", ""))
    return source.apply(fix.edits[PATH]).text if fix is not None else None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_function_is_split(newline: str) -> None:
    assert SPLIT.replace("\n", newline) in (split(PROGRAM, newline) or "")


def test_both_parts_are_clean_and_the_program_does_the_same(harness: Harness, tmp_path: Path) -> None:
    before = harness.write_and_analyse(tmp_path / "before.py", PROGRAM.replace("«", "").replace("»", ""))
    after = harness.write_and_analyse(tmp_path / "after.py", split(PROGRAM) or "")
    assert sum(function.breaks + function.skipped for function in before.functions) == 1
    assert [(f.name, f.graphs, f.breaks, f.skipped) for f in after.functions] == [("_step_before", 1, 0, 0), ("_step_after", 1, 0, 0)]
    last = [report.output.strip().splitlines()[-1] for report in (before, after)]
    assert last == ["[-8.0, -4.0, 0.0, 8.0, 16.0] [6.0]"] * 2


HEAD = "import torch\n\n\n@torch.compile\ndef f(x, n=1):\n"
WHOLE = {
    "first": "    «print(x)»\n    return x * 2\n",
    "last": "    y = x * 2\n    «print(y)»\n",
    "in a loop": "    for i in range(n):\n        «print(i)»\n        x = x * 2\n    return x\n",
    "a name that may not be bound": "    if n:\n        y = x * 2\n    «print(x)»\n    return y\n",
    "returns before": "    if n:\n        return x * 2\n    y = x + 1\n    «print(y)»\n    return y\n",
    "a generator": "    y = x * 2\n    «print(y)»\n    yield y\n",
    "asks for its names": "    y = x * 2\n    «print(y)»\n    return locals()\n",
    "two on a line": "    y = x * 2; «print(y)»\n    return y\n",
}


@pytest.mark.parametrize("name", WHOLE)
def test_left_whole(name: str) -> None:
    assert split(HEAD + WHOLE[name]) is None


def test_only_marked_functions_of_the_module_are_split() -> None:
    body = "y = x * 2\n    «print(y)»\n    return y\n"
    assert split(f"def f(x):\n    {body}") is None
    assert split(f"import torch\n\n\n@other\n@torch.compile\ndef f(x):\n    {body}") is None


MARKS = {
    "decorator": ("@«torch.compile»\ndef f(x): ...\n", "@torch.compile(fullgraph=True)\ndef f(x): ...\n"),
    "empty call": ("@«torch.compile()»\ndef f(x): ...\n", "@torch.compile(fullgraph=True)\ndef f(x): ...\n"),
    "options": (
        "@«torch.compile(\n    dynamic=True,\n)»\ndef f(x): ...\n",
        "@torch.compile(\n    dynamic=True, fullgraph=True,\n)\ndef f(x): ...\n",
    ),
    "call": ("g = «torch.compile(f)»\n", "g = torch.compile(f, fullgraph=True)\n"),
    "method": ("«net.compile()»\n", "net.compile(fullgraph=True)\n"),
    "said already": ("g = «torch.compile(f, fullgraph=False)»\n", None),
    "unpacked": ("g = «torch.compile(f, **options)»\n", None),
}


def strict(text: str, **changes: object) -> str | None:
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    values: dict[str, object] = {"outcome": Outcome.TRACED, "graphs": 1, **changes}
    function = FunctionResult(PATH, "f", 1, PATH, span, **values)  # type: ignore[arg-type]
    fix = fullgraph(source, span, [function], [])
    return source.apply(fix.edits[PATH]).text if fix is not None else None


@pytest.mark.parametrize("name", MARKS)
def test_fullgraph_is_put_at_the_mark(name: str) -> None:
    before, after = MARKS[name]
    assert strict(before) == after


def test_fullgraph_only_for_what_is_clean() -> None:
    mark = MARKS["decorator"][0]
    for changes in ({"graphs": 0}, {"breaks": 1}, {"skipped": 1}, {"outcome": Outcome.NOT_REACHED}, {"fullgraph": True}):
        assert strict(mark, **changes) is None
    assert strict(mark, graph_list=(Graph(1, (), ("a",)),)) is None


def test_fullgraph_not_beside_an_intended_break() -> None:
    source = SourceFile(PATH, "@torch.compile\ndef f(x): ...\n")
    span = Span.at(0, 1, 0, 14)
    function = FunctionResult(PATH, "f", 1, PATH, span, Outcome.TRACED, graphs=1)
    intended = Diagnostic("1", PATH, span, Severity.INFORMATION, Kind.INTENDED, "GB0098", "", functions=("f",))
    assert fullgraph(source, span, [function], [intended]) is None
    assert fullgraph(source, span, [], []) is None
