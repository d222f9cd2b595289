"""Inputs for what nothing calls: found by guessing and trying, kept as an example call, declined where a call could do harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphbreak.core.findings import Kind, Outcome
from graphbreak.core.marks import find_marks
from graphbreak.core.source import SourceFile
from graphbreak.core.suggest import suggest
from harness import Harness, breaks, of_kind, only, squiggles

IMPORT = (
    "import os, subprocess, time\nfrom dataclasses import dataclass\nfrom typing import *\nimport torch\nfrom torch import Tensor, nn\n"
)
F = "@torch.compile\ndef f({}):\n    print('a')\n    return {}\n"

SHAPES = {
    "a model that is called with several arguments": (
        "@torch.compile\ndef f(model, x, steps: int):\n    for i in range(steps):\n        x = model(x, i, scale=2)\n    return x + 1\n",
        "f(lambda *args, **kwargs: args[0], torch.randn(2, 16), steps=4)",
    ),
    "an annotation of jaxtyping": (F.format('x: Float[Tensor, "3 n 5"]', "x.sum()"), "f(torch.randn(3, 2, 5))"),
    "an annotation of torchtyping": (
        F.format('x: TensorType["batch": 4, "width": ..., -1, torch.long]', "x.sum()"),
        "f(torch.randint(10, (4, 32, 4)))",
    ),
    "a shape beside the type": (F.format('x: Annotated[Tensor, "b 3"]', "x.sum()"), "f(torch.randn(2, 3))"),
    "a shape as a tuple beside the type": (F.format('x: Annotated[Tensor, "rows", ("T", 3)]', "x.sum()"), "f(torch.randn(8, 3))"),
    "words beside the type": (F.format('x: Annotated[Tensor, "all of them"]', "x.sum()"), "f(torch.randn(2, 16))"),
    "a dictionary of tensors": (
        F.format("d: dict[str, Tensor]", 'd["rows"] + d["others"]'),
        "f({'rows': torch.randn(2, 16), 'others': torch.randn(2, 16)})",
    ),
    "a dictionary that may be left out": (
        F.format("d: Optional[Mapping[str, int]]", 'torch.ones(d["heads"], d["depth"])'),
        "f({'heads': 4, 'depth': 2})",
    ),
    "a dictionary of which no key is known": (
        F.format("d: Dict[str, Tensor]", "sum(d.values())"),
        "f({'a': torch.randn(2, 16), 'b': torch.randn(2, 16)})",
    ),
    "a named tuple": (
        "class State(NamedTuple):\n    h: Tensor\n    step: int\n    scale: float = 1.0\n\n"
        + F.format("state: State", "state.h * state.step"),
        "f(State(torch.randn(2, 8, 16), step=4))",
    ),
    "an enumeration": (
        "import enum\nclass Way(enum.Enum):\n    UP = 1\n    DOWN = 2\n\n"
        + F.format("x: Tensor, way: Way", "x if way is Way.UP else x + 1"),
        "f(torch.randn(2, 16), Way.UP)",
    ),
    "a typed dictionary": (
        "class Batch(TypedDict):\n    ids: Tensor\n    lengths: 'Tensor'\n    scale: float\n\n"
        + F.format("batch: Batch", "(batch['ids'].sum(1) + batch['lengths']) * batch['scale']"),
        "f({'ids': torch.randint(50, (2, 8)), 'lengths': torch.full((2,), 8), 'scale': 0.5})",
    ),
    "a dataclass in a list": (
        "@dataclass\nclass Item:\n    boxes: Tensor\n\n" + F.format("items: list[Item]", "sum(item.boxes for item in items)"),
        "f([Item(torch.rand(5, 4)), Item(torch.rand(5, 4))])",
    ),
    "a literal that is a number": (F.format("x: Tensor, axis: Literal[1, 2]", "x.sum(axis)"), "f(torch.randn(2, 16), axis=1)"),
    "a docstring": (
        "@torch.compile\ndef f(x, k):\n    '''x: (B, 7, 5)\n    k (int): how many'''\n    return x * k\n",
        "f(torch.randn(2, 7, 5), k=2)",
    ),
    "a comment": (F.format("\n    x,  # (B, 7)\n    mask", "x[mask]"), "f(torch.randn(2, 7), torch.rand(2, 7) > 0.3)"),
    "an optional tensor": (F.format("x: Optional[Tensor]", "x @ torch.ones(5, 2)"), "f(torch.randn(2, 5))"),
    "a text that it is compared with": (F.format("x, mode", "x if mode == 'eval' else x + 1"), "f(torch.randn(2, 16), mode='eval')"),
    "a literal": (F.format("x: Tensor, way: Literal['up', 'down']", "x"), "f(torch.randn(2, 16), way='up')"),
    "a dataclass": (
        "@dataclass\nclass Batch:\n    ids: Tensor\n    scale: float = 1.0\n\n"
        + F.format("batch: Batch", "batch.ids.float() * batch.scale"),
        "f(Batch(torch.randint(50, (2, 8))))",
    ),
    "an object that is only known by its attributes": (
        F.format("x, cfg", "x * cfg.scale + cfg.width"),
        'f(torch.randn(2, 16), __import__("types").SimpleNamespace(scale=4, width=16))',
    ),
    "an assert": (F.format("x", "x").replace("print", "assert x.ndim == 4 and x.shape[1] == 5; print"), "f(torch.randn(2, 5, 32, 32))"),
    "a condition that raises": (
        F.format("a, b", "a + b").replace("print", "\n    if a.size(0) != 6 or len(b) != len(a):\n        raise ValueError\n    print"),
        "f(torch.randn(6, 16), torch.randn(6, 16))",
    ),
    "a table": (
        "table = torch.randn(11, 4)\n" + F.format("rows", "torch.nn.functional.embedding(rows, table)"),
        "f(torch.randint(10, (2, 8)))",
    ),
    "what the module has under the parameter's name": (
        "net = nn.Linear(3, 3)\n" + F.format("net: nn.Linear, x", "net(x)"),
        "f(net, torch.randn(2, 3))",
    ),
}


@pytest.mark.parametrize(("text", "call"), SHAPES.values(), ids=SHAPES.keys())
def test_inputs_are_found(harness: Harness, tmp_path: Path, text: str, call: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", "from __future__ import annotations\n" + IMPORT + text)
    row = only(report, "f")
    assert row.outcome is Outcome.TRACED, row.detail
    (inputs,) = row.inputs
    assert (inputs.source, inputs.expression) == ("inferred", call)


REACHED = {
    "a method of a class that has to be made": "class Net(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
    "        self.l = nn.Linear(dim, 3)\n    @torch.compile\n    def forward(self, x):\n        print('a')\n        return self.l(x)\n",
    "a static method": "class A:\n    @staticmethod\n    @torch.compile\n    def f(x):\n        print('a')\n        return x\n",
    "an object of the module": "net = torch.compile(nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 7)))\n",
    "a module that a function would compile": "class Net(nn.Module):\n    def forward(self, x):\n        print('a')\n        return x\n"
    "def main():\n    net = Net().eval()\n    net = torch.compile(net)\n    return net\n",
    "a module that would compile itself": "class Net(nn.Module):\n    def forward(self, x):\n        print('a')\n        return x\n"
    "def main():\n    net = Net()\n    net.compile()\n",
    "a function that another one makes": "def make(scale: float):\n    @torch.compile\n    def step(x):\n        print('a')\n"
    "        return x * scale\n    return step\n",
    "a function compiled under another name": "def g(x):\n    print('a')\n    return x\n\ng_fast = torch.compile(g)\n",
    "a function that the main block would compile": "def g(x):\n    print('a')\n    return x\n\n"
    "if os.environ.get('NEVER'):\n    h = torch.compile(g)\n",
}


@pytest.mark.parametrize("text", REACHED.values(), ids=REACHED.keys())
def test_what_is_guessed_and_kept_shows_the_same(harness: Harness, tmp_path: Path, text: str) -> None:
    path = tmp_path / "main.py"
    report = harness.write_and_analyse(path, IMPORT + text)
    row = only(report)
    assert row.outcome is Outcome.TRACED, row.detail
    assert row.graphs + row.breaks + row.skipped
    assert all(found.guessed and found.message.endswith("Seen with guessed inputs.") for found in breaks(report))
    kept = harness.write_and_analyse(path, _kept(str(path), IMPORT + text, row.inputs[-1].expression))
    assert {inputs.source for inputs in only(kept).inputs} == {"directive"}
    assert [inputs.summary for inputs in only(kept).inputs] == [inputs.summary for inputs in row.inputs]
    assert squiggles(kept) == squiggles(report)
    assert not any(found.guessed for found in kept.diagnostics)


def _kept(path: str, text: str, expression: str) -> str:
    source = SourceFile(path, text)
    marks = find_marks(source)
    suggestion = suggest(source, marks, marks.marks[0], call=expression)
    lines = text.splitlines(keepends=True)
    lines.insert(suggestion.line, f"{suggestion.indentation}{suggestion.text}\n")
    return "".join(lines)


NOT = {
    "one that deletes": (F.format("path", "os.remove(path)"), Outcome.NO_INPUTS, "`os.remove` in it deletes or moves files"),
    "one that calls what starts a program": (
        "def helper(x):\n    subprocess.run(x)\n\n" + F.format("x", "helper(x)"),
        Outcome.NO_INPUTS,
        "`subprocess.run` in it starts or ends programs",
    ),
    "one that never ends": (F.format("x", "x").replace("print('a')", "while True: x = x + 1"), Outcome.NO_INPUTS, "did not end in time"),
    "one that works with nothing": (F.format("x", "1 / 0"), Outcome.NO_INPUTS, "none of them worked: ZeroDivisionError: division by zero"),
    "one whose class cannot be made": (
        "class A:\n    def __init__(self, x):\n        raise OSError('no weights')\n    @torch.compile\n    def f(self, x): return x\n",
        Outcome.NO_INPUTS,
        "making the object failed: OSError: no weights",
    ),
}


@pytest.mark.parametrize(("text", "outcome", "why"), NOT.values(), ids=NOT.keys())
def test_why_nothing_was_found_is_said(harness: Harness, tmp_path: Path, text: str, outcome: Outcome, why: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text)
    row = only(report)
    assert row.outcome is outcome
    assert why in row.detail
    (hint,) = of_kind(report, Kind.NOT_ANALYSED)
    assert "write an example call above it: `# graphbreak: " in hint.message


def test_a_call_of_the_users_own_is_never_replaced_by_a_guess(harness: Harness, tmp_path: Path) -> None:
    text = IMPORT + F.format("x", "x * 2") + F.format("x", "x * 3").replace("f(", "g(") + "f(torch.ones(3))\n"
    report = harness.write_and_analyse(tmp_path / "main.py", text)
    assert [(row.name, row.inputs[0].source) for row in report.functions] == [("f", "call"), ("g", "inferred")]
    assert [found.guessed for found in report.diagnostics] == [False, True]


def test_trying_leaves_the_modules_own_object_as_it_was(harness: Harness, tmp_path: Path) -> None:
    text = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.calls = 0\n"
    text += "    def forward(self, x):\n        self.calls += 1\n        if self.calls > 1: print('again')\n"
    text += "        return x @ torch.ones(5, 3)\n"
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text + "net = torch.compile(Net())\n")
    assert only(report).inputs[0].expression == "net(torch.randn(2, 5))"
    assert breaks(report) == []


LARGE = """
import functools

WIDTH = {width}
history, table = [], {{}}
net = nn.Linear(7, 7)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


@functools.lru_cache
def ramp(size: int):
    return torch.arange(float(size))


class Counter:
    last = None


counter = Counter()


def fakes(a):
    held = [counter.last, Counter.last, *history, *table.values(), net.weight.grad, *optimizer.state[net.weight].values()]
    held += [ramp(7)] if type(a) is Tensor else []
    return [type(one).__name__ for one in held if type(one).__name__ == "FakeTensor"]


class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(7, WIDTH)
        self.middle = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(5, WIDTH)

    @torch.compile
    def forward(self, a, b):
        print("tried with", type(a).__name__, "and left", fakes(a))
        net(ramp(7)).sum().backward()
        optimizer.step()
        history.append(a + 1)
        table["b"] = counter.last = Counter.last = b + 1
        a = self.middle(self.first(a))
        {more}
        return a + self.last(b)
"""
TRIED = {
    "a small one": (8, "", False),
    "a large one": (2048, "", True),
    "a large one that needs values": (2048, "a = a * float(a.sum().item()) + a.detach().numpy().sum()", True),
}


@pytest.mark.parametrize(("width", "more", "fake"), TRIED.values(), ids=TRIED.keys())
def test_a_large_model_is_tried_on_fake_tensors_first_which_leave_nothing_behind(
    harness: Harness, tmp_path: Path, width: int, more: str, fake: bool
) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + LARGE.format(width=width, more=more))
    row = only(report)
    assert row.outcome is Outcome.TRACED, row.detail
    assert [inputs.expression for inputs in row.inputs] == ["Large()(torch.randn(2, 7), torch.randn(2, 5))"]
    tried = [line for line in report.output.splitlines() if line.startswith("tried with")]
    assert {line for line in tried if "FakeTensor and" in line} == ({"tried with FakeTensor and left []"} if fake else set())
    assert "tried with Tensor and left []" in tried
    assert not [line for line in tried if not line.endswith("left []")]
    assert not of_kind(report, Kind.RAISED)


def test_a_large_layer_behind_an_image_tells_how_high_and_wide_it_is(harness: Harness, tmp_path: Path) -> None:
    text = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.c = nn.Conv2d(3, 8, 3, padding=1)\n"
    text += "        self.l = nn.Linear(8 * 64 * 64, 3)\n    @torch.compile\n    def forward(self, x):\n        print('a')\n"
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text + "        return self.l(self.c(x).flatten(1))\n")
    assert [inputs.expression for inputs in only(report).inputs] == ["Net()(torch.randn(2, 3, 64, 64))"]
