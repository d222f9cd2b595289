"""Which helpers are left to the compiler behind Dynamo, as pure edits. `«...»` is the break; `§` marks lines with operations in a graph."""

from __future__ import annotations

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.model import FixContext
from graphbreak.fixes.nonstrict_helper import nonstrict_helper

PATH = "/w/net.py"
HEAD = "import torch\nimport lib\n\nSIZES = (1, 2)\nnet = torch.nn.Linear(2, 2)\n\n\n"


def after(text: str, code: str = "GB0007") -> str:
    """The text after the fix, from the helper's decorator to its `def` line; empty where none is offered."""
    text = f"{HEAD}{text}\n\n@torch.compile\ndef f(x):\n    return helper(x)\n"
    captured = frozenset(number for number, line in enumerate(text.splitlines()) if "§" in line)
    text = text.replace("§", "")
    start, end = text.index("«"), text.index("»") - 1
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(start), source.position(end))
    stack = (StackFrame(PATH, source.text.count("\n") - 1, "f"), StackFrame(PATH, span.start.line, "helper"))
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.SKIPPED, code, "", stack=stack)
    fix = nonstrict_helper(diagnostic, FixContext({PATH: source}, captured={PATH: captured}))
    return source.apply(fix.edits[PATH]).text[len(HEAD) :].partition("\n    ")[0] if fix is not None else ""


@pytest.mark.parametrize("body", ["return y.sin() * «lib.key(SIZES)»", "for i in range(2): y = y.relu() + «lib.key(i)»\n    return y"])
def test_offered(body: str) -> None:
    assert after(f"def helper(y):\n    {body}").startswith("@torch._dynamo.nonstrict_trace\ndef helper(y):")


@pytest.mark.parametrize(
    "text",
    [
        "def helper(y):\n    z = y + 1§\n    return z.sin() * «lib.key()»",
        "def helper(y):\n    return net(y.sin()) * «lib.key()»",
        "def helper(y):\n    print(y)\n    return y.sin() * «lib.key()»",
        "def helper(y):\n    y.add_(«lib.key()»)\n    return y.sin()",
        "def helper(y):\n    y += «lib.key()»\n    return y.sin()",
        "def helper(y):\n    y[0] = «lib.key()»\n    return y.sin()",
        "def helper(y):\n    return «lib.key()» + y.item()",
        "def helper(y):\n    y.sin() * «lib.key()»",
        "def helper():\n    return «lib.key()»",
        "def helper(n):\n    return «lib.key(n)»",
        "@lib.wrapped\ndef helper(y):\n    return y.sin() * «lib.key()»",
        "class A:\n    def helper(self, y):\n        return y.sin() * «lib.key()»",
    ],
)
def test_declined(text: str) -> None:
    assert after(text) == ""


def test_what_depends_on_data_stays() -> None:
    assert after("def helper(y):\n    return y * «int(y)»", code="GB0124") == ""
