"""The example call that is suggested for a marked function: where it goes, and its arguments."""

from __future__ import annotations

import ast

import pytest

from graphbreak.core.arguments import arguments
from graphbreak.core.marks import find_marks
from graphbreak.core.source import SourceFile
from graphbreak.core.suggest import Suggestion, suggest

ARGUMENTS = [
    ("", ""),
    ("x: f32[8, 16], n: 3", "torch.randn(8, 16), n=3"),
    ("x: f32[8, 16]", "torch.randn(8, 16)"),
    ("f32[8], 3", "torch.randn(8), 3"),
    ("x: f32[]", "torch.randn(())"),
    ("ids: i64[2, 7]", "torch.zeros(2, 7, dtype=torch.int64)"),
    ("mask: bool[4]", "torch.zeros(4, dtype=torch.bool)"),
    ("x: bf16[4] on cuda:0 with grad", 'torch.randn(4, dtype=torch.bfloat16, device="cuda:0", requires_grad=True)'),
    ("x: float8_e4m3fn[4]", "torch.zeros(4, dtype=torch.float8_e4m3fn)"),
    ("n: 3, x: f32[4]", "n=3, x=torch.randn(4)"),
    ("a: -1.5, b: True, c: None, d: 'a, b: [c'", "a=-1.5, b=True, c=None, d='a, b: [c'"),
    ("xs: [f32[4], (f32[2])], rest: (3, 4)", "[torch.randn(4), (torch.randn(2),)], (3, 4)"),
    ("batch: {'x': f32[4], 'n': 2}, flag: False", "{'x': torch.randn(4), 'n': 2}, flag=False"),
    ("xs: [1, 2, 3, 4, … 2 more]", "[1, 2, 3, 4, ...]"),
    ("model: Net, x: f32[4]", "..., torch.randn(4)"),
    ("dtype: torch.float16, s: str, v: nan", "torch.float16, ..., float('nan')"),
    ("x: f32[s0, 4]", "..."),
    ("x: f32[4], y: f32[…", "torch.randn(4), ..."),
]


@pytest.mark.parametrize(("inputs", "written"), ARGUMENTS)
def test_described_inputs_become_arguments(inputs: str, written: str) -> None:
    assert arguments(inputs) == written
    ast.parse(f"f({written})")


PARAMETERS = [
    ("x, /, n", "x: 1, n: 2", "1, n=2"),
    ("x, *, mask", "x: f32[4], mask: bool[4]", "torch.randn(4), mask=torch.zeros(4, dtype=torch.bool)"),
    (
        "n, *xs, **more",
        "n: 3, xs: (f32[4], f32[2]), more: {'k': 1, 'y': f32[1]}",
        "3, torch.randn(4), torch.randn(2), k=1, y=torch.randn(1)",
    ),
    ("n, *xs", "n: 3, xs: ()", "n=3"),
]


@pytest.mark.parametrize(("parameters", "inputs", "written"), PARAMETERS)
def test_parameters_say_what_must_be_named(parameters: str, inputs: str, written: str) -> None:
    function = ast.parse(f"lambda {parameters}: 0", mode="eval").body
    assert isinstance(function, ast.Lambda)
    assert arguments(inputs, function.args) == written
    ast.parse(f"f({written})")


HEAD = "import torch\nfrom torch import nn\n"
NET = "class Net(nn.Module):\n    def __init__(self, dim): pass\n"
PLACES = [
    ("@torch.compile\ndef f(x, n): pass\n", "x: f32[8, 16], n: 3", 2, "", "f(torch.randn(8, 16), n=3)"),
    ("@torch.no_grad()\n@torch.compile\ndef f(x): pass\n", "", 2, "", "f(...)"),
    ("@torch.compile\ndef f(): pass\n", "", 2, "", "f()"),
    (NET + "    @torch.compile\n    def forward(self, x): pass\n", "x: f32[4]", 4, "    ", "Net(...)(torch.randn(4))"),
    (NET + "    @torch.compile\n    def encode(self, x): pass\n", "x: f32[4]", 4, "    ", "Net(...).encode(torch.randn(4))"),
    ("class A:\n\t@staticmethod\n\t@torch.compile\n\tdef f(x): pass\n", "x: 1", 3, "\t", "A.f(x=1)"),
    ("@torch.compile\nclass A(nn.Module):\n    def __init__(self, n=1): pass\n    def forward(self): pass\n", "", 2, "", "A()()"),
    ("def outer(n):\n    @torch.compile\n    def f(x): pass\n", "x: f32[4]", 3, "    ", "outer(...)"),
    ("def f(x): pass\ng = torch.compile(f)\n", "x: f32[4]", 2, "", "f(torch.randn(4))"),
    ("net = nn.Linear(4, 4)\ng = torch.compile(\n    net)\n", "input: f32[4]", 3, "", "g(torch.randn(4))"),
    ("net = nn.Linear(4, 4)\nnet.compile()\n", "input: f32[4]", 3, "", "net(torch.randn(4))"),
    ("def main(net):\n    g = torch.compile(net)\n", "", 3, "    ", "..."),
    ("g = torch.compile(lambda x: x)\n", "x: 1", 2, "", "g(x=1)"),
]


@pytest.mark.parametrize(("text", "inputs", "line", "indentation", "call"), PLACES)
def test_the_call_goes_above_the_decorators_or_the_statement(text: str, inputs: str, line: int, indentation: str, call: str) -> None:
    source = SourceFile("/a.py", HEAD + text)
    marks = find_marks(source)
    suggestion = suggest(source, marks, marks.marks[0], inputs)
    assert suggestion == Suggestion(line, indentation, f"# graphbreak: {call}", None)
    written = [*source.lines[:line], indentation + suggestion.text, *source.lines[line:]]
    (mark, *_) = find_marks(SourceFile("/a.py", "\n".join(written))).marks
    assert [directive.expression for directive in mark.directives] == [call]


@pytest.mark.parametrize(
    ("text", "existing"),
    [
        ("# graphbreak: f(1)\n# graphbreak: f(2)\n@torch.compile\ndef f(x): pass\n", 2),
        ("@torch.compile\n# graphbreak: f(1)\ndef f(x): pass\n", 3),
        ("# graphbreak: f(\n@torch.compile\ndef f(x): pass\n", 2),
        ("# graphbreak: f(1)\ndef f(x): pass\n", 2),
        ("# graphbreak: g(1)\ng = torch.compile(len)\n", 2),
        ("@torch.compile\ndef f(x): pass\n# graphbreak: h(1)\ndef h(x): pass\n", None),
    ],
)
def test_a_directive_that_is_there_is_named(text: str, existing: int | None) -> None:
    source = SourceFile("/a.py", HEAD + text)
    marks = find_marks(source)
    assert suggest(source, marks, marks.marks[0]).existing == existing


def test_a_file_that_does_not_parse_has_a_place_too() -> None:
    source = SourceFile("/a.py", HEAD + "x = = 1\n@torch.compile\ndef f(x): pass\n")
    marks = find_marks(source)
    assert suggest(source, marks, marks.marks[0]).line == 3
