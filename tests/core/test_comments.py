"""How `# graphbreak:` comments are read: example calls, ignored breaks, and what is only text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphbreak.core.comments import Comments, read_comments
from graphbreak.core.source import SourceFile


def comments_of(text: str) -> Comments:
    return read_comments(SourceFile("/w/model.py", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# graphbreak: f(1)\ndef f(x): ...", [("f(1)", 1)], id="above a function"),
        pytest.param("#graphbreak:f(1)\ndef f(x): ...", [("f(1)", 1)], id="without blanks"),
        pytest.param("##  graphbreak:   f( 1 )  \ndef f(x): ...", [("f( 1 )", 1)], id="with many blanks"),
        pytest.param("# graphbreak: f(1)\n# graphbreak: f(2)\n@c\ndef f(x): ...", [("f(1)", 2), ("f(2)", 2)], id="several"),
        pytest.param("# graphbreak: f(1)\n# about f\n    # more\ndef f(x): ...", [("f(1)", 3)], id="other comments between"),
        pytest.param("# graphbreak: f(1)\n\ndef f(x): ...", [("f(1)", 1)], id="a blank line is what it speaks of"),
        pytest.param("if a:\n# graphbreak: f(1)\n  def f(x): ...", [("f(1)", 2)], id="any indentation"),
        pytest.param("x = 1\n# graphbreak: f(1)", [("f(1)", 2)], id="at the end of the file"),
        pytest.param("x = 1  # graphbreak: x(1)", [("x(1)", 0)], id="behind code"),
        pytest.param("# graphbreak: f('#', 1)  # a remark\nf = 1", [("f('#', 1)", 1)], id="a remark behind the expression"),
        pytest.param("# graphbreak: Net(32)(torch.randn(4, 32))\nf = 1", [("Net(32)(torch.randn(4, 32))", 1)], id="two calls"),
        pytest.param("# graphbreak: ignored(1)\nf = 1", [("ignored(1)", 1)], id="a name that begins like a reserved word"),
        pytest.param("# graphbreak: ignore(1)\nf = 1", [("ignore(1)", 1)], id="a function of a reserved name"),
        pytest.param("# graphbreak: f('é')\nf = 1", [("f('é')", 1)], id="not ASCII"),
        pytest.param("x = '''\n# graphbreak: f(1)\n'''", [], id="in a string"),
        pytest.param("x = '# graphbreak: f(1)'", [], id="in a short string"),
        pytest.param("# see graphbreak: f(1)\nf = 1", [], id="in prose"),
        pytest.param("# noqa  # graphbreak: f(1)\nf = 1", [], id="behind another remark"),
        pytest.param(
            "def f(:\n  '''\n  # graphbreak: no(1)\n  '''\n  x = (\n# graphbreak: g(1)\ng = 1", [("g(1)", 6)], id="beside a syntax error"
        ),
    ],
)
def test_example_calls(text: str, expected: list[tuple[str, int]]) -> None:
    directives = comments_of(text).directives
    assert [(directive.expression, directive.target_line) for directive in directives] == expected
    assert [directive.error for directive in directives] == [""] * len(expected)


def test_the_span_of_an_example_call_is_the_expression() -> None:
    source = SourceFile("/w/model.py", "é = 1\r\n  # graphbreak:  f('ü')  # remark\r\ndef f(x): ...")
    (directive,) = read_comments(source).directives
    assert source.slice(directive.span) == directive.expression == "f('ü')"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("# graphbreak: f(1", "This is not a Python expression: '(' was never closed."),
        ("# graphbreak: x = 1", "This is not a Python expression:"),
        ("# graphbreak: see below", "This is not a Python expression: invalid syntax."),
        ("# graphbreak:", "An example call is missing after `graphbreak:`."),
        ("# graphbreak: " + "(" * 3000, "This is not a Python expression: too many nested parentheses."),
        ("# graphbreak: ignore[GB0059", "This is not a Python expression: '[' was never closed."),
    ],
)
def test_what_is_no_expression_keeps_its_error(text: str, error: str) -> None:
    (directive,) = comments_of(text).directives
    assert directive.error.startswith(error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("f()  # graphbreak: ignore", ((), "", 0), id="its own line"),
        pytest.param("f()  # graphbreak: ignore[GB0059]", (("GB0059",), "", 0), id="one code"),
        pytest.param("f()  # graphbreak: ignore[GB0059, recompile] slow", (("GB0059", "recompile"), "slow", 0), id="codes and a reason"),
        pytest.param("f()  # graphbreak: ignore: known, see #12", ((), "known, see #12", 0), id="a reason alone"),
        pytest.param("f()  #graphbreak:ignore [ GB0059 ]", (("GB0059",), "", 0), id="blanks"),
        pytest.param("f()  # noqa: E501  # graphbreak: ignore[GB0059] a b", (("GB0059",), "a b", 0), id="behind another remark"),
        pytest.param("f()  # graphbreak: ignore[GB0059] a b  # noqa: E501", (("GB0059",), "a b", 0), id="before another remark"),
        pytest.param("# graphbreak: ignore\n\n# more\nf()", ((), "", 3), id="the next code line"),
        pytest.param("g(\n    # graphbreak: ignore\n    f(),\n)", ((), "", 2), id="the next line of a statement"),
        pytest.param("f()\n# graphbreak: ignore", ((), "", 2), id="nothing below"),
        pytest.param("# graphbreak: ignore-file", ((), "", None), id="the file"),
        pytest.param("f()  # graphbreak: ignore-file generated", ((), "generated", None), id="the file, with a reason"),
        pytest.param("# graphbreak: ignore-file[GB0059] generated", (("GB0059",), "generated", None), id="one code in the file"),
        pytest.param("x = (\nf()  # graphbreak: ignore", ((), "", 1), id="beside a syntax error"),
    ],
)
def test_ignored_breaks(text: str, expected: tuple[tuple[str, ...], str, int | None]) -> None:
    comments = comments_of(text)
    (ignore,) = comments.ignores
    assert (ignore.codes, ignore.reason, ignore.line) == expected
    assert comments.directives == ()


def test_the_span_of_an_ignore_is_its_comment() -> None:
    source = SourceFile("/w/model.py", "f('é')  # noqa  # graphbreak: ignore[GB0059] why  # type: ignore")
    (ignore,) = read_comments(source).ignores
    assert source.slice(ignore.span) == "# graphbreak: ignore[GB0059] why"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["# graphbreak: ", "ignore", "[", "]", "-file", "f(1)", "#", "'", '"""', "\n", "\r", "\\", "\0", " ", "é", "\ud800", "("]
        )
    )
)
def test_any_comment_is_read_without_raising(parts: list[str]) -> None:
    text = "".join(parts)
    source = SourceFile("/w/model.py", text)
    comments = read_comments(source)
    for directive in comments.directives:
        assert 0 <= directive.target_line <= len(source.lines)
        assert len(source.slice(directive.span)) == len(directive.expression)
    for ignore in comments.ignores:
        assert source.slice(ignore.span).startswith("#")
