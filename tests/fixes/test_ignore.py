"""The ignore fix: where the comment goes, and that the reader of such comments sees it there."""

from __future__ import annotations

import ast

import pytest

from graphbreak.core.comments import read_comments
from graphbreak.core.findings import Diagnostic, Kind, Severity
from graphbreak.core.ignores import with_ignores
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.ignore import ignore
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"

CASES = {
    "plain": ("x = 1\n«print(x)»\n", "x = 1\nprint(x)  # graphbreak: ignore[GB0059]\n"),
    "no line end": ("«print(x)»", "print(x)  # graphbreak: ignore[GB0059]"),
    "trailing blanks": ("«print(x)»  \t\n", "print(x)  # graphbreak: ignore[GB0059]\n"),
    "header": ("if «x.sum() > 0»:\n    y = 1\n", "if x.sum() > 0:  # graphbreak: ignore[GB0059]\n    y = 1\n"),
    "first of several lines": ("«print(\n    x,\n)»\n", "print(  # graphbreak: ignore[GB0059]\n    x,\n)\n"),
    "inside of several lines": ("f(\n    «g(x)»,\n)\n", "f(\n    g(x),  # graphbreak: ignore[GB0059]\n)\n"),
    "another comment": ("«print(x)»  # noqa\n", "print(x)  # noqa  # graphbreak: ignore[GB0059]\n"),
    "a list": ("«print(x)»  # graphbreak: ignore[GB0007] why\n", "print(x)  # graphbreak: ignore[GB0007, GB0059] why\n"),
    "a list behind a comment": ("«g()»  # a  # graphbreak: ignore[GB0007]\n", "g()  # a  # graphbreak: ignore[GB0007, GB0059]\n"),
    "an empty list": ("«print(x)»  # graphbreak: ignore[]\n", "print(x)  # graphbreak: ignore[GB0059]\n"),
    "no comment but a string": ("«print('# graphbreak: ignore[')»\n", "print('# graphbreak: ignore[')  # graphbreak: ignore[GB0059]\n"),
    "backslash": ("if x:\n    y = «g(x)» + \\\n        1\n", "if x:\n    # graphbreak: ignore[GB0059]\n    y = g(x) + \\\n        1\n"),
    "after a backslash": ("y = 1 + \\\n    «g(x)»\n", "y = 1 + \\\n    g(x)  # graphbreak: ignore[GB0059]\n"),
    "string": ('y = «g("""a\nb""")»\n', '# graphbreak: ignore[GB0059]\ny = g("""a\nb""")\n'),
    "f-string": ('y = 1, «g(f"""a\n{x}b""")»\n', '# graphbreak: ignore[GB0059]\ny = 1, g(f"""a\n{x}b""")\n'),
    "last line of a string": ('y = """a\nb""", «g()»\n', 'y = """a\nb""", g()  # graphbreak: ignore[GB0059]\n'),
    "a comment above": (
        '# graphbreak: ignore[GB0007]\ny = «g("""a\nb""")»\n',
        '# graphbreak: ignore[GB0007, GB0059]\ny = g("""a\nb""")\n',
    ),
    "wide characters": ('s = "🙂"; «print(s)»\n', 's = "🙂"; print(s)  # graphbreak: ignore[GB0059]\n'),
}

DECLINED = {
    "hidden already": "«print(x)»  # graphbreak: ignore[GB0059]\n",
    "all hidden already": "«print(x)»  # graphbreak: ignore\n",
    "a string before it on the line above": 'a = """\n"""; y = «g("""a\nb""")»\n',
    "a header over lines": 'if (\n    «g("""\n""")»\n):\n    pass\n',
}


def unmarked(text: str, newline: str = "\n", kind: Kind = Kind.BREAK, ignored: bool = False) -> tuple[SourceFile, Diagnostic]:
    text = text.replace("\n", newline)
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    return source, Diagnostic("1", PATH, span, Severity.WARNING, kind, "GB0059", "", ignored=ignored)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_comment_is_added(name: str, newline: str) -> None:
    before, after = CASES[name]
    source, diagnostic = unmarked(before, newline)
    fix = ignore(diagnostic, FixContext({PATH: source}))
    assert fix is not None
    assert fix.title == "Ignore GB0059 on this line"
    edited = source.apply(fix.edits[PATH])
    assert edited.text == after.replace("\n", newline)
    assert ast.dump(ast.parse(edited.text)) == ast.dump(ast.parse(source.text))


@pytest.mark.parametrize("name", CASES)
def test_comment_is_heard(name: str) -> None:
    source, diagnostic = unmarked(CASES[name][0])
    fix = ignore(diagnostic, FixContext({PATH: source}))
    assert fix is not None
    edit, edited = fix.edits[PATH][0], source.apply(fix.edits[PATH])
    above = edit.text.count("\n")
    start, end = diagnostic.span.start, diagnostic.span.end
    moved = Span.at(start.line + above, start.column, end.line + above, end.column)
    again = Diagnostic("1", PATH, moved, Severity.WARNING, Kind.BREAK, "GB0059", "")
    ignores = {PATH: read_comments(edited).ignores}
    assert [d.ignored for d in with_ignores([again], ignores, lambda path, code: False, lambda _: edited)] == [True]


@pytest.mark.parametrize("name", DECLINED)
def test_nothing_to_add(name: str) -> None:
    source, diagnostic = unmarked(DECLINED[name])
    assert ignore(diagnostic, FixContext({PATH: source})) is None


def test_not_for_what_was_not_analysed_or_is_hidden() -> None:
    source, diagnostic = unmarked("«def f(x)»: pass\n", kind=Kind.NOT_ANALYSED)
    assert ignore(diagnostic, FixContext({PATH: source})) is None
    source, diagnostic = unmarked("«print(x)»\n", ignored=True)
    assert ignore(diagnostic, FixContext({PATH: source})) is None
    assert ignore(diagnostic, FixContext({})) is None
