"""One edited function, traced by itself in the job that was kept: what it says, and when it says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from graphbreak.core.findings import Kind, Report
from graphbreak.tracer import engine
from graphbreak.tracer.kept import KeptJob
from harness import Harness

HELPER = """\
import torch


def shift(x, by=1):
    return x + by


def unused(x):
    return x
"""
NET = """\
import functools

import torch
from torch import nn

from helper import shift


def twice(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) * 2

    return wrapper


class Layer(nn.Module):
    def __init__(self, dim, offset):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.offset = offset
        self.add = self.adding(1)

    def adding(self, n):
        def add(x):
            return x + n

        return add

    @twice
    def scaled(self, x):
        return x * 3

    def forward(self, x, *, scale=2.0):
        y = self.linear(x) * scale
        if self.offset is not None:
            y = shift(y, by=self.offset)
        return self.below(self.scaled(y))

    def below(self, x):
        return self.add(torch.relu(x))

    def never(self, x):
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(8, None), Layer(8, 1), Layer(8, None)])
        self.calls = 0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, scale=3.0)
        return x


model = torch.compile(Net())
with torch.no_grad():
    model(torch.randn(4, 8))
"""


@dataclass
class Kept:
    """A program that was traced, whose job stayed."""

    harness: Harness
    path: Path

    def trace(self, text: str) -> Report:
        """Trace a text as a whole, and keep its job."""
        request = replace(self.harness.request(self.path, text), keep=True)
        return self.harness.submit(self.harness.engine.analyse(request, lambda said: None)).result(120)

    def foreseen(self, text: str, helper: str = HELPER) -> list[Report]:
        """What is told of a text before it is traced."""
        told: list[Report] = []
        request = replace(self.harness.request(self.path, text), keep=True, overlay={str(self.path.parent / "helper.py"): helper})
        self.harness.submit(self.harness.engine.foresee(request, told.append)).result(60)
        return told

    def whole(self, text: str) -> Report:
        """What the whole trace of a text says; it is not kept."""
        return self.harness.analyse(self.path, text)

    @property
    def jobs(self) -> dict[str, KeptJob]:
        """The jobs that stay."""
        return dict(self.harness.engine.focusing.jobs)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """The program, traced once."""
    folder = tmp_path_factory.mktemp("focus").resolve()
    path = folder / "net.py"
    path.write_text(NET, encoding="utf-8")
    (folder / "helper.py").write_text(HELPER, encoding="utf-8")
    harness = Harness()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "LEAST", 0.001)
        try:
            kept = Kept(harness, path)
            report = kept.trace(NET)
            assert [diagnostic.kind for diagnostic in report.diagnostics if diagnostic.kind is not Kind.RECOMPILE] == []
            yield kept
        finally:
            harness.close()


def places(report: Report, *kinds: Kind) -> set[tuple[str, int]]:
    """The lines (from 1) of the diagnostics of some kinds, with the file's name."""
    return {(Path(found.path).name, found.span.start.line + 1) for found in report.diagnostics if found.kind in kinds}


def line_of(text: str, part: str) -> int:
    """The line (from 1) that something is on."""
    return text[: text.index(part)].count("\n") + 1


BREAKS = [
    (
        "in a layer",
        "        y = self.linear(x) * scale\n",
        '        y = self.linear(x) * scale\n        print("probe")\n',
        'print("probe")',
    ),
    ("only in one layer", "            y = shift(", '            print("probe")\n            y = shift(', 'print("probe")'),
    (
        "a number",
        "        return self.below(self.scaled(y))",
        "        n = y.sum().item()\n        return self.below(y * n)",
        "y.sum().item()",
    ),
    ("under a decorator", "        return x * 3", '        print("probe")\n        return x * 3', 'print("probe")'),
    ("below", "        return self.add(torch.relu(x))", '        print("probe")\n        return self.add(torch.relu(x))', 'print("probe")'),
]


@pytest.mark.parametrize(("what", "old", "new", "site"), BREAKS, ids=[case[0] for case in BREAKS])
def test_a_break_that_an_edit_makes_is_told_as_the_whole_trace_places_it(kept: Kept, what: str, old: str, new: str, site: str) -> None:
    text = NET.replace(old, new)
    *_, told = kept.foreseen(text)
    assert told.provisional
    assert places(told, Kind.BREAK) == {("net.py", line_of(text, site))}
    assert all(found.message.startswith("Provisional, `Layer.") for found in told.diagnostics)
    assert {found.functions for found in told.diagnostics} == {("Net.forward",)}
    whole = kept.whole(text)
    assert places(told, Kind.BREAK) <= places(whole, Kind.BREAK, Kind.SKIPPED)
    assert places(told, Kind.CALLER) <= places(whole, Kind.CALLER)
    assert ("net.py", line_of(text, "x = layer(x, scale=3.0)")) in places(told, Kind.CALLER)
    ids = {found.id for found in whole.diagnostics}
    assert all(found.id in ids for found in told.diagnostics)


def test_a_helper_in_another_file_is_traced_with_the_inputs_that_it_got(kept: Kept) -> None:
    helper = HELPER.replace("    return x + by", '    y = x + by\n    if by == 1:\n        print("probe")\n    return y')
    *_, told = kept.foreseen(NET, helper)
    assert places(told, Kind.BREAK) == {("helper.py", 6 + 1)}
    assert ("net.py", line_of(NET, "y = shift(")) in places(told, Kind.CALLER)


QUIET = [
    ("no break", "* scale\n", "* scale * 2\n"),
    ("a branch that is not taken", "        return self.add(", "        if x is None:\n            print(1)\n        return self.add("),
    ("never called", "    def never(self, x):\n", '    def never(self, x):\n        print("probe")\n'),
    ("the marked function", "        return x\n\n\nmodel", '        print("probe")\n        return x\n\n\nmodel'),
    ("two functions", "        return x * 3\n", '        print("probe")\n        return x * 4\n\n    def more(self):\n        pass\n'),
    ("a default", "scale=2.0", "scale=print"),
    ("what was made before", "            return x + n\n", '            print("probe")\n            return x + n\n'),
    ("what decorated before", "        return function(*args) * 2", "        print(1)\n        return function(*args) * 2"),
    ("what made it", "        self.offset = offset\n", "        print(1)\n        self.offset = offset\n"),
    ("an ignore comment", "        return x * 3", "        print(1)  # graphbreak: ignore\n        return x * 3"),
]


@pytest.mark.parametrize(("what", "old", "new"), QUIET, ids=[case[0] for case in QUIET])
def test_where_it_breaks_nothing_or_cannot_be_known_nothing_is_shown(kept: Kept, what: str, old: str, new: str) -> None:
    assert NET.count(old) == 1
    assert [found for report in kept.foreseen(NET.replace(old, new)) for found in report.diagnostics if not found.ignored] == []


def test_the_job_lives_through_all_of_that_and_ends_when_the_engine_starts_anew(kept: Kept) -> None:
    kept.foreseen(NET.replace("        return x * 3", "        import os\n\n        os._exit(0)\n        return x * 3"))
    kept.foreseen(NET.replace("        return x * 3", "        raise SystemExit(3)"))
    text = NET.replace("        return x * 3", '        print("probe")\n        return x * 3')
    assert kept.foreseen(text)
    (job,) = kept.jobs.values()
    kept.harness.submit(kept.harness.engine.restart()).result(60)
    assert not job.alive
    assert kept.jobs == {}
    assert kept.foreseen(text) == []


WAYS = [
    ("fullgraph", "torch.compile(Net())", "torch.compile(Net(), fullgraph=True)"),
    ("in place", "model = torch.compile(Net())", "model = Net()\nmodel.compile()"),
    ("an example call", "class Net(", "# graphbreak: Net()(torch.randn(4, 8))\nclass Net("),
]


@pytest.mark.parametrize(("what", "old", "new"), WAYS, ids=[case[0] for case in WAYS])
def test_it_is_compiled_in_the_way_that_the_whole_is(kept: Kept, what: str, old: str, new: str) -> None:
    text = NET.replace(old, new)
    kept.trace(text)
    edited = text.replace("        return x * 3", '        print("probe")\n        return x * 3')
    *_, told = kept.foreseen(edited)
    whole = kept.whole(edited)
    breaks = {found.id: found for found in told.diagnostics if found.kind is Kind.BREAK}
    assert places(told, Kind.BREAK) == {("net.py", line_of(edited, 'print("probe")'))}
    confirmed = [found for found in whole.diagnostics if found.id in breaks and found.kind is not Kind.CALLER]
    assert {found.severity for found in breaks.values()} == {found.severity for found in confirmed}
    assert {found.functions for found in told.diagnostics} <= {found.functions for found in whole.diagnostics}
