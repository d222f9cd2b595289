"""A loop that ends early goes on with values that no longer change; a mask is kept where it masks nothing."""

from __future__ import annotations

import pytest

from branch_programs import fixed, in_function

LOOPS = {
    "break": (
        "for i in range(5):\n    if «x.norm() < 1»:\n        break\n    x = x / 2  # half",
        "for i in range(5):\n    # half\n    x = torch.where(x.norm() < 1, x, x / 2)",
    ),
    "negated": (
        "for i in range(n):\n    if not «x.any()»:\n        break\n    x = x * i",
        "for i in range(n):\n    x = torch.where(x.any(), x * i, x)",
    ),
    "two names": (
        "y = x.sin()\nfor i in range(5):\n    if «x.norm() < 1»:\n        break\n    x = x / 2\n    y = y + x",
        ("y = x.sin()\nfor i in range(5):\n    condition = x.norm() < 1\n    x = torch.where(condition, x, x / 2)\n"
        "    y = torch.where(condition, y, y + x)"),
    ),
    "while": (
        "step = 0\nwhile step < 5 and «x.norm() > 1»:\n    x = x / 2\n    step += 1",
        "for step in range(5):\n    x = torch.where(x.norm() > 1, x / 2, x)",
    ),
    "while, the bound last": (
        "step = 0\nwhile «x.norm() > 1» and step < self.most:  # so often\n    x = x / 2\n    step += 1",
        "for step in range(self.most):  # so often\n    x = torch.where(x.norm() > 1, x / 2, x)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_rounds_are_done(name: str, newline: str) -> None:
    before, after = LOOPS[name]
    wanted = in_function(after + "\nreturn x", "x, n, self").replace("\n", newline)
    assert fixed(in_function(before + "\nreturn x", "x, n, self"), "branch", newline=newline) == (wanted, name != "two names")


NO_LOOPS = {
    "no bound": "while «x.norm() > 1»:\n    x = x / 2",
    "over something else": "for y in x:\n    if «x.norm() < 1»:\n        break\n    x = x / 2",
    "asked for the round": "for i in range(5):\n    if «x.norm() < i»:\n        break\n    x = x / 2",
    "asked later": "for i in range(5):\n    x = x / 2\n    if «x.norm() < 1»:\n        break",
    "another end": "for i in range(5):\n    if «x.norm() < 1»:\n        break\n    if n:\n        break\n    x = x / 2",
    "else": "for i in range(5):\n    if «x.norm() < 1»:\n        break\n    x = x / 2\nelse:\n    x = -x",
    "the round is read later": "for i in range(5):\n    if «x.norm() < 1»:\n        break\n    x = x / 2\nx = x * i",
    "the count is read later": "step = 0\nwhile step < 5 and «x.norm() > 1»:\n    x = x / 2\n    step += 1\nx = x * step",
    "another start": "step = n\nwhile step < 5 and «x.norm() > 1»:\n    x = x / 2\n    step += 1",
    "a bound that changes": "step = 0\nwhile step < n and «x.norm() > 1»:\n    x = x / 2\n    step += 1",
    "prints": "for i in range(5):\n    if «x.norm() < 1»:\n        break\n    print(x)",
    "random": "for i in range(5):\n    if «torch.rand(()).sum() < 1»:\n        break\n    x = x / 2",
    "a round that the object keeps": "for self.i in range(5):\n    if «x.norm() < 1»:\n        break\n    x = x / 2",
    "a round that the module keeps": "global i\nfor i in range(5):\n    if «x.norm() < 1»:\n        break\n    x = x / 2",
    "a value that the module keeps": "global w\nfor i in range(5):\n    if «x.norm() < 1»:\n        break\n    w = x / 2",
    "written to by another name": "y = x\nfor i in range(5):\n    if «x.norm() < 1»:\n        break\n    x = x / 2\ny += 1",
    "not bound before": "for i in range(5):\n    if «x.norm() < 1»:\n        break\n    y = x / 2\nx = y",
}


@pytest.mark.parametrize("name", NO_LOOPS)
def test_other_loops_stay(name: str) -> None:
    assert fixed(in_function(NO_LOOPS[name] + "\nreturn x", "x, n, self"), "branch") is None


MASKS = {
    "any": ("m = x.eq(0)\nif not «m.any()»:  # none\n    m = None\nreturn m", "m = x.eq(0)\n# none\nreturn m"),
    "all": ("if «torch.all(m == 1)»:\n    m = None\nreturn m", "return m"),
    "of another": ("if «x.all()»:\n    m = None\nreturn m", None),
    "else": ("if «m.all()»:\n    m = None\nelse:\n    m = -m\nreturn m", None),
    "elif": ("if m is None:\n    x = x + 1\nelif «m.all()»:\n    m = None\nreturn m", None),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_is_kept(name: str) -> None:
    before, after = MASKS[name]
    assert fixed(in_function(before, "x, m"), "branch") == (None if after is None else (in_function(after, "x, m"), False))
