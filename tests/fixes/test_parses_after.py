"""Whether a file parses after some edits is told from the statements that they touch, and as by parsing all of it."""

from __future__ import annotations

import ast

import pytest

from graphbreak.core.source import Edit, SourceFile, Span
from graphbreak.fixes.edits import parses_after

TEXT = 'import os\n\n\n@wraps(os)\ndef f(x):\n    if x:\n        return 1\n    return 2\n\n\ny = """\n"""; z = 3\n'
EDITS = [
    (Edit(Span.at(0, 0, 0, 0), "import torch\n"),),
    (Edit(Span.at(6, 0, 6, 0), "    "),),
    (Edit(Span.at(6, 8, 6, 16), ""),),
    (Edit(Span.at(6, 8, 6, 16), "pass"), Edit(Span.at(0, 0, 0, 0), "import torch\n")),
    (Edit(Span.at(3, 0, 4, 0), ""),),
    (Edit(Span.at(4, 0, 5, 0), ""),),
    (Edit(Span.at(11, 0, 11, 3), ""),),
    (Edit(Span.at(11, 5, 11, 10), "w = 4"), Edit(Span.at(5, 7, 5, 8), "(")),
    (Edit(Span.at(9, 0, 9, 0), "def g():\n    return 3\n"),),
    (Edit(Span.at(7, 0, 8, 0), "  return 2\n"),),
    (Edit(Span.at(12, 0, 12, 0), "def g(:\n"),),
]


@pytest.mark.parametrize("edits", EDITS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_it_says_what_the_parser_says(edits: tuple[Edit, ...], newline: str) -> None:
    source = SourceFile("m.py", TEXT.replace("\n", newline))
    assert parses_after(source, edits) == _parses(source.apply(edits).text)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
