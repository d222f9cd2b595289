"""The fix for comments that ignore nothing: what goes, and what stays."""

from __future__ import annotations

import ast

import pytest
from lsprotocol import types

from graphbreak.core.comments import read_comments
from graphbreak.core.findings import Diagnostic, Kind, Safety, Severity
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes import fixes_for
from graphbreak.fixes.model import FixContext
from graphbreak.lsp.convert import Converter
from graphbreak.lsp.diagnostics import Shown

PATH = "/work/net.py"

CASES = {
    "behind code": ("y = x  «# graphbreak: ignore»\nz = y\n", "y = x\nz = y\n"),
    "with codes and a reason": ("y = x  «# graphbreak: ignore[GB0059] known»\nz = y\n", "y = x\nz = y\n"),
    "at the end of the file": ("y = x  «# graphbreak: ignore»", "y = x"),
    "trailing blanks": ("y = x  «# graphbreak: ignore»  \nz = y\n", "y = x\nz = y\n"),
    "a line of its own": ("if x:\n    «# graphbreak: ignore»\n    y = x\n", "if x:\n    y = x\n"),
    "the last line": ("y = x\n«# graphbreak: ignore»", "y = x\n"),
    "the file": ("«# graphbreak: ignore-file generated»\ny = x\n", "y = x\n"),
    "behind another comment": ("y = x  # noqa  «# graphbreak: ignore»\n", "y = x  # noqa\n"),
    "before another comment": ("y = x  «# graphbreak: ignore[GB0059] a»  # type: ignore\n", "y = x  # type: ignore\n"),
    "between comments": ("y = x  # a  «# graphbreak: ignore»  # b\n", "y = x  # a  # b\n"),
    "first code": ("y = x  # graphbreak: ignore[«GB0059», GB0170] why\n", "y = x  # graphbreak: ignore[GB0170] why\n"),
    "middle code": ("y = x  # graphbreak: ignore[GB0001 , «GB0059» ,GB0170]\n", "y = x  # graphbreak: ignore[GB0001 ,GB0170]\n"),
    "last code": ("y = x  # graphbreak: ignore[GB0170,«GB0059»]\n", "y = x  # graphbreak: ignore[GB0170]\n"),
    "no code": ("y = x  # graphbreak: ignore[GB0170, «not a code»]\n", "y = x  # graphbreak: ignore[GB0170]\n"),
    "the only code": ("y = x  # graphbreak: ignore[«GB59»]\n", "y = x\n"),
    "wide characters": ("s = '🙂'  «# graphbreak: ignore»\n", "s = '🙂'\n"),
}


def marked(text: str, newline: str = "\n") -> tuple[SourceFile, Diagnostic]:
    text = text.replace("\n", newline)
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    return source, Diagnostic("1", PATH, span, Severity.HINT, Kind.UNUSED_IGNORE, "unused-ignore", "")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_it_goes_and_the_rest_stays(name: str, newline: str) -> None:
    before, after = CASES[name]
    source, diagnostic = marked(before, newline)
    (fix,) = fixes_for(diagnostic, FixContext({PATH: source}))
    assert fix.safety is Safety.SAFE
    edited = source.apply(fix.edits[PATH])
    assert edited.text == after.replace("\n", newline)
    assert ast.dump(ast.parse(edited.text)) == ast.dump(ast.parse(source.text))
    whole = "," not in before
    assert fix.title == ("Remove this ignore comment" if whole else f"Remove `{source.slice(diagnostic.span)}` from this ignore")
    assert bool(read_comments(edited).ignores) is not whole


def test_nothing_to_remove() -> None:
    source, diagnostic = marked("y = «x»\n")
    assert fixes_for(diagnostic, FixContext({PATH: source})) == ()
    assert fixes_for(diagnostic, FixContext({})) == ()


def test_the_editor_greys_it_out() -> None:
    source, diagnostic = marked("y = x  «# graphbreak: ignore»\n")
    converter = Converter("utf-16", lambda path: source, lambda path: None, lambda path: None)
    shown = converter.to_diagnostic(Shown((diagnostic,), diagnostic.severity, diagnostic.code, diagnostic.message, ()), related=True)
    assert (shown.severity, shown.tags) == (types.DiagnosticSeverity.Hint, [types.DiagnosticTag.Unnecessary])
