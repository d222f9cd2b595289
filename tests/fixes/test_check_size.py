"""What a branch asks of a number that depends on data is taken for granted."""

from __future__ import annotations

import pytest

from branch_programs import fixed, in_function

CONTEXT = "attempted to jump with SymNodeVariable()"
GRANTED = {
    "a number": ("n = x.item()\nif «n > 2»:\n    raise E\nreturn x", "torch._check(n <= 2)"),
    "a size": ("if «x.shape[0] == y.size(1) + 1»:\n    return y\nreturn x", "torch._check(x.shape[0] != y.size(1) + 1)"),
    "in a block": ("for i in y:\n    if «len(y) <= i»:\n        break\nreturn x", "torch._check(len(y) > i)"),
}
DECLINED = {
    "another branch": "if x is y:\n    pass\nelif «n > 2»:\n    return y\nreturn x",
    "a call": "if «f(x) > 2»:\n    return y\nreturn x",
    "two at once": "if «0 < n < 2»:\n    return y\nreturn x",
    "a loop": "while «n > 2»:\n    n = n - 1\nreturn x",
    "over lines": "if (\n    «n\n    > 2»\n):\n    return y\nreturn x",
}


@pytest.mark.parametrize("name", GRANTED)
def test_the_side_that_did_not_run_is_excluded(name: str) -> None:
    body, check = GRANTED[name]
    found = fixed(in_function(body), "check", context=CONTEXT)
    assert found is not None
    lines = in_function(body).replace("«", "").replace("»", "").splitlines()
    branch = next(number for number, line in enumerate(lines) if line.lstrip().startswith("if "))
    own = lines[branch][: len(lines[branch]) - len(lines[branch].lstrip())]
    assert found == ("\n".join([*lines[:branch], own + check, *lines[branch:]]) + "\n", False)


@pytest.mark.parametrize("name", DECLINED)
def test_what_is_no_plain_comparison_of_sizes_stays(name: str) -> None:
    assert fixed(in_function(DECLINED[name]), "check", context=CONTEXT) is None


def test_a_tensor_is_no_number() -> None:
    assert fixed(in_function(GRANTED["a number"][0]), "check", context="attempted to jump with TensorVariable()") is None
