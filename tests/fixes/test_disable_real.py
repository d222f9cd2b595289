"""Programs run by Dynamo before and after the disable fix: only the intended break is left, and as much is captured as before.

`«...»` is the break in each program. The lines whose operations are in a graph come from the run itself, as they do in the product.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from graphbreak.core.findings import CompiledFrame, Diagnostic, Effect, Kind, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes import FIXERS, fixes_for
from graphbreak.fixes.model import FixContext

_HEAD = "import torch\n\n\n"
_RUN = "\n\ndef run():\n    return f(torch.arange(4.0))\n"


@dataclass(frozen=True)
class Program:
    """A program, its break's code, and how the title of the fix begins. `gains`: more is captured after the fix, since a frame is saved."""

    main: str
    code: str
    title: str
    others: dict[str, str] = field(default_factory=dict)
    library: str = ""
    newline: str = "\n"
    gains: bool = False

    @property
    def files(self) -> dict[str, str]:
        """The marked texts by name."""
        return {name: text.replace("\n", self.newline) for name, text in {"main.py": self.main, **self.others}.items()}

    @property
    def bare(self) -> dict[str, str]:
        """The texts without the marks."""
        return {name: text.replace("«", "").replace("»", "") for name, text in self.files.items()}


def _in_function(body: str, head: str = _HEAD) -> str:
    lines = body.split("\n")
    return head + "@torch.compile\ndef f(x):\n    y = x.sin()\n" + "".join(f"    {line}\n" for line in lines) + "    return y + 1\n" + _RUN


_PRINT = _in_function('«print("mid")»')
_SUBMODULE = """import torch


class Inner(torch.nn.Module):
    def forward(self, x):
        y = x.cos()
        «print("inner", x.shape)»
        return y + 1


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x.sin()) * 2


def run():
    return torch.compile(Outer())(torch.arange(4.0))
"""
_METHOD = """import torch


class Net(torch.nn.Module):
    def report(self, value):
        «print("report", type(self).__name__)»
        return value

    def forward(self, x):
        return self.report(x.sin()) * 2


def run():
    return torch.compile(Net())(torch.arange(4.0))
"""
_CLOSURE = """import torch


def build(scale):
    def f(x):
        y = x.sin() * scale
        «print("scaled by", scale)»
        return y + 1

    return torch.compile(f)


def run():
    return build(3)(torch.arange(4.0))
"""

_SHOWN = """import warnings

import torch

warnings.showwarning = lambda message, *_: print(message)


"""
_LOGGED = """import logging
import sys

import torch

log = logging.getLogger("fixes")
log.handlers = [logging.StreamHandler(sys.stdout)]
log.propagate = False


"""

PROGRAMS = {
    "function": Program(
        _HEAD + 'def util(y):\n    «print("log")»\n    return y\n\n\n@torch.compile\ndef f(x):\n    return util(x * 2) * 3\n' + _RUN,
        "GB0059",
        "Run `util`",
    ),
    "static method": Program(
        _HEAD + 'class A:\n    @staticmethod\n    def util(y):\n        «print("log")»\n        return y\n\n\n'
        "@torch.compile\ndef f(x):\n    return A.util(x * 2) * 3\n" + _RUN,
        "GB0059",
        "Run `util`",
    ),
    "method": Program(_METHOD, "GB0059", "Run `report`"),
    "helper in another module": Program(
        "import torch\nfrom helpers import note\n\n\n@torch.compile\ndef f(x):\n    return note(x.sin()) + 1\n" + _RUN,
        "GB0059",
        "Run `note`",
        {"helpers.py": '"""Helpers."""\n\n\ndef note(value):\n    «print("note")»\n    return value\n'},
    ),
    "nested module": Program(_SUBMODULE, "GB0059", "Move `print("),
    "closure": Program(_CLOSURE, "GB0059", "Move `print("),
    "print": Program(_PRINT, "GB0059", "Move `print("),
    "windows line ends": Program(_PRINT, "GB0059", "Move `print(", newline="\r\n"),
    "tabs and wide characters": Program(
        _in_function('s = "🙂é"; «print("mid 🙂", s)»; t = 1').replace("    ", "\t"), "GB0059", "Move `print("
    ),
    "several lines": Program(_in_function('«print(\n    "mid",  # a note\n    y.sum(),\n    sep=" ",\n)»'), "GB0059", "Move `print("),
    "f-string": Program(_in_function('«print(f"mean {y.mean():.3f}", y.shape)»'), "GB0059", "Move `print("),
    "item": Program(_in_function("score = «y.sum().item()»\ny = y * score"), "GB0124", "Move `y.sum().item()`"),
    "int": Program(_in_function("y = y[: «int(y.sum())»]"), "GB0124", "Move `int(y.sum())`"),
    "branch": Program(_in_function("if «y.sum() > 0»:\n    y = y * 2"), "GB0170", "Move `y.sum() > 0`"),
    "negated branch": Program(_in_function("if not «y.any()»:\n    y = y * 2"), "GB0170", "Move `y.any()`"),
    "conditional expression": Program(_in_function("y = y.cos() if «y.sum() > 0» else y.tan()"), "GB0170", "Move `y.sum() > 0`"),
    "not": Program(_in_function("flag = «not (y.sum() > 0)»\ny = y * 2 if flag else y"), "GB0033", "Move `y.sum() > 0`", gains=True),
    "mask": Program(_in_function("z = «y[y > 0]»\ny = y + z.sum()"), "GB0036", "Move `y[y > 0]`"),
    "no_grad": Program(_in_function('with torch.no_grad():\n    y = y.cos()\n    «print("m")»\n    y = y.tan()'), "GB0059", "Move `print("),
    "imported module": Program(_in_function("t = «time.time()»", "import time\n" + _HEAD), "GB0007", "Call `time.time`"),
    "imported function": Program(
        _in_function("«report(y)»", "import torch\nfrom library import report\n\n\n"),
        "GB0059",
        "Call `report`",
        {"library.py": 'def report(value):\n    print("report")\n'},
        library="library.py",
    ),
    "warning": Program(
        _in_function(
            '«warnings.warn("odd")»', "import warnings\n\nimport torch\n\nwarnings.showwarning = lambda message, *_: print(message)\n\n\n"
        ),
        "GB0007",
        "Move `warnings.warn(",
    ),
    "logging": Program(
        _in_function(
            '«log.warning("sum %s", y.sum())»',
            _LOGGED,
        ),
        "GB0291",
        "Move `log.warning(",
    ),
}


def _run(programs: list[dict[str, str]]) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("dynamo_runner.py")
    done = subprocess.run(
        [sys.executable, str(script)], input=json.dumps(programs), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def _fixed(program: Program, before: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The title of the first fix and the program after it."""
    sources = {name: SourceFile(name, text) for name, text in program.bare.items() if name != program.library}
    name, text = next((name, text) for name, text in program.files.items() if "«" in text)
    start, end = text.index("«"), text.index("»") - 1
    span = Span(sources[name].position(start), sources[name].position(end))
    captured = {file: frozenset(line - 1 for other, line in before["lines"] if other == file) for file in sources}
    below = (StackFrame("/site-packages/" + program.library, 1, "report", library=True),) if program.library else ()
    above = (StackFrame("main.py", 0, "f"),) if "Run `" in program.title else ()
    stack = (*above, StackFrame(name, span.start.line, "f"), *below)
    eager = (CompiledFrame("f", name, text[:start].count("\n", 0, text.index("def f")), Effect.EAGER),) if program.gains else ()
    kind = Kind.SKIPPED if program.gains else Kind.BREAK
    diagnostic = Diagnostic("1", name, span, Severity.WARNING, kind, program.code, "", stack=stack, frames=eager)
    marked = {"main.py": frozenset(i for i, line in enumerate(program.bare["main.py"].split(program.newline)) if line.startswith("def f("))}
    rows = [row for row in FIXERS if row.family == "disable"]
    fixes = fixes_for(diagnostic, FixContext(sources, marked, captured), rows)
    texts = {path: sources[path].apply(edits).text for path, edits in fixes[0].edits.items()}
    return fixes[0].title, {**program.bare, **texts}


@dataclass(frozen=True)
class Outcome:
    """One program's runs before and after its fix."""

    title: str
    files: dict[str, str]
    before: dict[str, Any]
    after: dict[str, Any]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """All programs: two processes in all, so that torch is imported twice and no more."""
    before = _run([program.bare for program in PROGRAMS.values()])
    fixed = [_fixed(program, run) for program, run in zip(PROGRAMS.values(), before, strict=True)]
    after = _run([files for _, files in fixed])
    rows = zip(PROGRAMS, fixed, before, after, strict=True)
    return {name: Outcome(title, files, run, again) for name, (title, files), run, again in rows}


@pytest.mark.parametrize("name", PROGRAMS)
def test_only_the_intended_break_is_left(outcomes: dict[str, Outcome], name: str) -> None:
    program, outcome = PROGRAMS[name], outcomes[name]
    before, after = outcome.before, outcome.after
    assert outcome.title.startswith(program.title)
    assert program.code in before["codes"], before
    assert after["codes"] in (["GB0098"], ["GB0099"]), outcome.files  # a call that is skipped, or not inlined: both say "disabled"
    assert (after["printed"], after["returned"]) == (before["printed"], before["returned"])
    if program.gains:
        assert after["operations"] > before["operations"]
    else:
        assert (after["operations"], after["graphs"]) == (before["operations"], before["graphs"]), outcome.files
