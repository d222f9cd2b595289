"""Questions that only bound a value. In the sources `«...»` is the break."""

from __future__ import annotations

import pytest

from branch_programs import fixes_of, in_function
from graphbreak.core.findings import Safety

INPUTS = "x: f32[4], t: f32[], n: i64[]"
HEAD = "import torch\n\n\n"


def clamped(body: str, newline: str = "\n") -> str | None:
    """The body after the fix; None where another fix is offered, or none."""
    source, fixes = fixes_of(in_function(body, "x, t, n"), "branch", inputs=INPUTS, newline=newline)
    if not fixes or "clamp(" not in fixes[0].title:
        return None
    assert fixes[0].safety is Safety.CHANGES_BEHAVIOUR
    return source.apply(fixes[0].edits[source.path]).text


BOUNDED = {
    "above": ("if «t > 10»:\n    t = 10\nreturn x / t", "t = t.clamp(max=10)\nreturn x / t"),
    "below": ("s = t + x\nif «s <= -1.5»:\n    s = -1.5\nreturn x / s", "s = t + x\ns = s.clamp(min=-1.5)\nreturn x / s"),
    "the other way round": ("if «10 < t»:\n    t = 10\nreturn x / t", "t = t.clamp(max=10)\nreturn x / t"),
    "a number read": ("if «t.item()» > 10:\n    t = 10\nreturn x / t", "t = t.clamp(max=10)\nreturn x / t"),
    "both": ("if «t > 1»:\n    t = 1\nelif t < 0:\n    t = 0\nreturn x / t", "t = t.clamp(min=0, max=1)\nreturn x / t"),
    "whole numbers": ("if «n > 3»:\n    n = 3\nreturn x * n", "n = n.clamp(max=3)\nreturn x * n"),
    "computed": ("s = x.sum()\nif «s > 10»:\n    s = 10.0\nreturn x / s", "s = x.sum()\ns = s.clamp(max=10.0)\nreturn x / s"),
    "comment": ("if «t > 10»:  # too large\n    t = 10\nreturn x / t", "# too large\nt = t.clamp(max=10)\nreturn x / t"),
    "expression": ("return x / (10.0 if «t > 10» else t)", "return x / (t.clamp(max=10.0))"),
    "expression of an operation": ("t = 0.5 if «x.sum() < 0.5» else x.sum()\nreturn t", "t = x.sum().clamp(min=0.5)\nreturn t"),
}
OTHER = {
    "another number": "if «t > 10»:\n    t = 9\nreturn x / t",
    "another name": "if «t > 10»:\n    n = 10\nreturn x / n",
    "the wrong side": "return x / (t if «t > 10» else 10)",
    "what is no number would be bounded": "return x / (t if «t < 10» else 10)",
    "a fraction for whole numbers": "if «n > 3»:\n    n = 3.5\nreturn x * n",
    "floating for whole numbers": "if «n > 3»:\n    n = 3.0\nreturn x * n",
    "a tensor": "if «t > x.sum()»:\n    t = x.sum()\nreturn x / t",
    "an else": "if «t > 10»:\n    t = 10\nelse:\n    t = t + 1\nreturn x / t",
    "more": "if «t > 10»:\n    t = 10\n    x = x + 1\nreturn x / t",
    "a parameter that holds a fraction afterwards": "if «t > 10»:\n    t = 10.0\nreturn x / t",
    "the same side twice": "if «t > 10»:\n    t = 10\nelif t > 5:\n    t = 5\nreturn x / t",
    "bounds that cross": "if «t > 0»:\n    t = 0\nelif t < 1:\n    t = 1\nreturn x / t",
    "equal": "if «t == 10»:\n    t = 10\nreturn x / t",
    "an elif": "if n is None:\n    t = t + 1\nelif «t > 10»:\n    t = 10\nreturn x / t",
    "two questions": "if «t > 10» and x is not None:\n    t = 10\nreturn x / t",
}


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_bounded(name: str, newline: str) -> None:
    before, after = BOUNDED[name]
    assert clamped(before, newline) == (HEAD + in_function(after, "x, t, n")).replace("\n", newline)


@pytest.mark.parametrize("name", OTHER)
def test_questions_that_are_others(name: str) -> None:
    assert clamped(OTHER[name]) is None
