"""What is hoisted, to where, and what is not. In the sources `«...»` is the break."""

from __future__ import annotations

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Safety, Severity
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.hoisted_value import hoisted_value
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"
HEAD = "import json\nimport random\nimport zlib\n\nSIZES = (1, 2)\nTABLE = {}\n\n\n"


def offered(text: str) -> tuple[str, Safety] | None:
    """The text after the fix, and its safety; None where nothing is offered."""
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    fix = hoisted_value(Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0007", ""), FixContext({PATH: source}))
    return (source.apply(fix.edits[PATH]).text, fix.safety) if fix is not None else None


MODULE = {
    "constant": ("    return x * «json.dumps(SIZES)»", "_DUMPS = json.dumps(SIZES)", "    return x * _DUMPS", Safety.SAFE),
    "named": ("    n = len(«json.dumps(SIZES)»)\n    return n", "_N = len(json.dumps(SIZES))", "    n = _N\n    return n", Safety.SAFE),
    "may change": ("    return «json.dumps(TABLE)»", "_F = json.dumps(TABLE)", "    return _F", Safety.CHANGES_BEHAVIOUR),
    "unknown call": ("    return «zlib.compress(b'')»", "_F = zlib.compress(b'')", "    return _F", Safety.CHANGES_BEHAVIOUR),
}
NOT_IN_MODULE = {
    "of an argument": "    return «json.dumps(x)»",
    "random": "    return x * «random.random()»",
    "file": "    return «open('a')»",
    "for its effect": "    «zlib.compress(b'')»\n    return x",
    "written to": "    rows = «json.loads('[]')»\n    rows[0] = x\n    return rows",
    "in a try": "    try:\n        return «json.dumps(SIZES)»\n    except ValueError:\n        return x",
    "a local name": "    SIZES = x\n    return «json.dumps(SIZES)»",
}


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


def test_the_object_itself_is_not_handed_on() -> None:
    assert offered(method("self.names = []", "key = «json.dumps(self)»")) is None
    assert offered(method("self.names = []", "key = «json.dumps(self.training)»")) is None
