"""What is offered in a `# graphbreak:` comment. `|` is the cursor."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.core.completion import Completion, CompletionKind, completions
from graphbreak.core.marks import Mark
from graphbreak.core.parameters import filled
from graphbreak.core.source import Edit, SourceFile

TEXT = """\
import torch
from torch import nn as layers
scale = 2
@@
def score(x: torch.Tensor, n: int, *, mask, flag=False):
    return x


class Net(layers.Module):
    def __init__(self, dim, depth=2):
        pass

    {inner}
    def forward(self, x):
        return x
"""


def offered(comment: str, text: str = TEXT, inputs: str = "", guess: str = "") -> list[Completion]:
    """What is offered at the `|` of a comment in place of `@@`, or of `{inner}` where the text has its `@@` not."""
    text = text.replace("@@", comment).replace("{inner}", "pass" if "|" in text.replace("{inner}", "") else comment)
    before, _, after = text.partition("|")
    source = SourceFile("/w/a.py", before + after)
    asked: list[str] = []

    def known(mark: Mark) -> str:
        asked.append(mark.name)
        return inputs

    return completions(source, source.position(len(before)), known, lambda mark: guess)


def labels(found: list[Completion], kind: CompletionKind) -> list[str]:
    return [one.label for one in found if one.kind is kind]


SCORE = "score(torch.randn(2, 8), 2, mask=torch.ones(2, 8, dtype=torch.bool))"


@pytest.mark.parametrize("comment", ["# graphbreak: |", "# graphbreak: sc|", "# graphbreak: |score(1)", "#graphbreak:  |  "])
def test_the_call_of_the_function_below_is_offered(comment: str) -> None:
    found = offered(comment)
    assert labels(found, CompletionKind.CALL) == [SCORE]
    assert [SCORE[start:end] for start, end in found[0].holes] == ["torch.randn(2, 8)", "2", "torch.ones(2, 8, dtype=torch.bool)"]


def test_a_method_is_called_on_an_instance_with_arguments_of_its_own() -> None:
    text = TEXT.replace("@@\n", "")
    (call,) = [one for one in offered("# graphbreak: |", text) if one.kind is CompletionKind.CALL]
    assert call.text == "Net(8)(torch.randn(2, 8))"
    assert [call.text[start:end] for start, end in call.holes] == ["8", "torch.randn(2, 8)"]


def test_what_a_trace_has_shown_comes_first_and_a_guess_before_nothing() -> None:
    found = offered("# graphbreak: |", inputs="x: f32[4], n: 3, mask: bool[4]", guess="score(torch.randn(5), 1, mask=None)")
    assert labels(found, CompletionKind.CALL) == [
        "score(torch.randn(4), n=3, mask=torch.zeros(4, dtype=torch.bool))",
        "score(torch.randn(5), 1, mask=None)",
        SCORE,
    ]


def test_all_that_is_written_is_replaced() -> None:
    text = TEXT.replace("@@", "# graphbreak: score(torch.ones(1), 2)  ").replace("{inner}", "pass")
    source = SourceFile("/w/a.py", text)
    found = completions(source, source.position(text.index("score(") + 3), lambda mark: "", lambda mark: "")
    call = next(one for one in found if one.kind is CompletionKind.CALL)
    assert source.apply([Edit(call.span, call.text)]).line(3) == f"# graphbreak: {SCORE}  "


def test_right_behind_the_colon_a_space_comes_first() -> None:
    call = offered("# graphbreak:|")[0]
    assert call.text == " " + SCORE
    assert call.text[slice(*call.holes[0])] == "torch.randn(2, 8)"


@pytest.mark.parametrize(
    ("comment", "names"),
    [
        ("# graphbreak: score(|", ["torch", "layers", "scale", "score", "Net"]),
        ("# graphbreak: score(la|", ["layers"]),
        ("# graphbreak: score(torch.rand|", ["randn", "rand", "randint", "randn_like"]),
        ("# graphbreak: score(torch.randn(2), n=sc|)", ["scale", "score"]),
        ("# graphbreak: score(layers.|", []),
    ],
)
def test_inside_an_expression_names_of_the_module_are_offered(comment: str, names: list[str]) -> None:
    found = offered(comment)
    assert labels(found, CompletionKind.NAME) == names
    assert len(found) == len(names)


def test_the_reserved_words_are_offered_where_they_can_stand() -> None:
    assert labels(offered("# graphbreak: |"), CompletionKind.WORD) == ["ignore", "ignore[GB0059]", "ignore-file"]
    assert labels(offered("# graphbreak: ignore-|"), CompletionKind.WORD) == ["ignore-file"]
    (code,) = [one for one in offered("# graphbreak: |") if one.label == "ignore[GB0059]"]
    assert code.text[slice(*code.holes[0])] == "GB0059"


@pytest.mark.parametrize("comment", ["# a comment |", "x = '# graphbreak: |'", "# graphbreak|: score(1)", "|# graphbreak: "])
def test_nothing_is_offered_elsewhere(comment: str) -> None:
    assert offered(comment) == []


def test_above_nothing_there_is_no_call() -> None:
    assert labels(offered("# graphbreak: |\n\n"), CompletionKind.CALL) == []


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("self, x", ["torch.randn(2, 8)"]),
        ("ids, mask, img", ["torch.randint(10, (2, 8))", "torch.ones(2, 8, dtype=torch.bool)", "torch.randn(2, 3, 16, 16)"]),
        ("a: int, b: float, c: bool, d: str", ["2", "0.5", "True", '""']),
        ("a: 'torch.Tensor', b: Optional[Tensor], c: list[Tensor]", ["torch.randn(2, 8)", "None", "[torch.randn(2, 8)]"]),
        ('x: Float[Tensor, "b n"], i: Int[Tensor, "b"]', ["torch.randn(2, 8)", "torch.randint(10, (2, 8))"]),
        ("x: Config, n=1", ["..."]),
        ("x, *xs, k, m=2, **more", ["torch.randn(2, 8)", "k=2"]),
        ("", []),
    ],
)
def test_each_parameter_gets_something_of_its_kind(parameters: str, arguments: list[str]) -> None:
    function = ast.parse(f"def f({parameters}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert filled(function.args) == arguments
    ast.parse(f"f({', '.join(arguments)})")


@given(st.text(alphabet="# graphbreak:fx(),.[]'\\\n\"", max_size=40), st.integers(0, 40))
def test_any_text_can_be_completed(comment: str, at: int) -> None:
    source = SourceFile("/w/a.py", f"import torch\n# graphbreak: {comment}\ndef f(x): pass\n")
    completions(source, source.position(min(at + 13, len(source.text))), lambda mark: "", lambda mark: "")
