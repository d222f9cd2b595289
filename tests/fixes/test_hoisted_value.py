"""What is hoisted, to where, and what is not. In the sources `«...»` is the break."""

from __future__ import annotations

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Safety, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.hoisted_value import hoisted_value
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"
HEAD = "import json\nimport os\nimport random\nimport zlib\n\nimport torch\n\nSIZES = (1, 2)\nTABLE = {}\n\n\n"


def offered(text: str, code: str = "GB0007", other: str = "") -> tuple[str, Safety] | None:
    """The text after the fix, and its safety; None where nothing is offered."""
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    context = FixContext({PATH: source, "/w/train.py": SourceFile("/w/train.py", other)})
    fix = hoisted_value(Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, code, ""), context)
    return (source.apply(fix.edits[PATH]).text, fix.safety) if fix is not None else None


MODULE = {
    "constant": ("    return x * «json.dumps(SIZES)»", "_DUMPS = json.dumps(SIZES)", "    return x * _DUMPS", Safety.SAFE),
    "named": ("    n = len(«json.dumps(SIZES)»)\n    return n", "_N = len(json.dumps(SIZES))", "    n = _N\n    return n", Safety.SAFE),
    "may change": ("    return «json.dumps(TABLE)»", "_F = json.dumps(TABLE)", "    return _F", Safety.CHANGES_BEHAVIOUR),
    "unknown call": ("    return «zlib.compress(b'')»", "_F = zlib.compress(b'')", "    return _F", Safety.CHANGES_BEHAVIOUR),
}
DUMPED = "_DUMPS = json.dumps(SIZES)"
TENSOR = "torch.tensor(«json.loads('[1]')»)"
PLAIN = TENSOR.replace("«", "").replace("»", "")
MODULE |= {
    "tensor that is returned": (f"    return {TENSOR}", f"_F = {PLAIN}", "    return _F.clone()", Safety.SAFE),
    "tensor that is changed": (
        f"    rows = {TENSOR}\n    rows += x\n    return x + rows",
        f"_ROWS = {PLAIN}",
        "    rows = _ROWS.clone()\n    rows += x\n    return x + rows",
        Safety.SAFE,
    ),
    "tensor that is kept": (f"    self.rows = [{TENSOR}, x]", f"_TENSOR = {PLAIN}", "    self.rows = [_TENSOR.clone(), x]", Safety.SAFE),
    "tensor that is handed on": (f"    return g({TENSOR}, x)", f"_TENSOR = {PLAIN}", "    return g(_TENSOR.clone(), x)", Safety.SAFE),
    "tensor under two names": (
        f"    rows = {TENSOR}\n    other = rows\n    other += x\n    return rows",
        f"_ROWS = {PLAIN}",
        "    rows = _ROWS.clone()\n    other = rows\n    other += x\n    return rows",
        Safety.SAFE,
    ),
    "tensor of which a view is taken": (f"    return {TENSOR}.view(-1)", f"_F = {PLAIN}.view(-1)", "    return _F.clone()", Safety.SAFE),
    "tensor of which a view of the caller is taken": (
        f"    rows = {TENSOR}\n    return rows.view(x)",
        f"_ROWS = {PLAIN}",
        "    rows = _ROWS.clone()\n    return rows.view(x)",
        Safety.SAFE,
    ),
    "tensor that is an operand": (f"    return x + {TENSOR}", f"_TENSOR = {PLAIN}", "    return x + _TENSOR", Safety.SAFE),
    "tensor that is an index": (
        f"    rows = {TENSOR}\n    return x[rows]",
        f"_ROWS = {PLAIN}",
        "    rows = _ROWS\n    return x[rows]",
        Safety.SAFE,
    ),
    "list of texts": (
        "    return [«json.dumps(SIZES)», 'a']",
        "_F = [json.dumps(SIZES), 'a']",
        "    return _F.copy()",
        Safety.SAFE,
    ),
    "nothing known to copy it": ("    return «json.loads('[1]')»", "_F = json.loads('[1]')", "    return _F", Safety.CHANGES_BEHAVIOUR),
    "variable of the process": (
        "    return x * int(«os.environ['K']»)",
        "_INT = int(os.environ['K'])",
        "    return x * _INT",
        Safety.CHANGES_BEHAVIOUR,
    ),
    "under a test": (
        "    if SIZES:\n        return x * «json.dumps(SIZES)»",
        "_DUMPS = json.dumps(SIZES) if SIZES else None",
        "    if SIZES:\n        return x * _DUMPS",
        Safety.SAFE,
    ),
    "in a test itself": ("    if «json.dumps(SIZES)»:\n        return x", DUMPED, "    if _DUMPS:\n        return x", Safety.SAFE),
}
NOT_IN_MODULE = {
    "under a test of an argument": "    if x:\n        return x * «json.dumps(SIZES)»",
    "after another way out": "    if x:\n        return x\n    return x * «json.dumps(SIZES)»",
    "after a way out in a loop": "    for y in x:\n        return y\n    return x * «json.dumps(SIZES)»",
    "after a question": "    assert x\n    return x * «json.dumps(SIZES)»",
    "in an elif": "    if x:\n        pass\n    elif «json.dumps(SIZES)»:\n        return x",
    "in one side of an expression": "    return x * «json.dumps(SIZES)» if x else x",
    "behind an and": "    return x and «json.dumps(SIZES)»",
    "in a loop": "    for y in x:\n        y += «json.dumps(SIZES)»",
    "in a while": "    while x:\n        x -= «json.dumps(SIZES)»",
    "in a comprehension": "    return [y * «json.dumps(SIZES)» for y in x]",
    "in its condition": "    return [y for y in x if «json.dumps(SIZES)»]",
    "in a match": "    match x:\n        case 1:\n            return x * «json.dumps(SIZES)»",
    "as a third to compare": "    return x < x < «json.dumps(SIZES)»",
    "of an argument": "    return «json.dumps(x)»",
    "random": "    return x * «random.random()»",
    "file": "    return «open('a')»",
    "for its effect": "    «zlib.compress(b'')»\n    return x",
    "written to": "    rows = «json.loads('[]')»\n    rows[0] = x\n    return rows",
    "in a try": "    try:\n        return «json.dumps(SIZES)»\n    except ValueError:\n        return x",
    "a local name": "    SIZES = x\n    return «json.dumps(SIZES)»",
}


MAY_CHANGE = {"list": "[1] * 3", "list in a tuple": "([],)", "rebound": "1\n\n\ndef g():\n    global MADE\n    MADE = 2"}


@pytest.mark.parametrize("name", MAY_CHANGE)
def test_names_of_the_module_that_may_change(name: str) -> None:
    text = f"import json\n\nMADE = {MAY_CHANGE[name]}\n\n\ndef f(x):\n    return x * «json.dumps(MADE)»\n"
    found = offered(text)
    assert found is None or found[1] is Safety.CHANGES_BEHAVIOUR


@pytest.mark.parametrize("line", ["torch.set_default_device('cuda')", "Net.from_pretrained('a')", "with torch.device('meta'):\n    f()"])
def test_tensors_where_defaults_are_set(line: str) -> None:
    found = offered(f"{HEAD}def f(x):\n    return x + {TENSOR}\n", other=f"import torch\n{line}\n")
    assert found is not None
    assert found[1] is Safety.CHANGES_BEHAVIOUR


@pytest.mark.parametrize("name", MODULE)
def test_into_the_module(name: str) -> None:
    body, line, left, safety = MODULE[name]
    assert offered(f"{HEAD}def f(x):\n{body}\n") == (f"{HEAD}{line}\n\n\ndef f(x):\n{left}\n", safety)


@pytest.mark.parametrize("name", NOT_IN_MODULE)
def test_not_into_the_module(name: str) -> None:
    assert offered(f"{HEAD}def f(x):\n{NOT_IN_MODULE[name]}\n") is None


def method(init: str, body: str, more: str = "") -> str:
    return f"{HEAD}class Net:\n    def __init__(self, names):\n        {init}\n{more}\n    def forward(self, x):\n        {body}\n"


OBJECT = {
    "plain": ("self.names = list(names)", "", Safety.SAFE),
    "from a setting": ("self.names = names.all", "", Safety.SAFE),
    "of a base class": ("pass; self.other = 1", "", Safety.CHANGES_BEHAVIOUR),
}
NOT_IN_OBJECT = {
    "set elsewhere": ("self.names = list(names)", "\n    def grow(self):\n        self.names = []\n"),
    "changed elsewhere": ("self.names = 1", "\n    def grow(self):\n        self.names += 1\n"),
    "made by a call": ("self.names = Table(names)", ""),
    "left early": ("self.names = []\n        return", ""),
}


@pytest.mark.parametrize("name", OBJECT)
def test_into_the_object(name: str) -> None:
    init, more, safety = OBJECT[name]
    wanted = method(f"{init}\n        self._key = json.dumps(self.names)", "key = self._key", more)
    assert offered(method(init, "key = «json.dumps(self.names)»", more)) == (wanted, safety)


@pytest.mark.parametrize("name", NOT_IN_OBJECT)
def test_not_into_the_object(name: str) -> None:
    init, more = NOT_IN_OBJECT[name]
    assert offered(method(init, "key = «json.dumps(self.names)»", more)) is None


GUARDED = {
    "under a test": ("if self.names is not None:\n            y = «json.dumps(self.names)»", "self.names is not None"),
    "in an else": (
        "if not self.names:\n            y = x\n        else:\n            y = «json.dumps(self.names)»",
        "not (not self.names)",
    ),
    "behind a return": ("if self.names is None:\n            return x\n        y = «json.dumps(self.names)»", "self.names is not None"),
    "behind an assert": ("assert self.names, 1\n        y = «json.dumps(self.names)»", "self.names"),
    "in an expression": ("y = x * «json.dumps(self.names)» if self.names == 1 else x", "self.names == 1"),
    "behind an or": (
        "y = x * (len(x) or 1) if self.names != 1 or not self.names else «json.dumps(self.names)»",
        "not (self.names != 1 or not self.names)",
    ),
}


@pytest.mark.parametrize("name", GUARDED)
def test_the_tests_around_it_go_with_it(name: str) -> None:
    body, tests = GUARDED[name]
    found = offered(method("self.names = names", body))
    assert found is not None
    assert f" = json.dumps(self.names) if {tests} else None\n" in found[0]
    assert found[1] is Safety.SAFE


CHANGED = {
    "in place in another method": ("\n    def grow(self):\n        self.names.append(1)\n", ""),
    "an item in another method": ("\n    def grow(self):\n        self.names[0] = 1\n", ""),
    "from outside": ("", "net.names = []\n"),
    "in place from outside": ("", "net.names.extend('a')\n"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_attributes_that_are_changed_later(name: str) -> None:
    more, other = CHANGED[name]
    found = offered(method("self.names = list(names)", "key = x * «json.dumps(self.names)»", more), other=other)
    assert found is not None
    assert found[1] is Safety.CHANGES_BEHAVIOUR


def test_numbers_of_a_tensor_that_was_handed_in() -> None:
    text = method("self.scale = names", "y = x * «self.scale.item()»")
    assert [found[1] for code in ("GB0007", "GB0124") if (found := offered(text, code))] == [Safety.SAFE, Safety.CHANGES_BEHAVIOUR]


def test_a_helper_that_is_called_under_a_test() -> None:
    text = f"{HEAD}def g():\n    return «json.dumps(SIZES)»\n\n\ndef f(x):\n    TEST\n"
    for call, wanted in (("return x * g()", True), ("return x * g() if x else x", False), ("for y in x:\n        g()", False)):
        code = text.replace("TEST", call)
        source = SourceFile(PATH, code.replace("«", "").replace("»", ""))
        inner = Span(source.position(code.index("«")), source.position(code.index("»") - 1))
        at = source.text.rindex("g()")
        stack = tuple(
            StackFrame(PATH, span.start.line, name, span=span)
            for name, span in (("f", Span(source.position(at), source.position(at + 3))), ("g", inner))
        )
        found = hoisted_value(
            Diagnostic("1", PATH, inner, Severity.WARNING, Kind.BREAK, "GB0007", "", stack=stack), FixContext({PATH: source})
        )
        assert (found is not None) is wanted, call


def test_the_object_itself_is_not_handed_on() -> None:
    assert offered(method("self.names = []", "key = «json.dumps(self)»")) is None
    assert offered(method("self.names = []", "key = «json.dumps(self.training)»")) is None
