"""What counts as marked for compile: one table of sources, each with the marks that are found in it."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbreak.core.marks import Mark, MarkForm, MarkOptions, Marks, find_marks
from graphbreak.core.source import SourceFile, Span


def marks_of(text: str) -> Marks:
    return find_marks(SourceFile("/w/model.py", text))


def described(mark: Mark) -> str:
    """A mark as the tables write it: form, name, 0-based line, and the options that differ from none given."""
    given_options = [f"{name}={value!r}" for name, value in vars(mark.options).items() if value != getattr(MarkOptions(), name)]
    return " ".join([mark.form.value, mark.name, str(mark.line), *given_options])


DECORATORS: dict[str, tuple[str, list[str]]] = {
    "bare": ("import torch\n@torch.compile\ndef f(x): return x", ["decorator f 2"]),
    "called": ("import torch\n@torch.compile()\ndef f(x): return x", ["decorator f 2"]),
    "with options": (
        "import torch\n@torch.compile(fullgraph=True, dynamic=False, mode='max-autotune', backend='eager')\ndef f(x): return x",
        ["decorator f 2 fullgraph=True dynamic=False mode='max-autotune' backend='eager'"],
    ),
    "options that only running can tell": (
        "import torch\n@torch.compile(fullgraph=FULL, dynamic=None, backend=my_backend, mode=f'a{b}')\ndef f(x): return x",
        ["decorator f 2"],
    ),
    "disabled": ("import torch\n@torch.compile(disable=True)\ndef f(x): return x", ["decorator f 2 disabled=True"]),
    "options in a dictionary": ("import torch\n@torch.compile(**options)\ndef f(x): return x", ["decorator f 2"]),
    "module alias": ("import torch as th\n@th.compile\ndef f(x): return x", ["decorator f 2"]),
    "function alias": ("from torch import compile as c\n@c(fullgraph=True)\ndef f(x): return x", ["decorator f 2 fullgraph=True"]),
    "function by its own name": ("from torch import compile\n@compile\ndef f(x): return x", ["decorator f 2"]),
    "star import": ("from torch import *\n@compile\ndef f(x): return x", ["decorator f 2"]),
    "import of a submodule binds torch": ("import torch.nn\n@torch.compile\ndef f(x): return x", ["decorator f 2"]),
    "torch.compiler.compile": ("import torch\n@torch.compiler.compile\ndef f(x): return x", ["decorator f 2"]),
    "torch.compiler.compile from its module": ("from torch.compiler import compile\n@compile\ndef f(x): return x", ["decorator f 2"]),
    "assigned alias": ("import torch\ncompile_ = torch.compile\n@compile_\ndef f(x): return x", ["decorator f 3"]),
    "alias of an alias": ("import torch as t\na = t\nb = a.compile\n@b\ndef f(x): return x", ["decorator f 4"]),
    "alias by tuple": ("import torch\nc, d = torch.compile, print\n@c\ndef f(x): return x\n@d\ndef g(x): return x", ["decorator f 3"]),
    "annotated alias": ("import torch\nc: object = torch.compile\n@c\ndef f(x): return x", ["decorator f 3"]),
    "alias with options": (
        "import torch\nfast = torch.compile(fullgraph=True)\n@fast\ndef f(x): return x",
        ["decorator f 3 fullgraph=True"],
    ),
    "alias by choice": (
        "import torch\njit = torch.compile if FAST else (lambda f: f)\n@jit\ndef f(x): return x",
        ["decorator f 3"],
    ),
    "alias in one branch": (
        "import torch\nif FAST:\n    jit = torch.compile\nelse:\n    jit = lambda f: f\n@jit\ndef f(x): return x",
        ["decorator f 6"],
    ),
    "alias that may be missing": (
        "try:\n    from torch import compile as c\nexcept ImportError:\n    c = None\n@c\ndef f(x): return x",
        ["decorator f 5"],
    ),
    "alias in a class": (
        "import torch\nclass Settings:\n    jit = torch.compile(dynamic=True)\n@Settings.jit\ndef f(x): return x",
        ["decorator f 4 dynamic=True"],
    ),
    "partial in place": (
        "import functools, torch\n@functools.partial(torch.compile, dynamic=True)\ndef f(x): return x",
        ["decorator f 2 dynamic=True"],
    ),
    "partial by name": (
        "from functools import partial\nimport torch\nfast = partial(torch.compile, fullgraph=True)\n@fast\ndef f(x): return x",
        ["decorator f 4 fullgraph=True"],
    ),
    "partial with more options at the decorator": (
        "import functools as f, torch\nc = f.partial(torch.compile, mode='default')\n@c(mode='reduce-overhead')\ndef f(x): return x",
        ["decorator f 3 mode='reduce-overhead'"],
    ),
    "partial of a partial": (
        "from functools import partial as p\na = p(torch.compile, dynamic=True)\nb = p(a, fullgraph=True)\n@b\ndef f(x): return x",
        ["decorator f 4 fullgraph=True dynamic=True"],
    ),
    "stacked": (
        "import torch\n@torch.no_grad()\n@torch.compile(dynamic=True)\n@other\ndef f(x): return x",
        ["decorator f 4 dynamic=True"],
    ),
    "twice is one mark": ("import torch\n@torch.compile\n@torch.compile\ndef f(x): return x", ["decorator f 3"]),
    "method": (
        "import torch\nclass Net(torch.nn.Module):\n    @torch.compile\n    def forward(self, x): return x",
        ["decorator Net.forward 3"],
    ),
    "static method": (
        "import torch\nclass A:\n    @staticmethod\n    @torch.compile\n    def f(x): return x",
        ["decorator A.f 4"],
    ),
    "class": ("import torch\n@torch.compile\nclass Net(torch.nn.Module):\n    pass", ["decorator Net 2"]),
    "nested function": (
        "import torch\ndef outer():\n    @torch.compile\n    def inner(x): return x\n    return inner",
        ["decorator outer.inner 3"],
    ),
    "nested class": (
        "import torch\nclass A:\n    class B:\n        def f(self):\n            @torch.compile\n            def g(x): return x",
        ["decorator A.B.f.g 5"],
    ),
    "async function": ("import torch\n@torch.compile\nasync def f(x): return x", ["decorator f 2"]),
    "import inside a function counts there only": (
        "def outer():\n    import torch as th\n    @th.compile\n    def f(x): return x\n@th.compile\ndef g(x): return x",
        ["decorator outer.f 3"],
    ),
    "names of the module are seen in functions above them": (
        "def outer():\n    @c\n    def f(x): return x\nfrom torch import compile as c",
        ["decorator outer.f 2"],
    ),
    "torch without an import": ("@torch.compile\ndef f(x): return x", ["decorator f 1"]),
    "conditional expression": ("import torch\n@(torch.compile if FAST else same)\ndef f(x): return x", ["decorator f 2"]),
    "inside if": ("import torch\nif FAST:\n    @torch.compile\n    def f(x): return x", ["decorator f 3"]),
}

CALLS: dict[str, tuple[str, list[str]]] = {
    "of a function": ("import torch\ndef f(x): return x\ng = torch.compile(f)", ["call f 1"]),
    "with options": (
        "import torch\ndef f(x): return x\ng = torch.compile(f, fullgraph=True, backend='aot_eager')",
        ["call f 1 fullgraph=True backend='aot_eager'"],
    ),
    "by keyword": ("import torch\ndef f(x): return x\ng = torch.compile(model=f, dynamic=True)", ["call f 1 dynamic=True"]),
    "rebinding the name": ("import torch\ndef f(x): return x\nf = torch.compile(f)\nf(1)", ["call f 1"]),
    "rebinding twice": ("import torch\ndef f(x): return x\nf = torch.compile(f)\nf = torch.compile(f)", ["call f 1", "call f 1"]),
    "of an object": ("import torch\nmodel = make()\nmodel = torch.compile(model)", ["call model 2"]),
    "of an instance": ("import torch\nclass Net(torch.nn.Module): pass\nnet = torch.compile(Net(3))", ["call Net(3) 2"]),
    "of a class": ("import torch\nclass Net(torch.nn.Module): pass\nFast = torch.compile(Net)", ["call Net 1"]),
    "of a method": (
        "import torch\nclass T:\n    def __init__(self):\n        self.step = torch.compile(self.step)\n    def step(self, x): pass",
        ["call T.step 4"],
    ),
    "of an inherited method": (
        "import torch\nclass A:\n    def step(self, x): return x\nclass B(A):\n    def run(self): return torch.compile(self.step)",
        ["call A.step 2"],
    ),
    "of a method of a known object": (
        "import torch\nclass Net:\n    def forward(self, x): return x\nnet = Net()\nf = torch.compile(net.forward)",
        ["call Net.forward 2"],
    ),
    "of a method through its class": (
        "import torch\nclass Net:\n    def forward(self, x): return x\nNet.forward = torch.compile(Net.forward)",
        ["call Net.forward 2"],
    ),
    "of a class method": (
        "import torch\nclass Net:\n    @classmethod\n    def make(cls): return torch.compile(cls.run)\n    def run(self): pass",
        ["call Net.run 4"],
    ),
    "of an attribute that the file does not define": (
        "import torch\nclass Trainer:\n    def run(self):\n        self.model = torch.compile(self.model)",
        ["call self.model 3"],
    ),
    "of a lambda": ("import torch\ng = torch.compile(lambda x: x + 1)", ["call <lambda> 1"]),
    "of a named lambda": ("import torch\nf = lambda x: x + 1\ng = torch.compile(f)", ["call <lambda> 1"]),
    "of a lambda in a function": ("import torch\ndef f():\n    return torch.compile(lambda x: x)", ["call f.<lambda> 2"]),
    "factory": ("import torch\ndef f(x): return x\ng = torch.compile()(f)", ["call f 1"]),
    "factory with options": ("import torch\ndef f(x): return x\ng = torch.compile(fullgraph=True)(f)", ["call f 1 fullgraph=True"]),
    "factory by None": ("import torch\ndef f(x): return x\ng = torch.compile(None, dynamic=True)(f)", ["call f 1 dynamic=True"]),
    "partial": (
        "import torch, functools\ndef f(x): return x\ng = functools.partial(torch.compile, fullgraph=True)(f, dynamic=True)",
        ["call f 1 fullgraph=True dynamic=True"],
    ),
    "assigned partial": (
        "import torch, functools\nfast = functools.partial(torch.compile, fullgraph=True)\ndef f(x): return x\ng = fast(f)",
        ["call f 2 fullgraph=True"],
    ),
    "in place": ("import torch\ndef f(x): return x\ny = torch.compile(f)(1)", ["call f 1"]),
    "conditional": ("import torch\ndef f(x): return x\nf = torch.compile(f) if FAST else f", ["call f 1"]),
    "under if": ("import torch\ndef f(x): return x\nif FAST:\n    f = torch.compile(f)", ["call f 1"]),
    "in a comprehension": ("import torch\nfs = [torch.compile(f) for f in functions]", ["call f 1"]),
    "the name of a comprehension hides the function": (
        "import torch\ndef f(x): return x\nfs = {torch.compile(f) for f in functions}",
        ["call f 2"],
    ),
    "a parameter hides the function": (
        "import torch\ndef f(x): return x\ndef fast(f):\n    return torch.compile(f, dynamic=True)",
        ["call f 3 dynamic=True"],
    ),
    "of a global": ("import torch\ndef f(x): return x\ndef fast():\n    global f\n    f = torch.compile(f)", ["call f 1"]),
    "in a function, of what is defined below": (
        "import torch\ndef main():\n    return torch.compile(step)\ndef step(x): return x",
        ["call step 3"],
    ),
    "returned, awaited, yielded, passed on": (
        "import torch\nasync def m(f):\n    yield torch.compile(f)\n    await run(torch.compile(g))\n    with torch.compile(h) as k: pass",
        ["call f 2", "call g 3", "call h 4"],
    ),
    "in an argument's default": ("import torch\ndef f(x, g=torch.compile(h)): return g(x)", ["call h 1"]),
    "in a lambda": ("import torch\nfast = lambda f: torch.compile(f)", ["call f 1"]),
    "of a long expression": (
        "import torch\ng = torch.compile(\n    nn.Sequential(\n        a,\n        b,\n    )\n)",
        ["call nn.Sequential( a, b, ) 1"],
    ),
    "of the second definition of a name": (
        "import torch\ndef f(x): return 1\ndef f(x): return 2\ng = torch.compile(f)\ndef f(x): return 3",
        ["call f 2"],
    ),
    "with unpacked arguments": ("import torch\ng = torch.compile(*arguments)", ["call *arguments 1"]),
    "in match": ("import torch\nmatch kind:\n    case 1:\n        f = torch.compile(g)", ["call g 3"]),
    "by walrus": ("import torch\nif (c := torch.compile):\n    g = c(f)", ["call f 2"]),
}

METHODS: dict[str, tuple[str, list[str]]] = {
    "of a name": ("import torch\nmodel = Net()\nmodel.compile()", ["method model 2"]),
    "with options": (
        "import torch\nmodel.compile(fullgraph=True, mode='default', backend=b)",
        ["method model 1 fullgraph=True mode='default'"],
    ),
    "of an attribute": (
        "import torch\nclass T:\n    def f(self):\n        self.model.compile(dynamic=True)",
        ["method self.model 3 dynamic=True"],
    ),
    "of an item": ("import torch\nmodel.layers[0].compile()", ["method model.layers[0] 1"]),
    "of a loop variable": ("import torch\nfor layer in model.layers:\n    layer.compile()", ["method layer 2"]),
    "of a module of this file": ("from torch import nn\nclass Net(nn.Module): pass\nnet = Net()\nnet.compile()", ["method net 3"]),
    "of self in a module": ("from torch import nn\nclass Net(nn.Module):\n    def fast(self): self.compile()", ["method self 2"]),
    "of what torch makes": ("from torch import nn\nm = nn.Linear(2, 3)\nm.compile()", ["method m 2"]),
    "of an imported object": ("import torch\nfrom models import model\nmodel.compile()", ["method model 2"]),
}

NOT_MARKS: dict[str, str] = {
    "no word of it": "import torch\nx = torch.ones(3)",
    "builtin compile": "import torch\ncode = compile('1', 'f', 'eval')\n@compile\ndef f(x): return x",
    "builtins.compile": "import builtins, torch\nbuiltins.compile('1', 'f', 'eval')",
    "regular expression": "import re, torch\np = re.compile('a')\nq = re.compile(pattern='a', flags=0)",
    "regular expression by name": "import torch\nfrom re import compile\np = compile('a')",
    "any module": "import torch, tvm\ntvm.compile()\nimport triton.compiler as tc\ntc.compile()",
    "a class": "import torch\nfrom jinja2 import Template\nTemplate.compile()\nclass A:\n    pass\nA.compile()",
    "keras": "import torch\nmodel.compile(optimizer='adam', loss='mse')",
    "keras without arguments": "import torch, keras\nmodel = keras.Sequential([])\nmodel.compile()",
    "positional arguments": "import torch\nenv.compile('text')\nmodel.compile(True)",
    "unpacked keywords": "import torch\nmodel.compile(**options)",
    "jax": "import torch, jax\nlowered = jax.jit(f).lower(1)\ncompiled = lowered.compile()",
    "sqlalchemy": "import torch\nfrom sqlalchemy import select\nq = select(a).where(b)\nq.compile()",
    "no torch in the file": "model.compile()",
    "an instance with its own compile": "import torch\nclass Net(Base):\n    def compile(self): self.compile()\nn = Net()\nn.compile()",
    "an instance of a plain class": "import torch\nclass Query:\n    pass\nq = Query()\nq.compile()",
    "a result": "import torch\nmake().compile()\n'a'.compile()",
    "compiler namespace": "import torch\n@torch.compiler.disable\ndef f(x): return x\n@torch.compiler.allow_in_graph\ndef g(x): return x",
    "compiler module": "import torch.compiler as tc\n@tc.disable\ndef f(x): return x\nfrom torch import compiler\ncompiler.reset()",
    "something of torch's named compile": "import torch\ntorch._inductor.compile(gm, inputs)\ntorch.jit.compile(f)",
    "factory that nobody uses": "import torch\ntorch.compile()\nc = torch.compile(fullgraph=True)\nd = torch.compile",
    "passed on as a value": "import torch\nfs = map(torch.compile, functions)",
    "another torch": "from mine import torch\n@torch.compile\ndef f(x): return x\nfrom .torch import compile as c\n@c\ndef g(x): return x",
    "alias that was rebound": "from torch import compile as c\nfrom mine import c\n@c\ndef f(x): return x",
    "alias hidden by a parameter": "from torch import compile\ndef f(compile):\n    return compile(g)",
    "alias hidden by a loop": "from torch import compile as c\nfor c in cs:\n    pass\ndef k():\n    for c in cs:\n        c(f)",
    "names of a class are not seen in its methods": "import torch\nclass A:\n    c = torch.compile\n    def f(self): return c(g)",
    "in strings and comments": "import torch\ns = '''\n@torch.compile\ndef f(x): ...\n'''\n# torch.compile(f)",
    "partial of something else": "import torch, functools\n@functools.partial(torch.jit.script, f)\ndef g(x): return x",
    "names bound to themselves": "import torch\na = b\nb = a\nb(f)\nc = c\nc(f)",
    "lambda without compile": "import torch\ncompile_nothing = lambda f: f\ncompile_nothing(g)",
}

BROKEN: dict[str, tuple[str, list[str]]] = {
    "a statement in a function": (
        "import torch\n@torch.compile\ndef f(x):\n    y = x *\n    return y\n@torch.compile\ndef g(x): return x",
        ["decorator f 2", "decorator g 6"],
    ),
    "the only statement of a function": ("import torch\n@torch.compile\ndef f(x):\n    return x +\n", ["decorator f 2"]),
    "an open parenthesis before a decorator": (
        "import torch\ndef f(x):\n    return (x\n\n@torch.compile\ndef g(x): return x\n",
        ["decorator g 5"],
    ),
    "an open call at the top": ("import torch\nx = foo(1,\n@torch.compile\ndef f(x):\n    return x\n", ["decorator f 3"]),
    "a broken header": (
        "import torch\n@torch.compile\ndef f(x:\n    y = x\n    return y\nclass A(:\n    @torch.compile\n    def forward(self): pass",
        ["decorator f 2", "decorator A.forward 7"],
    ),
    "a header being typed": ("import torch\n@torch.compile\ndef f(x): return x\n\ndef g(", ["decorator f 2"]),
    "a marked header being typed": ("import torch\nx = 1\n@torch.compile\ndef f", ["decorator f 3"]),
    "a header without a body": (
        "import torch\n@torch.compile\ndef f(x):\n\nx = 1\n@torch.compile\ndef g(x): return x",
        ["decorator f 2", "decorator g 6"],
    ),
    "a decorator being typed": ("import torch\n@torch.compile\ndef f(x): return x\n@torch.\n", ["decorator f 2"]),
    "a decorator with nothing below": ("import torch\n@torch.compile\nx = 1\ny = 2\nz = torch.compile(f)", ["call f 4"]),
    "missing colons": (
        "import torch\nif x\n    f = torch.compile(g)\nelse\n    f = torch.compile(h)\n",
        ["call g 2", "call h 4"],
    ),
    "a condition without a body": ("import torch\nif x:\nf = torch.compile(g)\n", ["call g 2"]),
    "wrong indentation": ("import torch\n  x = 1\nf = torch.compile(g)\n   y = 2\n", ["call g 2"]),
    "merge conflict": (
        "import torch\n<<<<<<< HEAD\na = torch.compile(f)\n=======\na = torch.compile(g)\n>>>>>>> b\n",
        ["call f 2", "call g 4"],
    ),
    "an open string": (
        "import torch\n@torch.compile\ndef f(x): return x\ns = 'abc\n@torch.compile\ndef g(x): return x",
        ["decorator f 2", "decorator g 5"],
    ),
    "an open triple string at the end": ("import torch\n@torch.compile\ndef f(x): return x\ns = '''abc\nmore", ["decorator f 2"]),
    "a triple quote being typed": (
        'import torch\n@torch.compile\ndef f(x):\n    """A\n    return x\n@torch.compile(\n)\ndef g():\n    """B."""\nh = torch.compile(g)',
        ["decorator f 2", "decorator g 7", "call g 7"],
    ),
    "a long call with a broken bracket": (
        "import torch\nclass A:\n    def f(self):\n        g(x[,\n            1,\n"
        + "            2,\n" * 40
        + "        )\n        return torch.compile(h)",
        ["call h 46"],
    ),
    "an else without an if": ("import torch\nx = 1\nelse:\n    f = torch.compile(g)\n", ["call g 3"]),
    "a broken line in a call": ("import torch\nx = foo(\n    a b,\n    c)\nf = torch.compile(g)", ["call g 4"]),
    "a broken import of torch": ("import torch,\n@torch.compile\ndef f(x): return x", ["decorator f 2"]),
    "a null byte": ("import torch\nf = torch.compile(g)\n\0\n", ["call g 1"]),
    "more errors than rounds": (
        "import torch\n" + "".join(f"@torch.compile\ndef f{i}(x):\n    return x +\n\n" for i in range(40)),
        [f"decorator f{i} {2 + 4 * i}" for i in range(40)],
    ),
    "another language of the same suffix": ("import torch\n" + "print 'x' % y\n" * 50 + "f = torch.compile(g)\n", ["call g 51"]),
}


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case, id=name) for name, case in DECORATORS.items()])
def test_decorators(text: str, expected: list[str]) -> None:
    assert [described(mark) for mark in marks_of(text).marks] == expected


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case, id=name) for name, case in CALLS.items()])
def test_calls(text: str, expected: list[str]) -> None:
    assert [described(mark) for mark in marks_of(text).marks] == expected


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case, id=name) for name, case in METHODS.items()])
def test_methods(text: str, expected: list[str]) -> None:
    assert [described(mark) for mark in marks_of(text).marks] == expected


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in NOT_MARKS.items()])
def test_what_is_no_mark(text: str) -> None:
    assert marks_of(text) == Marks()


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case, id=name) for name, case in BROKEN.items()])
def test_a_syntax_error_costs_only_what_it_touches(text: str, expected: list[str]) -> None:
    marks = marks_of(text)
    assert [described(mark) for mark in marks.marks] == expected
    assert marks.problem is not None


def spans_of(text: str) -> list[tuple[str, str]]:
    source = SourceFile("/w/model.py", text)
    return [(source.slice(mark.span), source.slice(mark.name_span)) for mark in find_marks(source).marks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\n@torch.compile\ndef f(x): return x", [("torch.compile", "f")]),
        ("import torch\n@torch.compile( dynamic=True )\nasync  def  f (x): return x", [("torch.compile( dynamic=True )", "f")]),
        ("import torch\n@torch.compile\nclass Näh(A): pass", [("torch.compile", "Näh")]),
        ("import torch\nc = 'ü😀'; g = torch.compile(f)(1)", [("torch.compile(f)", "f")]),
        ("import torch\ndef step(x): return x\ng = torch.compile()(step)", [("torch.compile()(step)", "step")]),
        ("import torch\ng = torch.compile(\n  lambda x: x\n)", [("torch.compile(\n  lambda x: x\n)", "lambda x: x")]),
        ("import torch\nself.net.compile(dynamic=True)", [("self.net.compile(dynamic=True)", "self.net")]),
        ("import torch\n\tx = 1\nif a:\n\tg\t=\ttorch.compile( f )", [("torch.compile( f )", "f")]),
    ],
)
def test_spans_cover_the_mark_and_the_name(text: str, expected: list[tuple[str, str]]) -> None:
    assert spans_of(text) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_form_feeds_and_a_byte_order_mark_change_nothing(newline: str) -> None:
    text = newline.join(["\ufeffimport torch", "\f", "s = '''a", "b'''", "@torch.compile", "def f(x):", "\treturn x", ""])
    marks = marks_of(text)
    assert [described(mark) for mark in marks.marks] == ["decorator f 5"]
    assert marks.problem is None
    assert spans_of(text) == [("torch.compile", "f")]


def test_columns_are_right_behind_surrogates() -> None:
    assert spans_of("import torch\ns = '\ud83d\ude00'; g = torch.compile(f)") == [("torch.compile(f)", "f")]


DIRECTIVES: dict[str, tuple[str, list[str], list[list[str]]]] = {
    "above a decorator": ("# graphbreak: f(1)\n@torch.compile\ndef f(x): return x", ["decorator f 2"], [["f(1)"]]),
    "between decorators": ("@a\n# graphbreak: f(1)\n@torch.compile\ndef f(x): return x", ["decorator f 3"], [["f(1)"]]),
    "between decorator and def": ("@torch.compile\n# graphbreak: f(1)\ndef f(x): return x", ["decorator f 2"], [["f(1)"]]),
    "several": ("# graphbreak: f(1)\n# graphbreak: f(2)\n@torch.compile\ndef f(x): return x", ["decorator f 3"], [["f(1)", "f(2)"]]),
    "above and between": (
        "# graphbreak: f(1)\n@torch.compile\n# graphbreak: f(2)\ndef f(x): return x",
        ["decorator f 3"],
        [["f(1)", "f(2)"]],
    ),
    "behind the header": ("@torch.compile\ndef f(x):  # graphbreak: f(1)\n    return x", ["decorator f 1"], [["f(1)"]]),
    "above a call": ("import torch\n# graphbreak: g(1)\ng = torch.compile(f)", ["call f 2"], [["g(1)"]]),
    "above a method call": ("import torch\n# graphbreak: m(1)\nm.compile()", ["method m 2"], [["m(1)"]]),
    "above a function that is compiled elsewhere": (
        "import torch\n# graphbreak: f(1)\ndef f(x): return x\ng = torch.compile(f)",
        ["call f 2"],
        [["f(1)"]],
    ),
    "above an unmarked function": ("# graphbreak: f(1)\n# graphbreak: f(2)\ndef f(x): return x", ["directive f 2"], [["f(1)", "f(2)"]]),
    "above an unmarked method": ("class A:\n  # graphbreak: A().f(1)\n  def f(self, x): return x", ["directive A.f 2"], [["A().f(1)"]]),
    "above an unmarked class": ("# graphbreak: A()(1)\n@dataclass\nclass A: pass", ["directive A 2"], [["A()(1)"]]),
    "above an assignment": ("# graphbreak: score(1)\nscore = make()", ["directive score 1"], [["score(1)"]]),
    "above an assigned lambda": ("# graphbreak: score(1)\nscore = lambda x: x", ["directive score 1"], [["score(1)"]]),
    "above an assignment to an attribute": ("# graphbreak: a.b(1)\na.b = make()", ["directive a.b 1"], [["a.b(1)"]]),
    "above an async function": ("# graphbreak: f(1)\nasync def f(x): return x", ["directive f 1"], [["f(1)"]]),
    "above a nested function": ("def g():\n    # graphbreak: g()(1)\n    def f(x): return x", ["directive g.f 2"], [["g()(1)"]]),
}


@pytest.mark.parametrize(("text", "expected", "calls"), [pytest.param(*case, id=name) for name, case in DIRECTIVES.items()])
def test_directives_belong_to_the_mark_below(text: str, expected: list[str], calls: list[list[str]]) -> None:
    marks = marks_of(text)
    assert [described(mark) for mark in marks.marks] == expected
    assert [[directive.expression for directive in mark.directives] for mark in marks.marks] == calls
    assert [mark.unmarked for mark in marks.marks] == [mark.form is MarkForm.DIRECTIVE for mark in marks.marks]
    assert marks.stray == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# graphbreak: f(1)\n\ndef f(x): return x", id="above a blank line"),
        pytest.param("# graphbreak: f(1)\nf(1)", id="above a plain call"),
        pytest.param("# graphbreak: f(1)\na, b = make()", id="above an assignment of several"),
        pytest.param("def f(x): return x\n# graphbreak: f(1)", id="at the end"),
        pytest.param("# graphbreak: f(1\ndef f(x): return x", id="with an error"),
        pytest.param("# graphbreak:\ndef f(x): return x", id="empty"),
    ],
)
def test_directives_without_a_mark_are_stray(text: str) -> None:
    marks = marks_of(text)
    assert marks.marks == ()
    assert len(marks.stray) == 1


def test_a_mark_made_by_a_directive_stands_at_its_first_expression() -> None:
    (mark,) = marks_of("#  graphbreak:  f(1)\ndef f(x): return x").marks
    assert mark.span == Span.at(0, 16, 0, 20)


def test_ignores_come_with_the_marks() -> None:
    (ignore,) = marks_of("import torch\nprint()  # graphbreak: ignore[GB0059] known").ignores
    assert (ignore.codes, ignore.reason, ignore.line) == (("GB0059",), "known", 1)


def test_the_problem_says_what_and_where() -> None:
    problem = marks_of("import torch\ntorch.compile(f\nx = 1\n").problem
    assert problem is not None
    assert problem.message == "Python cannot read this file: '(' was never closed."
    assert problem.span == Span.at(1, 13, 1, 15)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = compile(" + "-" * 100_000 + "1)", id="operators"),
        pytest.param("compile" + "(" * 5_000, id="parentheses"),
        pytest.param("x = compile" + ".a" * 50_000, id="attributes"),
        pytest.param("x = compile" + "()" * 5_000, id="calls"),
        pytest.param("x = compile" + " + 1" * 20_000, id="sums"),
        pytest.param("".join(" " * i + "if compile:\n" for i in range(500)), id="blocks"),
        pytest.param("# graphbreak: " + "-" * 50_000 + "x", id="in a directive"),
        pytest.param("(" * 5_000 + "\n# graphbreak: x\ncompile", id="tokens"),
    ],
)
def test_nesting_that_no_parser_takes_is_no_crash(text: str) -> None:
    assert marks_of(text).marks == ()


def test_nesting_that_is_too_deep_is_said() -> None:
    problem = marks_of("x = compile(" + "-" * 100_000 + "1)").problem
    assert problem is not None
    assert problem.message == "Python cannot read this file: it is nested too deeply."


def test_the_marks_beside_what_is_nested_too_deeply_are_found() -> None:
    found = marks_of("import torch\n\n@torch.compile\ndef f(x):\n    return x\n\ny = " + " + ".join(["1"] * 20_000) + "\nprint(y)\n")
    assert [mark.name for mark in found.marks] == ["f"]
    assert found.problem is not None
    assert found.problem.span.start.line == 6


def test_deep_code_that_python_takes_is_read() -> None:
    text = "import torch\n" + "x = a" + ".b" * 300 + "()" * 80 + "\ny = " + "[" * 80 + "torch.compile(f)" + "]" * 80
    assert [mark.name for mark in marks_of(text).marks] == ["f"]


@pytest.mark.parametrize("broken", [False, True])
def test_a_huge_file_takes_seconds(broken: bool) -> None:
    function = "@torch.compile(fullgraph=True)\ndef f(x):\n    y = x * 2\n    return y.sin() + 1\n\n\n"
    text = "import torch\n" + function * 10_000 + ("x = (\n" if broken else "")
    start = time.monotonic()
    assert len(marks_of(text).marks) == 10_000
    assert time.monotonic() - start < 30


FRAGMENTS = st.sampled_from(
    dedent("""
    import torch
    from torch import compile as c
    import torch as
    @torch.compile
    @torch.compile(fullgraph=True
    def f(x):
    def f(
    class A(B):
        return x
        self.step = torch.compile(self.step)
      odd
    g = torch.compile(f)
    f = f(torch.compile)(f)
    m.compile()
    # graphbreak: f(1)
    # graphbreak: ignore[GB0059] x
    '''
    "
    (
    )]}
    if x:
    else:
    lambda x: (yield)
    f = c = lambda c=c: c
    [c(f) for c in c for f in f]
    x = 'é😀'; torch.compile(f)
    """).splitlines()
) | st.sampled_from(["", "\f", "\0", "\ufeff", "\t", "\\", "\ud800", "\u2028", "\x85", "é"])


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=12), st.sampled_from(["\n", "\r\n", "\r", " ", ""]))
def test_any_mixture_of_fragments_is_read_without_raising(fragments: list[str], between: str) -> None:
    check_consistent(between.join(fragments))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=80), st.integers(0, 80))
def test_any_text_is_read_without_raising(text: str, at: int) -> None:
    check_consistent(text[:at] + "torch.compile" + text[at:])
    check_consistent(text[:at] + "# graphbreak: " + text[at:])


def check_consistent(text: str) -> None:
    source = SourceFile("/w/model.py", text)
    marks = find_marks(source)
    for mark in marks.marks:
        assert mark.span.start <= mark.span.end
        assert source.offset(mark.span.end) <= len(text)
        assert mark.form is MarkForm.DIRECTIVE or "\n" in source.slice(mark.span) or source.slice(mark.span)
        assert mark.unmarked == (mark.form is MarkForm.DIRECTIVE)
        assert not mark.unmarked or mark.directives
    if marks.problem:
        assert marks.problem.span.start <= marks.problem.span.end
        assert marks.problem.span.end.line < len(source.lines)
