"""An option that holds for one compiled function: at its mark, or around its calls."""

from __future__ import annotations

import ast

import pytest

from graphbreak.core.findings import Diagnostic, Fix, Kind, Safety, Severity, StackFrame
from graphbreak.core.nodes import tree_of
from graphbreak.core.places import node_span
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes import FIXERS, FixContext, fixes_for

PATH = "/w/net.py"
SET = "torch._dynamo.config.patch(capture_scalar_outputs=True)"
BODY = "import torch\n\n\ndef f(x):\n    return x.sum().item()\n\n\n"

SET_AT_MARK = {
    "called": ("g = torch.compile(f)\ng(x)\n", f"g = {SET}(torch.compile(f))\ng(x)\n"),
    "called at once": ("torch.compile(f, dynamic=True)(x)\n", f"{SET}(torch.compile(f, dynamic=True))(x)\n"),
    "in a function": (
        "def run(x):\n\tg = torch.compile(f)\n\treturn [g(x) for _ in x]\n",
        f"def run(x):\n\tg = {SET}(torch.compile(f))\n\treturn [g(x) for _ in x]\n",
    ),
    "another one of that name": (
        "def run(g):\n    return g.name\ng = torch.compile(f)\ng(x)\n",
        f"def run(g):\n    return g.name\ng = {SET}(torch.compile(f))\ng(x)\n",
    ),
    "set already": (
        "g = torch._dynamo.config.patch(verbose=True)(torch.compile(f))\ng(x)\n",
        "g = torch._dynamo.config.patch(verbose=True, capture_scalar_outputs=True)(torch.compile(f))\ng(x)\n",
    ),
}

SET_AROUND_CALLS = {
    "a call": (
        "g = torch.compile(f)\ng.eval()\ny = g(x)  # once\n",
        f"g = torch.compile(f)\ng.eval()\nwith {SET}:\n    y = g(x)  # once\n",
    ),
    "compiled in place": (
        "net = Net()\nnet.compile(dynamic=True)\nnet(x)\n",
        f"net = Net()\nnet.compile(dynamic=True)\nwith {SET}:\n    net(x)\n",
    ),
    "over lines": (
        "g = torch.compile(f)\ng.eval()\nfor x in xs:\n\tg(\n\t\tx)\n",
        f"g = torch.compile(f)\ng.eval()\nfor x in xs:\n\twith {SET}:\n\t\tg(\n\t\t\tx)\n",
    ),
    "set already": (
        "g = torch.compile(f)\ng.eval()\nwith torch._dynamo.config.patch(verbose=True):\n    g(x)\n    g(x)\n",
        "g = torch.compile(f)\ng.eval()\nwith torch._dynamo.config.patch(verbose=True, capture_scalar_outputs=True):\n    g(x)\n    g(x)\n",
    ),
}

DECLINED = {
    "handed on": "g = torch.compile(f)\nrun(g)\n",
    "bound twice": "g = torch.compile(f)\ng = wrapped(g)\ng(x)\n",
    "an attribute": "net.g = torch.compile(f)\n",
    "of a class": "class Net:\n    g = torch.compile(f)\n",
    "whole": "g = torch.compile(f, fullgraph=True)\ng(x)\n",
    "whole, perhaps": "g = torch.compile(f, **options)\ng(x)\n",
    "set already": f"g = {SET}(torch.compile(f))\ng(x)\n",
    "called later": "g = torch.compile(f)\ng.eval()\nlater = lambda: g(x)\n",
    "called in a test": "g = torch.compile(f)\ng.eval()\nif g(x):\n    pass\n",
    "two on a line": "g = torch.compile(f)\ng.eval()\ny = g(x); z = g(x)\n",
    "declared global": "g = torch.compile(f)\ndef run():\n    global g\n    g = None\ng(x)\n",
    "a class": "@torch.compile\nclass Net:\n    pass\n",
    "a coroutine": "@torch.compile\nasync def g(x):\n    return x\n",
    "no compile of torch's": "g = tools.net.compile(f)\n",
    "never called": "net = Net()\nnet.compile()\nnet.eval()\n",
}


def offered(text: str, others: dict[str, str] | None = None) -> tuple[SourceFile, list[Fix]]:
    """What is offered for a break in the function of a text, with its first `compile` as the mark."""
    source = SourceFile(PATH, text)
    context = FixContext(
        {PATH: source, **{path: SourceFile(path, other) for path, other in (others or {}).items()}}, marks={"f": (PATH, mark_of(source))}
    )
    line = next(number for number, one in enumerate(source.lines) if ".item()" in one)
    span = Span.at(line, 11, line, len(source.line(line)))
    stack = (StackFrame(PATH, line, "f"),)
    found = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0124", "", functions=("f",), stack=stack)
    return source, list(fixes_for(found, context, [row for row in FIXERS if row.family == "own setting"]))


def mark_of(source: SourceFile) -> Span:
    tree = tree_of(source)
    assert tree is not None
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    decorators = [d for function in functions for d in function.decorator_list if "compile" in ast.dump(d)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "compile"]
    return node_span(source, (decorators or calls)[0])


def after(text: str) -> str:
    source, (fix,) = offered(text)
    assert (fix.safety, fix.admits) == (Safety.SAFE, True)
    assert fix.needs == ("torch._dynamo.config.capture_scalar_outputs", "torch.utils._config_module.ContextVar")
    return source.apply(fix.edits[PATH]).text


@pytest.mark.parametrize("name", SET_AT_MARK)
def test_it_is_set_at_the_mark_of_what_is_only_called(name: str) -> None:
    before, wanted = SET_AT_MARK[name]
    assert after(BODY + before) == BODY + wanted


@pytest.mark.parametrize("name", SET_AROUND_CALLS)
def test_it_is_set_around_the_calls_of_what_is_used_otherwise_too(name: str) -> None:
    before, wanted = SET_AROUND_CALLS[name]
    assert after(BODY + before) == BODY + wanted


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["@torch.compile", "@torch.compile(dynamic=True)", "@other\n@torch.compile"])
def test_it_is_a_decorator_above_that_of_the_mark(mark: str, newline: str) -> None:
    method = "class Net:\n\t" + mark.replace("\n", "\n\t") + "\n\tdef f(x):\n\t\treturn x.sum().item()\n"
    before = ("import torch\n" + method).replace("\n", newline)
    assert after(before) == before.replace("@torch.compile", f"@{SET}{newline}\t@torch.compile")


def test_a_decorator_that_is_there_gets_one_option_more() -> None:
    before = "import torch\n@torch._dynamo.config.patch(verbose=True)\n@torch.compile\ndef f(x):\n    return x.sum().item()\n"
    assert after(before) == before.replace("verbose=True", "verbose=True, capture_scalar_outputs=True")


@pytest.mark.parametrize("name", DECLINED)
def test_it_is_not_offered_where_the_calls_cannot_be_followed(name: str) -> None:
    assert offered(BODY + DECLINED[name])[1] == []


def test_it_is_not_offered_where_another_file_may_ask_more_of_it() -> None:
    text = BODY + "g = torch.compile(f)\ng(x)\n"
    assert offered(text, {"/w/other.py": "from net import h\nh.eval()\n"})[1]
    assert offered(text, {"/w/other.py": "from net import g\ng.eval()\n"})[1] == []
    assert offered(text, {"/w/other.py": "import net\nnet.g.eval()\n"})[1] == []
