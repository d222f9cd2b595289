"""Which single function an edit is in."""

from __future__ import annotations

import pytest

from graphbreak.core.focus import edited_function
from graphbreak.core.source import SourceFile

NET = '''\
import torch


class Layer(torch.nn.Module):
    """A layer."""

    @torch.no_grad()
    def forward(self, x, scale=2):
        y = x * scale

        def inner(z):
            return z + 1

        return inner(y)

    def extra(self, x): return x


if torch.cuda.is_available():
    def helper(x):
        return x


def helper(x):
    return x - 1
'''
A, B = "/w/a.py", "/w/b.py"

FOUND = [
    ("a line more", "        y = x * scale\n", "        y = x * scale\n        print(y)\n", "Layer.forward", 6),
    ("a line less", "        y = x * scale\n", "", "Layer.forward", 6),
    ("at the end", "        return inner(y)\n", "        z = inner(y)\n        return z\n", "Layer.forward", 6),
    ("in a function within", "z + 1", "z + 2", "Layer.forward", 6),
    ("on the line of the def", "x): return x", "x): return -x", "Layer.extra", 15),
    ("below a condition", "        return x\n\n\n", "        return -x\n\n\n", "helper", 19),
    ("the last line", "x - 1", "x - 2", "helper", 23),
    ("a docstring", "        y = x * scale\n", '        """Scale it."""\n        y = x * scale\n', "Layer.forward", 6),
]
NONE = [
    ("nothing", "", ""),
    ("a comment", "y = x * scale", "y = x * scale  # twice"),
    ("spaces", "y = x * scale", "y = x  *  scale"),
    ("a default", "scale=2", "scale=3"),
    ("a default on the line of the def", "def extra(self, x): return x", "def extra(self, x=1): return x"),
    ("a decorator", "    @torch.no_grad()\n", ""),
    ("a name", "def extra", "def more"),
    ("a class's docstring", "A layer.", "The layer."),
    ("an import", "import torch\n", "import torch\nimport math\n"),
    ("a function more", "def helper(x):\n    return x - 1\n", "def helper(x):\n    return x - 1\n\n\ndef more():\n    pass\n"),
    ("a function more in a class", "    def extra", "    def more(self): pass\n\n    def extra"),
    (
        "two functions",
        "        return inner(y)\n\n    def extra(self, x): return x\n",
        "        return y\n\n    def extra(self, x): return -x\n",
    ),
    ("text that does not parse", "y = x * scale", "y = x * ("),
    ("a function that is left out of its class", "        return inner(y)\n", "        return inner(y)\n\ndef outside():\n    pass\n"),
    ("a body that ends early", "        y = x * scale\n", "        y = x * scale\n    z = 1\n"),
]


def edited(text: str, more: str = "", marked: tuple[tuple[str, int], ...] = ()) -> tuple[str, int] | None:
    now = {A: SourceFile(A, text), B: SourceFile(B, more)}
    found = edited_function({A: SourceFile(A, NET), B: SourceFile(B, "")}, now.get, marked)
    return None if found is None else (found.name, found.first_line)


def replaced(old: str, new: str) -> str:
    assert not old or NET.count(old) == 1
    return NET.replace(old, new) if old else NET


@pytest.mark.parametrize(("what", "old", "new", "name", "line"), FOUND, ids=lambda value: str(value)[:30])
def test_the_function_that_holds_all_of_an_edit(what: str, old: str, new: str, name: str, line: int) -> None:
    assert edited(replaced(old, new)) == (name, line)
    assert edited(replaced(old, new).replace("\n", "\r\n")) is None  # every line differs


@pytest.mark.parametrize(("what", "old", "new"), NONE, ids=lambda value: str(value)[:30])
def test_where_more_or_less_than_one_function_is_edited_there_is_none(what: str, old: str, new: str) -> None:
    assert edited(replaced(old, new)) is None


def test_two_edits_in_one_body_are_one_and_the_lines_are_those_of_the_new_text() -> None:
    text = NET.replace("y = x * scale", "y = x * scale + 1").replace("return inner(y)", "return inner(y) - 1")
    found = edited_function({A: SourceFile(A, NET)}, {A: SourceFile(A, text)}.get)
    assert found is not None
    assert (found.name, found.line, found.start, found.end) == ("Layer.forward", 7, 8, 13)


def test_a_function_that_is_marked_itself_is_left_to_the_whole_trace() -> None:
    text = replaced("x - 1", "x - 2")
    assert edited(text, marked=((B, 23), (A, 22))) == ("helper", 23)
    assert edited(text, marked=((A, 23),)) is None


def test_other_files_have_to_be_as_they_were() -> None:
    text = replaced("x - 1", "x - 2")
    assert edited(text, more="x = 1\n") is None
    assert edited_function({A: SourceFile(A, NET), B: SourceFile(B, "")}, {A: SourceFile(A, text)}.get) is None
