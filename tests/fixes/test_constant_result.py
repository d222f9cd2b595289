"""What a helper may not do for its result to count as a constant. `«...»` is the break; `§` marks lines with operations in a graph."""

from __future__ import annotations

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Severity, StackFrame
from graphbreak.core.source import Position, SourceFile, Span
from graphbreak.fixes.constant_result import constant_result
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"
HEAD = "import time\nimport os\nimport random\nimport torch\n\n\n"


def title(text: str, call: str = "helper()") -> str:
    """The title of the fix that is offered for a helper, in a module with a compiled caller; empty for none."""
    text = f"{HEAD}{text}\n\n@torch.compile\ndef f(x):\n    return x * {call}\n"
    captured = frozenset(number for number, line in enumerate(text.splitlines()) if "§" in line)
    text = text.replace("§", "")
    start, end = text.index("«"), text.index("»") - 1
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(start), source.position(end))
    line, column = source.text.count("\n") - 1, len("    return x * ")
    caller = Span(Position(line, column), Position(line, column + len(call)))
    stack = (StackFrame(PATH, line, "f", span=caller), StackFrame(PATH, span.start.line, "helper"))
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0007", "", stack=stack)
    fix = constant_result(diagnostic, FixContext({PATH: source}, captured={PATH: captured}))
    return fix.title if fix is not None else ""


@pytest.mark.parametrize(
    "text",
    [
        "def helper(name='A'):\n    return int(«os.environ.get(name)»)",
        "def helper():\n    with «open('a')» as file:\n        return file.read()",
        "def helper():\n    found = {}\n    found['a'] = «lookup()»\n    return found",
        "@functools.lru_cache\ndef helper():\n    return «os.path.exists('a')»",
    ],
)
def test_offered(text: str) -> None:
    assert title(text) == "Take what `helper` gives for a constant when compiling (assume_constant_result)"


@pytest.mark.parametrize(
    "text",
    [
        "def helper():\n    return «time.time()»",
        "def helper():\n    return «random.random()»",
        "def helper():\n    with «open('a', 'w')» as file:\n        return 1",
        "def helper():\n    with «open('a')» as file:\n        print(1)\n        return 1",
        "def helper():\n    global N\n    N = «lookup()»\n    return N",
        "def helper():\n    SEEN['a'] = «lookup()»\n    return 1",
        "def helper():\n    SEEN.append(«lookup()»)\n    return 1",
        "def helper(me):\n    me.count = «lookup()»\n    return 1",
        "def helper():\n    «lookup()»",
        "def helper(x: torch.Tensor):\n    return «lookup(x)»",
        "def helper(x):\n    y = x.view(-1)\n    return «lookup(x)»",
        "def helper():\n    y = torch.ones(3)§\n    return «lookup()»",
        "@wrapped\ndef helper():\n    return «lookup()»",
        "def helper():\n    yield «lookup()»",
        "def outer():\n    def helper():\n        return «lookup()»\n    return helper()",
    ],
)
def test_declined(text: str) -> None:
    assert title(text) == ""


def test_sizes_are_no_constants() -> None:
    helper = "def helper(n):\n    return «lookup(n)»"
    assert title(helper, "helper(3)")
    assert title(helper, "helper(x.shape[0])") == ""
