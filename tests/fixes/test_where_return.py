"""Early returns, conditional expressions and checks that only raise become operations of one graph."""

from __future__ import annotations

import pytest

from branch_programs import fixed, fixes_of, in_function

RETURNS = {
    "both sides": ("if «x.sum() > 0»:\n    return x * 2\nelse:\n    return x - 1", "return torch.where(x.sum() > 0, x * 2, x - 1)"),
    "the rest": (
        "if «x.any()»:\n    return x * 2  # twice\nreturn x  # as it is",
        "# twice\nreturn torch.where(x.any(), x * 2, x)  # as it is",
    ),
    "lines in between": (
        "if not «x.any()»:\n    return x\n\ny = x.sin()\nz = y * 2\nreturn z",
        "\ny = x.sin()\nz = y * 2\nreturn torch.where(x.any(), z, x)",
    ),
    "the condition's name is given anew": (
        "y = x + 1\nif «y.any()»:\n    return x\ny = x.sin()\nreturn y",
        "y = x + 1\ncondition = y.any()\ny = x.sin()\nreturn torch.where(condition, x, y)",
    ),
    "one question behind the other": (
        "if «x.any()»:\n    return x\nif x.all():\n    return -x\nreturn x * 2",
        "return torch.where(x.any(), x, torch.where(x.all(), -x, x * 2))",
    ),
    "elif": (
        "if «x.any()»:\n    return x\nelif x.all():\n    return -x\nelse:\n    return x * 2",
        "return torch.where(x.any(), x, torch.where(x.all(), -x, x * 2))",
    ),
    "a tuple": (
        "if «x.any()»:\n    return x, x + 1\nreturn -x, x + 1",
        "condition = x.any()\nreturn torch.where(condition, x, -x), x + 1",
    ),
    "in a block": (
        "with torch.no_grad():\n    if «x.any()»:\n        return -x\n    return x",
        "with torch.no_grad():\n    return torch.where(x.any(), -x, x)",
    ),
    "a value that has no gradient": (
        "with torch.no_grad():\n    y = x * 2\nif «x.any()»:\n    return x.sin()\nreturn y",
        "with torch.no_grad():\n    y = x * 2\nreturn torch.where(x.any(), x.sin(), y)",
    ),
}


@pytest.mark.parametrize("name", RETURNS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_returns_are_joined(name: str, newline: str) -> None:
    before, after = RETURNS[name]
    wanted = in_function(after).replace("\n", newline)
    assert fixed(in_function(before), "branch", newline=newline) == (
        wanted,
        name not in ("the condition's name is given anew", "in a block", "a value that has no gradient"),
    )
    tabs = fixed(in_function(before).replace("    ", "\t"), "branch", newline=newline)
    assert tabs is not None
    assert tabs[0] == wanted.replace("    ", "\t")


NO_RETURNS = {
    "more than a return": "if «x.any()»:\n    print(x)\n    return x\nreturn -x",
    "nothing": "if «x.any()»:\n    return None\nreturn -x",
    "no return behind it": "if «x.any()»:\n    return x\nx = -x",
    "a call of the user's own in between": "if «x.any()»:\n    return x\nx = helper(x)\nreturn x",
    "an attribute in between": "if «x.any()»:\n    return x\nself.y = x\nreturn x",
    "what is returned is given anew": "y = x\nif «x.any()»:\n    return y\ny = x.sin()\nreturn y",
    "a later question that calls the user's code": "if «x.any()»:\n    return x\nif count(x) > 1:\n    return -x\nreturn x * 2",
    "what is kept for the module": "global g\nif «x.any()»:\n    return x\ng = x.sin()\nreturn -x",
    "tuples of different length": "if «x.any()»:\n    return x, x\nreturn x",
    "in a loop": "for i in range(3):\n    if «x.any()»:\n        return x\nreturn -x",
}


def test_lines_that_may_fail_are_not_safe() -> None:
    found = fixed(in_function("if «x.any()»:\n    return x\ntop = x[x > 0].max()\nreturn -x"), "branch")
    assert found is not None
    assert not found[1]


@pytest.mark.parametrize("name", NO_RETURNS)
def test_other_returns_stay(name: str) -> None:
    assert fixed(in_function(NO_RETURNS[name]), "branch") is None


EXPRESSIONS = {
    "sides alike": ("y = x * 2 if «x.mean() > 0» else x * 3", "y = torch.where(x.mean() > 0, x * 2, x * 3)", True),
    "as an argument": ("y = torch.relu(x if «x.any()» else -x)", "y = torch.relu(torch.where(x.any(), x, -x))", True),
    "one in the other": (
        "y = x if «x.any()» else -x if x.all() else x + 1",
        "y = torch.where(x.any(), x, torch.where(x.all(), -x, x + 1))",
        True,
    ),
    "negated": ("y = x if not «x.any()» else -x", "y = torch.where(x.any(), -x, x)", True),
    "a tensor that another name has": ("y = x if «x.any()» else -x\nhelper(y)", "y = torch.where(x.any(), x, -x)\nhelper(y)", False),
    "a later question that may fail": (
        "y = x if «x.any()» else -x if (x > w).any() else x + 1",
        "y = torch.where(x.any(), x, torch.where((x > w).any(), -x, x + 1))",
        False,
    ),
    "numbers": ("y = x * (2 if «x.any()» else 1)", "y = x * (torch.where(x.any(), 2, 1))", False),
    "over lines": (
        "y = (\n    x\n    if «x.any()»\n    else -x\n)",
        "y = (\n    torch.where(x.any(), x, -x)\n)",
        True,
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_are_chosen(name: str) -> None:
    before, after, safe = EXPRESSIONS[name]
    assert fixed(in_function(before + "\nreturn y"), "branch") == (in_function(after + "\nreturn y"), safe)


NO_EXPRESSIONS = {
    "a later question that calls the user's code": "y = x if «x.any()» else -x if count(x) else x + 1",
    "written to later": "y = x if «x.any()» else -x\ny += 1",
    "written to at once": "y = torch.relu_(x if «x.any()» else -x)",
    "written to by a view": "y = (x if «x.any()» else -x).view(-1)\ny[0] = 1",
}


@pytest.mark.parametrize("name", NO_EXPRESSIONS)
def test_other_expressions_stay(name: str) -> None:
    assert fixed(in_function(NO_EXPRESSIONS[name] + "\nreturn y"), "branch") is None


CHECKS = {
    "message": ('if «(x < 0).any()»:\n    raise ValueError("bad")', 'torch._assert_async(~(x < 0).any(), "bad")'),
    "negated": ('if not «x.isfinite().all()»:\n    raise ValueError("bad")', 'torch._assert_async(x.isfinite().all(), "bad")'),
    "a setting first": (
        'if x is not None and «x.max() >= self.config.size»:  # too large\n    raise ValueError(f"below {self.config.size}")',
        'if x is not None:\n    # too large\n    torch._assert_async(~(x.max() >= self.config.size), f"below {self.config.size}")',
    ),
    "a class": ("if «x.any()»:\n    raise ValueError", 'torch._assert_async(~x.any(), "ValueError")'),
    "no message": ("if «x.any()»:\n    raise errors.Bad()", 'torch._assert_async(~x.any(), "errors.Bad")'),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_go_into_the_graph(name: str) -> None:
    before, after = CHECKS[name]
    assert fixed(in_function(before + "\nreturn x"), "branch") == (in_function(after + "\nreturn x"), False)


def test_a_check_says_which_exception_it_raises() -> None:
    titles = [
        fixes_of(in_function(f'if «x.any()»:\n    raise {name}("no")'), "branch")[1][0].title for name in ("KeyError", "RuntimeError")
    ]
    assert [title.partition("raises ")[2] for title in titles] == ["RuntimeError, not KeyError)", "RuntimeError)"]


NO_CHECKS = {
    "a value in the message": 'if «x.any()»:\n    raise ValueError(f"got {x.max()}")',
    "more arguments": 'if «x.any()»:\n    raise ValueError("got", 1)',
    "something before": 'if «x.any()»:\n    y = 1\n    raise ValueError("got")',
    "else": 'if «x.any()»:\n    raise ValueError("got")\nelse:\n    x = helper(x)',
    "raised again": "if «x.any()»:\n    raise",
}


@pytest.mark.parametrize("name", NO_CHECKS)
def test_other_checks_stay(name: str) -> None:
    assert fixed(in_function(NO_CHECKS[name] + "\nreturn x"), "branch") is None
