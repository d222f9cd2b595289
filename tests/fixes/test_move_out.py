"""What moves out of a compiled function, and what does not. `«...»` is the break; `§` marks lines with operations in a graph."""

from __future__ import annotations

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.model import FixContext
from graphbreak.fixes.move_out import move_out

PATH = "/w/net.py"
HEAD = "import time\nimport torch\nfrom lib import net\n\n\n@torch.compile\n"


def after(text: str, newline: str = "\n", tail: str = "") -> str:
    """The text after the fix, from the first `def` on; empty where none is offered."""
    text = f"{HEAD}{text}\n{tail}"
    captured = frozenset(number for number, line in enumerate(text.splitlines()) if "§" in line)
    text = text.replace("§", "").replace("\n", newline)
    start, end = text.index("«"), text.index("»") - 1
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(start), source.position(end))
    stack = (StackFrame(PATH, span.start.line, "f"),)
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0007", "", stack=stack)
    fix = move_out(diagnostic, FixContext({PATH: source}, {PATH: frozenset({6})}, {PATH: captured}))
    return source.apply(fix.edits[PATH]).text[len(HEAD.replace("\n", newline)) :] if fix is not None else ""


MOVED = {
    "to the front": (
        "def f(x, path='a') -> float:\n    y = x * 2§\n    n = «read(path)»\n    return y + n§",
        (
            "def _f(x, path, n) -> float:\n    y = x * 2\n    return y + n\n\n\n"
            "def f(x, path='a') -> float:\n    n = read(path)\n    return _f(x, path, n)\n"
        ),
    ),
    "past a layer": (
        "def f(x, k):\n    y = net(x)§\n    n = «read(k)»\n    return y + n§",
        "def _f(x, k, n):\n    y = net(x)\n    return y + n\n\n\ndef f(x, k):\n    n = read(k)\n    return _f(x, k, n)\n",
    ),
    "with what comes before it": (
        "def f(x, k):\n    print(k)\n    n = «read(k)»\n    return x + n§",
        "def _f(x, k, n):\n    return x + n\n\n\ndef f(x, k):\n    print(k)\n    n = read(k)\n    return _f(x, k, n)\n",
    ),
    "to the end": (
        "def f(x, k):\n    x = x * 2§\n    «print(x, k)»\n    return x",
        "def _f(x, k):\n    x = x * 2\n    return x\n\n\ndef f(x, k):\n    x = _f(x, k)\n    print(x, k)\n    return x\n",
    ),
    "of two results": (
        "def f(x):\n    a = x * 2§\n    b = x + 1§\n    «print(b)»\n    return a, b",
        "def _f(x):\n    a = x * 2\n    b = x + 1\n    return a, b\n\n\ndef f(x):\n    a, b = _f(x)\n    print(b)\n    return a, b\n",
    ),
}


@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_moved(name: str, newline: str) -> None:
    before, wanted = MOVED[name]
    assert after(before, newline) == wanted.replace("\n", newline)
    assert after(before.replace("    ", "\t"), newline) == wanted.replace("    ", "\t").replace("\n", newline)


LEFT = {
    "uses what is computed": "def f(x):\n    y = x * 2§\n    n = «read(y)»\n    return y + n§",
    "of a value that is not returned": "def f(x):\n    y = x * 2§\n    «print(y)»\n    return y + 1§",
    "binds a parameter": "def f(x, k):\n    y = x * k§\n    k = «read(1)»\n    return y + k§",
    "a change that another name sees": "def f(x):\n    y = x.view(-1)§\n    «change(x)»\n    z = y * 2§\n    return z§",
    "after a change in place": "def f(x):\n    x.add_(1)§\n    n = «read(x)»\n    return x + n§",
    "after an addition in place": "def f(x, k):\n    x += 1§\n    n = «read(k)»\n    return x + n§",
    "after a stored item": "def f(x, k):\n    x[0] = 1§\n    n = «read(k)»\n    return x + n§",
    "after a call that may see the same": "def f(x, k):\n    y = net(x, k)§\n    n = «read(k)»\n    return y + n§",
    "after a helper that prints": "def f(x, k):\n    y = loud(x)§\n    n = «read(k)»\n    return y + n§\n\ndef loud(x):\n    print(1)",
    "after a call of what is given": "def f(x, g):\n    y = g(x)§\n    n = «read(1)»\n    return y + n§",
    "after an early return": "def f(x, k):\n    if k:\n        return x * 2§\n    n = «read(k)»\n    return x + n§",
    "bound only sometimes": "def f(x, k):\n    if k:\n        n = «read(k)»\n    return x + n§",
    "operations in it": "def f(x):\n    n = «read(x.sum())»§\n    return x + n§",
    "another parameter list": "def f(x, *k):\n    n = «read(k)»\n    return x + n§",
    "calls itself": "def f(x, k):\n    n = «read(k)»\n    return f(x, n)§",
    "changes what is read": "def f(x, k):\n    y = x * k.scale§\n    n = «fill(k)»\n    return y + n§",
    "changes what is returned": "def f(x, k):\n    y = x * k§\n    «fill(k)»\n    return y + k",
    "sets what is read": "def f(x, k):\n    y = x * k.scale§\n    k.scale = «read(1)»\n    return y * k.scale",
    "asks for its names": "def f(x, k):\n    n = «read(locals())»\n    return x + n§",
    "a private function": "def _f(x, k):\n    n = «read(k)»\n    return x + n§",
    "a changed result": "def f(x):\n    y = x * 2§\n    «print(y)»\n    y = y + 1§\n    return y",
    "nothing behind": "def f(x):\n    y = x * 2§\n    «print(y)»",
}


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert after(LEFT[name]) == ""


def test_a_method_keeps_its_object() -> None:
    body = "        y = self.net(x)§\n        n = «read(k)»\n        return y + n§"
    method = f"class A:\n    @torch.compile\n    def g(self, x, k=1):\n{body}\n"
    text = method.replace("§", "")
    start, end = text.index("«"), text.index("»") - 1
    source = SourceFile(PATH, "import torch\n\n\n" + text.replace("«", "").replace("»", ""))
    span = Span(source.position(start + 15), source.position(end + 15))
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0007", "", stack=(StackFrame(PATH, span.start.line, "g"),))
    fix = move_out(diagnostic, FixContext({PATH: source}, {PATH: frozenset({5})}, {PATH: frozenset({6, 8})}))
    assert fix is not None
    assert source.apply(fix.edits[PATH]).text.partition("class A:\n")[2] == (
        "    @torch.compile\n    def _g(self, x, k, n):\n        y = self.net(x)\n        return y + n\n\n"
        "    def g(self, x, k=1):\n        n = read(k)\n        return self._g(x, k, n)\n"
    )


def test_a_name_that_is_taken_or_asked_for_its_mark() -> None:
    text = "def f(x, k):\n    n = «read(k)»\n    return x + n§"
    assert after(text)
    assert after(text, tail="_f = 1\n") == ""
    assert after(text, tail="f.__wrapped__\n") == ""
