"""What became of each line: at the end of a line stands its state, as numbers of graphs, `eager` or `-` (not reached)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphbreak.core.findings import Outcome
from harness import Harness

HEAD = "import torch\n\n\n"
PROGRAMS = {
    "a break in the middle": """
        @torch.compile
        def f(x):
            y = x * 2  #: 1
            print("mid")  #: eager
            return y + 1  #: 2


        f(torch.randn(4))
    """,
    "a branch not taken": """
        @torch.compile
        def f(x, flag=True):
            if flag:  #: 1
                y = x * 2  #: 1
            else:
                y = x * 3  #: -
                print("other")  #: -
            size = y.shape[0]  #: 1
            return y + size  #: 1


        f(torch.randn(4))
    """,
    "a helper is inlined, another breaks": """
        def clean(x):
            return x * 3  #: 1


        def noisy(x):
            print("noisy")  #: eager
            return x + 1  #: 2


        @torch.compile
        def f(x):
            y = clean(x)  #: 1
            y = noisy(y)  #: eager
            return y - 1  #: 3


        f(torch.randn(4))
    """,
    "a whole function is lost": """
        @torch.compile
        def f(x):
            y = x * 2  #: eager
            for i in range(3):  #: eager
                print(i)  #: eager
            return y  #: eager


        f(torch.randn(4))
    """,
    "statements over several lines": """
        @torch.compile
        def f(x):
            y = torch.add(  #: 1
                x,  #: 1
                x * 2,  #: 1
            )  #: 1
            print(  #: eager
                "a",  #: eager
            )  #: eager
            return y + 1  #: 2


        f(torch.randn(4))
    """,
    "a recompile": """
        @torch.compile
        def f(x, n):
            if n == 0:  #: 1 2
                return x * 2  #: 1
            return x + 1  #: 2


        f(torch.randn(4), 0)
        f(torch.randn(4), 1)
    """,
    "behind a break under fullgraph": """
        @torch.compile(fullgraph=True)
        def f(x):
            y = x * 2  #: 1
            print("mid")  #: eager
            return y + 1  #: 2


        f(torch.randn(4))
    """,
}
_STATE = re.compile(r"  #: (.*)$")


@pytest.mark.parametrize("name", PROGRAMS)
def test_regions(harness: Harness, tmp_path: Path, name: str) -> None:
    lines = [re.sub("^ {8}", "", line) for line in PROGRAMS[name].strip("\n").rstrip().split("\n")]
    marked = (HEAD + "\n".join(lines) + "\n").splitlines()
    wanted = {number: match.group(1) for number, line in enumerate(marked) if (match := _STATE.search(line))}
    report = harness.write_and_analyse(tmp_path / "program.py", "\n".join(marked) + "\n")
    (function,) = report.functions
    found: dict[int, str] = {}
    for region in function.regions:
        state = {"graph": " ".join(map(str, region.graphs)), "eager": "eager", "not-reached": "-"}[region.state]
        found |= {line: state for line in range(region.start, region.end + 1) if _STATE.search(marked[line])}
    assert {marked[line]: state for line, state in found.items()} == {marked[line]: state for line, state in wanted.items()}


def test_a_function_that_was_not_traced_has_no_regions(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(
        tmp_path / "program.py", HEAD + "@torch.compile\ndef f(plan):\n    return plan.step(plan.state) * 2\n"
    )
    assert report.functions[0].outcome is not Outcome.TRACED
    assert report.functions[0].regions == ()
