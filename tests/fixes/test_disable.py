"""The disable fixes as pure edits.

In the sources `«...»` is the break; `§` on a line says that operations of it are in a graph, `†` that the function
of a `def` line is marked.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from graphbreak.core.findings import CompiledFrame, Diagnostic, Effect, Fix, Kind, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes import FIXERS, Row, fixes_for
from graphbreak.fixes.bind_disabled import bind_disabled
from graphbreak.fixes.class_disabled import class_disabled
from graphbreak.fixes.disable_helper import disable_helper
from graphbreak.fixes.disable_statement import disable_statement
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"
LOGGING = StackFrame("/usr/lib/python3.11/logging/__init__.py", 9, "info", library=True)
_REASON = re.compile(r'\(reason="[^"]+"\)|, reason="[^"]+"')
LIBRARY = StackFrame("/venv/lib/python3.11/site-packages/lib/nn.py", 9, "g", library=True)


def read(text: str, newline: str = "\n") -> tuple[SourceFile, Span, FixContext]:
    """The source without its marks, the break, and the context that the marks describe."""
    lines = text.split("\n")
    captured, marked = (frozenset(i for i, line in enumerate(lines) if mark in line) for mark in "§†")
    bare = newline.join(line.replace("§", "").replace("†", "") for line in lines)
    source = SourceFile(PATH, bare.replace("«", "").replace("»", ""))
    span = Span(source.position(bare.index("«")), source.position(bare.index("»") - 1))
    return source, span, FixContext({PATH: source}, {PATH: marked}, {PATH: captured})


def first_fix(
    text: str, newline: str = "\n", below: tuple[StackFrame, ...] = (), eager: tuple[int, ...] = (), **changes: Any
) -> Fix | None:
    """The fix of the disable family that is offered. `below` are library frames under the break, `eager` lines of lost frames."""
    _, span, context = read(text, newline)
    frames = tuple(CompiledFrame("f", PATH, line, Effect.EAGER) for line in eager)
    stack = (StackFrame("/w/main.py", 1, "main"), StackFrame(PATH, span.start.line, "f"), *below)
    values: dict[str, Any] = {
        "severity": Severity.WARNING,
        "kind": Kind.BREAK,
        "code": "GB0059",
        "frames": frames,
        "stack": stack,
        **changes,
    }
    fixes = fixes_for(Diagnostic("1", PATH, span, message="", **values), context, [row for row in FIXERS if row.family == "disable"])
    return fixes[0] if fixes else None


def fixed(text: str, newline: str = "\n", **changes: Any) -> str | None:
    """The text after the first fix, without the reason that it gives."""
    fix = first_fix(text, newline, **changes)
    return _REASON.sub("", read(text, newline)[0].apply(fix.edits[PATH]).text) if fix else None


def in_function(body: str, head: str = "import torch\n\n\n") -> str:
    """A marked function around some lines."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{head}@torch.compile\ndef f(x):†\n    y = x * 2§\n{lines}    return y + 1§\n"


def with_helper(definition: str, body: str, head: str = "import torch\n\n\n") -> str:
    """The marked function with a helper of the module above it."""
    return in_function(body, head + f"@torch.compiler.disable\n{definition}\n\n\n").replace("†", "").replace("§", "")


HELPERS = {
    "function": (
        'import torch\n\ndef util(y):\n    «print("log")»\n    return y\n\ndef f(x):†\n    return util(x * 2) + 1§\n',
        'import torch\n\n@torch.compiler.disable\ndef util(y):\n    print("log")\n    return y\n\ndef f(x):\n    return util(x * 2) + 1\n',
    ),
    "alias, after a comment": (
        'import torch as th\n\n# logs\ndef util(y):\n    «print("log")»  # here\n',
        'import torch as th\n\n# logs\n@th.compiler.disable\ndef util(y):\n    print("log")  # here\n',
    ),
    "static method, innermost decorator": (
        'import torch\nclass A:\n  @staticmethod\n  def util(y):\n    «print("log")»\n',
        'import torch\nclass A:\n  @staticmethod\n  @torch.compiler.disable\n  def util(y):\n    print("log")\n',
    ),
    "whole line as the span": (
        'import torch\ndef util(y):\n    «print("log")  # note»\n',
        'import torch\n@torch.compiler.disable\ndef util(y):\n    print("log")  # note\n',
    ),
    "no import of torch": (
        'def util(y):\n    «print("log")»\n',
        'import torch\n\n@torch.compiler.disable\ndef util(y):\n    print("log")\n',
    ),
    "import after a docstring": (
        '"""Doc."""\n\ndef util(y):\n    «print("log")»\n',
        '"""Doc."""\n\nimport torch\n\n@torch.compiler.disable\ndef util(y):\n    print("log")\n',
    ),
    "import after the future": (
        'from __future__ import annotations\ndef util(y):\n    «print("log")»\n',
        'from __future__ import annotations\n\nimport torch\n\n@torch.compiler.disable\ndef util(y):\n    print("log")\n',
    ),
    "import after the imports": (
        'import os\nfrom . import x\n\ndef util(y):\n    «print("log")»\n',
        'import os\nfrom . import x\nimport torch\n\n@torch.compiler.disable\ndef util(y):\n    print("log")\n',
    ),
}


@pytest.mark.parametrize("name", HELPERS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_helper_is_decorated(name: str, newline: str) -> None:
    before, after = HELPERS[name]
    assert fixed(before, newline) == after.replace("\n", newline)
    assert fixed(before.replace("  ", "\t"), newline) == after.replace("  ", "\t").replace("\n", newline)


STATEMENTS = {
    "print": ('«print("mid")»', 'def _print():\n    print("mid")', "_print()"),
    "keeps a comment and what shares the line": (
        'a = 1; «print("mid")»; b = 2  # c',
        'def _print():\n    print("mid")',
        "a = 1; _print(); b = 2  # c",
    ),
    "passes local names, not globals": ("«print(x, torch, y.shape)»", "def _print(x, y):\n    print(x, torch, y.shape)", "_print(x, y)"),
    "operands stay": (
        '«print("s", y.sum(), sep=y.sep)»§',
        'def _print(value, sep):\n    print("s", value, sep=sep)',
        "_print(y.sum(), y.sep)",
    ),
    "operands in an f-string stay": (
        '«print(f"{y.mean():.3f} {x}")»§',
        'def _print(value, x):\n    print(f"{value:.3f} {x}")',
        "_print(y.mean(), x)",
    ),
    "conditional operands stay": ("«print(y if x else z)»", "def _print(value):\n    print(value)", "_print(y if x else z)"),
    "item": ("s = «y.sum().item()»§", "def _item(value):\n    return value.item()", "s = _item(y.sum())"),
    "item of a name": ("return «y.item()»", "def _item(y):\n    return y.item()", "return _item(y)"),
    "conversion": ("s = x[: «int(y.sum())»]§", "def _int(value):\n    return int(value)", "s = x[: _int(y.sum())]"),
    "mask": ("z = «y[y > 0]»§", "def _select(y, value):\n    return y[value]", "z = _select(y, y > 0)"),
    "before a loop": ("for i in range(«y.item()»): pass", "def _item(y):\n    return y.item()", "for i in range(_item(y)): pass"),
    "several lines": (
        'v = «report(\n    "mid",  # why\n    y,\n)»',
        'def _report(y):\n    return report(\n        "mid",  # why\n        y,\n    )',
        "v = _report(y)",
    ),
    "lines that lose their parentheses": (
        "v = («y.a\n     .item()»)",
        "def _item(y):\n    return (y.a\n         .item())",
        "v = (_item(y))",
    ),
    "string over lines at the same indentation": ('«print("""a\n  b""")»', 'def _print():\n    print("""a\n      b""")', "_print()"),
    "wide characters": ('s = "🙂é"; «print("🙂", s)»', 'def _print(s):\n    print("🙂", s)', 's = "🙂é"; _print(s)'),
    "a method of an object": ("«x.log.info(y)»§", "def _info(log, y):\n    log.info(y)", "_info(x.log, y)"),
    "lambda as an operand": ("v = «apply(lambda: y)»", "def _apply(value):\n    return apply(value)", "v = _apply(lambda: y)"),
    "taken name": ("_print = 1; «print(y)»", "def _print_2(y):\n    print(y)", "_print = 1; _print_2(y)"),
}


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_statement_is_moved(name: str, newline: str) -> None:
    body, definition, call = STATEMENTS[name]
    assert fixed(in_function(body), newline) == with_helper(definition, call).replace("\n", newline)


def test_tabs_are_kept() -> None:
    after = with_helper("def _print(y):\n    print(\n        y)", "_print(y)")
    assert fixed(in_function("«print(\n    y)»").replace("    ", "\t")) == after.replace("    ", "\t")


CONDITIONS = {
    "if": ("if «y.sum() > 0»:§\n    y = -y", "if _condition(y.sum() > 0):\n    y = -y"),
    "elif": (
        "if x is None:\n    y = x\nelif «y.sum() > 0»:§\n    y = -y",
        "if x is None:\n    y = x\nelif _condition(y.sum() > 0):\n    y = -y",
    ),
    "not": ("if «not y.any()»: y = -y§", "if not _condition(y.any()): y = -y"),
    "one of two": ("if y.any() and «y.all()»: y = -y§", "if y.any() and _condition(y.all()): y = -y"),
    "expression": ("y = y if «y.sum() > 0» else x§", "y = y if _condition(y.sum() > 0) else x"),
    "assert": ("assert «y.sum() > 0», 'no'§", "assert _condition(y.sum() > 0), 'no'"),
    "walrus": ("if «(m := y.sum()) > 0»: y = m§", "if _condition((m := y.sum()) > 0): y = m"),
    "whole line as the span": ("«if y.any():»\n    y = -y§", "if _condition(y.any()):\n    y = -y"),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_condition_becomes_a_bool(name: str) -> None:
    body, after = CONDITIONS[name]
    assert fixed(in_function(body), code="GB0170") == with_helper("def _condition(value):\n    return bool(value)", after)
    assert fixed(in_function(body), gb_type="Data-dependent branching", code="GB9999") == fixed(in_function(body), code="GB0170")


def test_an_equal_helper_is_used_again() -> None:
    once = with_helper("def _condition(value):\n    return bool(value)", "if «y.sum() > 0»: y = -y")
    assert fixed(once, code="GB0170") == once.replace("«y.sum() > 0»", "_condition(y.sum() > 0)")
    other = with_helper("def _condition(value):\n    return value", "if «y.sum() > 0»: y = -y")
    assert "def _condition_2(value)" in (fixed(other, code="GB0170") or "")


def test_helper_goes_above_the_class_with_its_comments() -> None:
    before = "import torch\nx = 1\n# graphbreak: A()(1)\n@final\nclass A:\n  def f(self, x):†\n    x = x + 1§\n    «print(self.n, x)»\n"
    assert fixed(before) == (
        "import torch\nx = 1\n\n\n@torch.compiler.disable\ndef _print(self, x):\n  print(self.n, x)\n\n\n"
        "# graphbreak: A()(1)\n@final\nclass A:\n  def f(self, x):\n    x = x + 1\n    _print(self, x)\n"
    )


def test_names_of_outer_functions_are_passed() -> None:
    before = "import torch\n\n\ndef make(n):\n    def f(x):†\n        x = x + n§\n        «print(n, x, torch)»\n    return f\n"
    assert "def _print(n, x):\n    print(n, x, torch)" in (fixed(before) or "")


BINDINGS = {
    "module": (
        "import time\nimport torch\n\ndef f(x):†\n    t = «time.time()»\n    return x + t§\n",
        "import time\nimport torch\n\n_time = torch.compiler.disable(time.time)\n\n\ndef f(x):\n    t = _time()\n    return x + t\n",
    ),
    "imported function": (
        "import torch\nfrom lib import report as r\n\n\ndef f(x):†\n    x = x + 1§\n    «r(x)»\n",
        "import torch\nfrom lib import report as r\n\n_r = torch.compiler.disable(r)\n\n\ndef f(x):\n    x = x + 1\n    _r(x)\n",
    ),
    "function of the module": (
        "import torch\ndef f(x):†\n    x = x + 1§\n    «g(x.sum())»§\ndef g(x): pass\n",
        "import torch\ndef f(x):\n    x = x + 1\n    _g(x.sum())\ndef g(x): pass\n\n\n_g = torch.compiler.disable(g)\n",
    ),
    "bound already": (
        "import torch\nfrom lib import g\nquiet = torch.compiler.disable(g)\ndef f(x):†\n    «g(x)»\n",
        "import torch\nfrom lib import g\nquiet = torch.compiler.disable(g)\ndef f(x):\n    quiet(x)\n",
    ),
    "in a lambda": (
        "import torch\nimport lib\n\nf = torch.compile(lambda x: «lib.g(x)»)\n",
        "import torch\nimport lib\n\n_g = torch.compiler.disable(lib.g)\n\nf = torch.compile(lambda x: _g(x))\n",
    ),
    "import of torch too": (
        "import lib\n\nx = 1\ndef f(x):†\n    «lib.g(x)»\n",
        "import lib\nimport torch\n\n_g = torch.compiler.disable(lib.g)\n\nx = 1\ndef f(x):\n    _g(x)\n",
    ),
}


@pytest.mark.parametrize("name", BINDINGS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_callee_is_bound(name: str, newline: str) -> None:
    before, after = BINDINGS[name]
    assert fixed(before, newline) == after.replace("\n", newline)


NOT_BOUND = {
    "class": "import torch\nfrom lib import Thing\ndef f(x):†\n    «Thing(x)»\n",
    "asks who called it": "import torch\nimport warnings\ndef f(x):†\n    «warnings.warn('w')»\n",
    "object": "import torch\nfrom lib import make\nlog = make()\ndef f(x):†\n    «log.info('w')»\n",
    "rebound": "import torch\nfrom lib import g\ndef h():\n    global g\n    g = 1\ndef f(x):†\n    «g(x)»\n",
    "local": "import torch\nfrom lib import g\ndef f(x, g):†\n    «g(x)»\n",
    "builtin": "import torch\ndef f(x):†\n    «print(x)»\n",
    "captured in the function": "import torch\ndef g(x): return x + 1§\ndef f(x):†\n    «g(x)»\n",
    "own module": "import torch\nimport net\ndef f(x):†\n    «net.g(x)»\n",
}


@pytest.mark.parametrize("name", NOT_BOUND)
def test_callee_is_not_bound(name: str) -> None:
    _, span, context = read(NOT_BOUND[name])
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0007", "")
    assert bind_disabled(diagnostic, context) is None
    assert disable_statement(diagnostic, context) is not None


IN_CLASS = "import torch\nfrom lib import Base\nclass A(Base):\n    def f(self, x):†\n        x = x + 1§\n        «self.log(x)»\n"
NOT_IN_CLASS = {
    "two bases": IN_CLASS.replace("(Base)", "(Base, Mixin)"),
    "a base of the module": IN_CLASS.replace("from lib import Base", "class Base: pass"),
    "overridden": IN_CLASS + "class B(A):\n    def log(self, x): pass\n",
    "set on the object": IN_CLASS + "    def g(self, log):\n        self.log = log\n",
    "another object's": IN_CLASS.replace("self.log", "x.log"),
    "a method of the class": IN_CLASS + "    def log(self, x): pass\n",
    "in a function inside": IN_CLASS.replace("    «", "    def g(): «"),
}


def test_a_method_of_a_library_is_bound_in_the_class() -> None:
    after = "class A(Base):\n    _log = torch.compiler.disable(Base.log)\n\n    def f(self, x):\n        x = x + 1\n        self._log(x)\n"
    assert (fixed(IN_CLASS) or "").endswith(after)


@pytest.mark.parametrize("name", NOT_IN_CLASS)
def test_a_method_is_not_bound_in_the_class(name: str) -> None:
    _, span, context = read(NOT_IN_CLASS[name])
    assert class_disabled(Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0007", ""), context) is None


NOT_DECORATED = {
    "marked": "import torch\ndef f(x):†\n    «print(x)»\n",
    "captured operations": "import torch\ndef util(y):\n    «print(y)»\n    return y + 1§\n",
    "captured in what it calls": "import torch\ndef g(y):\n    return y + 1§\ndef util(y):\n    «print(y)»\n    return g(y)\n",
    "calls what it is given": "import torch\ndef util(g, y):\n    «print(y)»\n    return g(y)\n",
    "calls a part of itself": "import torch\nclass A:\n    def util(self, y):\n        «print(y)»\n        return self.net(y)\n",
    "generator": "import torch\ndef util(y):\n    «print(y)»\n    yield y\n",
    "async": "import torch\nasync def util(y):\n    «print(y)»\n",
    "context manager": "import torch\n@contextmanager\ndef util(y):\n    «print(y)»\n    yield\n",
    "unknown decorator": "import torch\n@jit\ndef util(y):\n    «print(y)»\n",
    "disabled already": "import torch\n@torch.compiler.disable\ndef util(y):\n    «print(y)»\n",
    "lambda": "import torch\nutil = lambda y: «print(y)»\n",
    "special method": "import torch\nclass A:\n    def __getattr__(self, y):\n        «print(y)»\n",
    "a marked function inside": "import torch\ndef util(y):\n    «print(y)»\n    def f(x):†\n        pass\n",
    "inside a marked function": "import torch\ndef f(x):†\n    def util(y):\n        «print(y)»\n    util(x)\n",
    "inside a function that is compiled along": "import torch\ndef f(x):\n    def util(y):\n        «print(y)»\n    util(x + 1)§\n",
    "optional torch": "try:\n    import torch\nexcept ImportError:\n    torch = None\ndef util(y):\n    «print(y)»\n",
    "no syntax tree": "import torch\ndef util(y:\n    «print(y)»\n",
    "module level": "import torch\n«print(1)»\n",
}


@pytest.mark.parametrize("name", NOT_DECORATED)
def test_helper_is_not_decorated(name: str) -> None:
    _, span, context = read(NOT_DECORATED[name])
    assert disable_helper(Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0059", ""), context) is None


NOTHING: dict[str, tuple[str, dict[str, Any]]] = {
    "loop": ("for i in x:\n    «print(i)»", {}),
    "while": ("while «y.sum() > 0»:\n    y = y - 1", {"code": "GB0170"}),
    "comprehension": ("z = [«v.item()» for v in y]", {}),
    "generator expression": ("z = «list(v for v in y)»§", {}),
    "yield": ("«print((yield y))»", {}),
    "context manager": ("with «cm(y)»: pass", {}),
    "what a loop runs over": ("for i in «g(y)»: pass", {}),
    "target": ("«y.grad» = None", {}),
    "super": ("«super().f(y)»", {}),
    "locals": ("«print(locals())»", {}),
    "stacklevel": ("«warn('w', stacklevel=2)»", {}),
    "self-documenting f-string": ('«print(f"{y.sum()=}")»§', {}),
    "string over lines that would be indented anew": ('if x:\n    «print("""a\n    b""")»', {}),
    "several decisions": ("if «y.any() and y.all()»: y = -y", {"code": "GB0170"}),
    "chain": ("if «0 < y.sum() < 9»: y = -y", {"code": "GB0170"}),
    "library code that is captured": ("z = «lib(y)»§", {"below": (LIBRARY,)}),
    "fullgraph": ("«print(y)»", {"severity": Severity.ERROR}),
    "disabled already": ("«print(y)»", {"code": "GB0098"}),
    "intended": ("«print(y)»", {"kind": Kind.INTENDED}),
    "caller": ("«print(y)»", {"kind": Kind.CALLER}),
    "another frame lost": ("«print(y)»", {"kind": Kind.SKIPPED, "eager": (4, 99)}),
    "lost in a block": ("with cm():\n    «print(y)»", {"kind": Kind.SKIPPED, "eager": (4,)}),
    "nothing known of frames": ("«print(y)»", {"kind": Kind.SKIPPED}),
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_offered(name: str) -> None:
    body, changes = NOTHING[name]
    assert first_fix(in_function(body), **changes) is None


def test_the_caller_of_compiled_library_code_is_left_alone() -> None:
    text = "import torch\nfrom lib import model\n\ndef run(x):\n    return «model(x)»\n"
    _, span, context = read(text)
    stack = (StackFrame(PATH, 4, "run"), LIBRARY)
    compiled = (CompiledFrame("g", LIBRARY.path, 5, Effect.SPLIT),)
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0059", "", stack=stack, frames=compiled)
    assert fixes_for(diagnostic, context, FIXERS[:3]) == ()


def test_offered_where_only_the_own_frame_is_lost() -> None:
    assert first_fix(in_function("flag = «not (y.sum() > 0)»§"), kind=Kind.SKIPPED, code="GB0033", eager=(4,)) is not None
    helper = "import torch\ndef util(y):\n    for i in y:\n        «print(i)»\ndef f(x):†\n    util(x + 1)§\n"
    assert first_fix(helper, kind=Kind.SKIPPED, eager=(1,)) is not None
    assert first_fix(helper, kind=Kind.SKIPPED, eager=(1, 4)) is None


def test_logging_below_the_call_captures_nothing() -> None:
    assert first_fix(in_function("«log.info(y.sum())»§"), below=(LOGGING,)) is not None


def test_titles_name_the_pattern() -> None:
    titles = [first_fix(text) for text in (HELPERS["function"][0], in_function('«print("mid")»'), BINDINGS["module"][0])]
    assert [fix.title if fix else "" for fix in titles] == [
        "Run `util` outside the graph (@torch.compiler.disable)",
        'Move `print("mid")` into a disabled helper',
        "Call `time.time` outside the graph (bound with torch.compiler.disable)",
    ]


REASONS: dict[str, tuple[str, dict[str, Any]]] = {
    "Dynamo cannot trace print": (HELPERS["function"][0], {}),
    "Dynamo cannot trace x.log.info": (in_function("«x.log.info(y)»§"), {}),
    "Dynamo cannot trace time.time": (BINDINGS["module"][0], {}),
    "Dynamo cannot trace it": (in_function("v = «y.grad_fn»"), {}),
    "takes a number out of a tensor": (in_function("s = «y.sum().item()»§"), {"code": "GB0124"}),
    "branches on data": (in_function("if «y.any()»: y = -y§"), {"code": "GB0170"}),
}


@pytest.mark.parametrize("reason", REASONS)
def test_the_reason_says_what_breaks(reason: str) -> None:
    text, changes = REASONS[reason]
    fix = first_fix(text, **changes)
    assert fix is not None
    assert f'reason="{reason}")' in read(text)[0].apply(fix.edits[PATH]).text


def test_a_fixer_that_fails_does_not_take_the_others_away() -> None:
    def broken(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
        raise RuntimeError

    _, span, context = read(in_function("«print(y)»"))
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0059", "")
    rows = (Row("broken", broken, frozenset({Kind.BREAK})), *FIXERS)
    assert fixes_for(diagnostic, context, rows) == fixes_for(diagnostic, context)
    assert {"disable", "ignore"} <= {row.family for row in rows}


def test_every_result_parses() -> None:
    for body, _, _ in STATEMENTS.values():
        ast.parse(fixed(in_function(body)) or "?")
