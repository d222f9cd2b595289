"""An `if` whose sides only assign names becomes a choice of values."""

from __future__ import annotations

import pytest

from branch_programs import fixed, in_function

SAFE = {
    "two sides": (
        "y = x.sin()\nif «y.sum() > 0»:\n    y = y * 2\nelse:\n    y = y - 1",
        "y = x.sin()\ny = torch.where(y.sum() > 0, y * 2, y - 1)",
    ),
    "no else": ("if «x.sum() > 0»:\n    x = x * 2", "x = torch.where(x.sum() > 0, x * 2, x)"),
    "turned round": ("if «x.sum() > 0»:\n    x = x.flip(-1)", "x = torch.where(x.sum() > 0, x.flip(-1), x)"),
    "negated": ("if not «x.any()»:\n    x = x + 1", "x = torch.where(x.any(), x, x + 1)"),
    "elif": (
        "if «x.sum() > 0»:\n    y = x * 2\nelif x.sum() < -1:\n    y = x * 3\nelse:\n    y = x",
        "y = torch.where(x.sum() > 0, x * 2, torch.where(x.sum() < -1, x * 3, x))",
    ),
    "the elif alone": (
        "if n > 1:\n    y = x\nelif «x.sum() < -1»:\n    y = x * 3\nelse:\n    y = x",
        "if n > 1:\n    y = x\nelse:\n    y = torch.where(x.sum() < -1, x * 3, x)",
    ),
    "two conditions": (
        "if «x.sum() > 0» and x.mean() < 5:\n    x = -x",
        "x = torch.where(torch.logical_and(x.sum() > 0, x.mean() < 5), -x, x)",
    ),
    "a chain": ("if «0 < x.sum() < 5»:\n    x = -x", "x = torch.where(torch.logical_and(0 < x.sum(), x.sum() < 5), -x, x)"),
    "not one of two": ("if «x.any()» or not x.all():\n    x = -x", "x = torch.where(torch.logical_or(x.any(), ~x.all()), -x, x)"),
    "truth of a number": ("if «x.sum()»:\n    x = -x", "x = torch.where(x.sum() != 0, -x, x)"),
    "builtin any": ("if «any(x > 0)»:\n    x = -x", "x = torch.where((x > 0).any(), -x, x)"),
    "item": ("if «x.sum().item()» > 0.5:\n    x = -x", "x = torch.where(x.sum() > 0.5, -x, x)"),
    "several names": (
        "a = x.sin()\nb = x.cos()\nif «x.sum() > 0»:\n    a = a * 2\n    b = a + b\n",
        "a = x.sin()\nb = x.cos()\ncondition = x.sum() > 0\na = torch.where(condition, a * 2, a)\nb = torch.where(condition, a + b, b)\n",
    ),
    "a helping name": (
        "if «torch.isinf(x).any()»:\n    top = torch.finfo(x.dtype).max\n    x = x.clamp(min=-top, max=top)",
        "condition = torch.isinf(x).any()\ntop = torch.finfo(x.dtype).max\nx = torch.where(condition, x.clamp(min=-top, max=top), x)",
    ),
    "a setting first": (
        "if x.dtype == torch.float32 and «(x > 9).any()»:\n    x = x.clamp(max=9)",
        "if x.dtype == torch.float32:\n    x = torch.where((x > 9).any(), x.clamp(max=9), x)",
    ),
    "comments": (
        "if «x.sum() > 0»:  # positive\n    # doubled\n    x = x * 2",
        "# positive\n# doubled\nx = torch.where(x.sum() > 0, x * 2, x)",
    ),
    "a setting beside it": ("if «x.max() >= self.config.size»:\n    x = -x", "x = torch.where(x.max() >= self.config.size, -x, x)"),
    "in a loop": (
        "for i in range(3):\n    if «x.sum() > i»:\n        x = x * 2",
        "for i in range(3):\n    x = torch.where(x.sum() > i, x * 2, x)",
    ),
    "a side for values that are not finite": (
        "if «torch.isfinite(x).all()»:\n    x = x * 2",
        "x = torch.where(torch.isfinite(x).all(), x * 2, x)",
    ),
    "a check of values above": (
        "assert not x.isnan().any()\nif «x.sum() > 0»:\n    x = x * x",
        "assert not x.isnan().any()\nx = torch.where(x.sum() > 0, x * x, x)",
    ),
    "an elif that reads a number": (
        "if «x.sum() > 0»:\n    x = x * 2\nelif x.mean().item() < -1:\n    x = -x",
        "x = torch.where(x.sum() > 0, x * 2, torch.where(x.mean() < -1, -x, x))",
    ),
    "written to, and the function's own": (
        "x = x.sin()\nif «x.sum() > 0»:\n    x = x * 2\nhelper(x)",
        "x = x.sin()\nx = torch.where(x.sum() > 0, x * 2, x)\nhelper(x)",
    ),
    "written to before": (
        "x.add_(1)\ny = x\nif «x.sum() > 0»:\n    y = x * 2",
        "x.add_(1)\ny = x\ny = torch.where(x.sum() > 0, x * 2, y)",
    ),
    "another tensor is written to": (
        "w = x.clone()\nif «x.sum() > 0»:\n    x = x * 2\nw += 1\nw[0] = 2",
        "w = x.clone()\nx = torch.where(x.sum() > 0, x * 2, x)\nw += 1\nw[0] = 2",
    ),
    "augmented": ("y = x * 2\nif «y.sum() > 0»:\n    y += x", "y = x * 2\ny = torch.where(y.sum() > 0, y + x, y)"),
}


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_both_sides_are_computed(name: str, newline: str) -> None:
    before, after = SAFE[name]
    wanted = in_function(after + "\nreturn x").replace("\n", newline)
    assert fixed(in_function(before + "\nreturn x"), "branch", newline=newline) == (wanted, True)
    tabs = fixed(in_function(before + "\nreturn x").replace("    ", "\t"), "branch", newline=newline)
    assert tabs == (wanted.replace("    ", "\t"), True)


UNSURE = {
    "another shape": "if «x.sum() > 0»:\n    x = x + w",
    "a steep side": "if «x.sum() > 0»:\n    x = x.sqrt()",
    "division by a tensor": "if «x.sum() > 0»:\n    x = w / x\nelse:\n    x = w * x",
    "another type": "if «x.sum() > 0»:\n    y = x > 0\nelse:\n    y = x",
    "no gradient on one side": "if «x.sum() > 0»:\n    x = torch.zeros_like(x)",
    "numbers": "if «x.sum() > 0»:\n    s = 2.0\nelse:\n    s = 1.0",
    "a condition with dimensions": "if «x > 0»:\n    w = w * 2",
    "shapes that may not be equal": "if «torch.equal(x, w)»:\n    x = -x",
    "a helping name that may fail": "if «x.any()»:\n    top = x[x > 0].max()\n    x = x * 2",
    "another type under autocast": "if «x.any()»:\n    x = x.softmax(-1)",
    "a side that keeps its gradient": "with torch.no_grad():\n    if «x.any()»:\n        x = x * 2",
    "a scope that may do anything": "with scope():\n    if «x.any()»:\n        x = x * 2",
    "an elif that asks the user's own object": "if «x.any()»:\n    x = x * 2\nelif x.sum() > self.top:\n    x = -x",
    "an elif that may fail": "if «x.any()»:\n    x = x * 2\nelif (x > w).any():\n    x = -x",
    "an elif that divides": "if «x.any()»:\n    x = x * 2\nelif x.sum() > 1 / n:\n    x = -x",
    "an elif of what may have no value": "if n:\n    v = x.sin()\nif «x.any()»:\n    x = x * 2\nelif v.any():\n    x = -x",
    "a side of what may have no value": "if n:\n    v = x.sin()\nif «x.any()»:\n    y = v * 2\nelse:\n    y = v",
    "a second question that may fail": "if «x.any()» and (x > w).any():\n    x = -x",
    "passed to a function that may write": "if «x.any()»:\n    x = x * 2\nx = helper(x)",
    "another name passed to a function": "y = x\nif «x.any()»:\n    y = x * 2\nz = y.view(-1)\nhelper(z)",
    "passed to a module that may write": "if «x.any()»:\n    x = x * 2\nx = self.act(x)",
    "used by a function inside": "if «x.any()»:\n    x = x * 2\n\ndef later():\n    x.add_(1)",
    "a slope that is infinite where the other side is for it": "if «torch.isfinite(x).all()»:\n    x = x * x",
    "the same by a name": "fine = x.isnan().any()\nif «fine»:\n    x = x.abs()",
    "the same by comparing with itself": "if «(x == x).all()»:\n    x = x.sin()",
    "the same by comparing with infinity": 'if «(x.abs() < float("inf")).all()»:\n    x = torch.mul(x, x)',
    "the same by a large number": "if «x.abs().max() < 1e4»:\n    x = x ** 2",
    "a number that rounds": "if «x.sum().item()» > 0.1:\n    x = -x",
}


@pytest.mark.parametrize("name", UNSURE)
def test_it_says_so_where_it_cannot_know(name: str) -> None:
    found = fixed(in_function(UNSURE[name] + "\nreturn x", "x, w, n, self"), "branch")
    assert found is not None
    assert not found[1]
    assert "torch.where(" in found[0]


def test_the_type_of_an_argument_is_that_of_the_traced_calls() -> None:
    text = in_function("if «x.sum() > 0»:\n    x = x * 2\nreturn x")
    assert [(fixed(text, "branch", inputs=inputs) or ("", None))[1] for inputs in ("x: f32[4]", "x: bf16[]", "x: bool[4]", "")] == [
        True,
        True,
        False,
        False,
    ]


NOTHING = {
    "print": "if «x.sum() > 0»:\n    print(x)",
    "in place": "if «x.sum() > 0»:\n    x.add_(1)",
    "in place on an argument": "if «x.sum() > 0»:\n    x += 1",
    "attribute": "if «x.sum() > 0»:\n    self.y = x",
    "none": "if «x.any()»:\n    w = None",
    "true": "if «x.any()»:\n    w = True",
    "a list": "if «x.any()»:\n    w = [x]",
    "not bound before": "if «x.any()»:\n    y = x\nx = y",
    "global": "global w\nif «x.any()»:\n    w = x * 2",
    "global on both sides": "global w\nif «x.any()»:\n    w = x * 2\nelse:\n    w = x",
    "an elif that calls the user's code": "if «x.any()»:\n    x = x * 2\nelif self.count(x) > 1:\n    x = -x",
    "an elif that calls a method named like an operation": "if «x.any()»:\n    x = x * 2\nelif self.any():\n    x = -x",
    "a side that calls a module named like an operation": "if «x.any()»:\n    w = self.relu(x); w.add_(1)",
    "an elif that writes": "if «x.any()»:\n    x = x * 2\nelif x.add_(1).any():\n    x = -x",
    "written to by another name": "y = x\nif «x.any()»:\n    y = x * 2\nz = y\nz += 1",
    "written to by the name it was given before": "y = x\nif «x.any()»:\n    y = x * 2\nx.mul_(2)\nx = y",
    "an element written to": "if «x.any()»:\n    x = x * 2\ny = x.view(-1)\ny[0] = 1",
    "inplace": "if «x.any()»:\n    x = x * 2\nx = F.relu(x, inplace=True)",
    "inplace, not named": "if «x.any()»:\n    x = x * 2\nx = F.relu(x, True)",
    "inplace in a function": "if «x.any()»:\n    x = x * 2\nx = torch.relu_(x)",
    "out": "if «x.any()»:\n    x = x * 2\ntorch.sin(x, out=x)",
    "each of its rows written to": "if «x.any()»:\n    x = x * 2\nfor row in x:\n    row += 1",
    "taken from a tuple and written to": "if «x.any()»:\n    x = x * 2\na, b = x, w\na.zero_()",
    "kept in a list and written to": "rows = []\nif «x.any()»:\n    x = x * 2\nrows.append(x)\nrows[0] += 1",
    "written to in the next round": "y = x\nfor i in range(2):\n    y += 1\n    if «x.any()»:\n        y = x",
    "augmented, and another name has it": "y = x * 2\nz = y\nif «y.sum() > 0»:\n    y += x\nx = z",
    "augmented, and a list has it": "y = x * 2\nself.append(y)\nif «y.sum() > 0»:\n    y += x",
    "written to afterwards": "if «x.any()»:\n    w = x\nw += 1",
    "a setting that is not asked first": "if n and «x.any()»:\n    w = -w",
    "one line with another": "y = 1\nif «x.any()»: w = -w; x.add_(1)",
    "over several lines": "if «x.any()»:\n    w = (w\n         + 1)",
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_offered(name: str) -> None:
    assert fixed(in_function(NOTHING[name] + "\nreturn x", "x, w, n, self"), "branch") is None


MODULE = """\
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.act = torch.nn.ReLU(inplace=True)
        self.soft = torch.nn.ReLU()
        self.block = torch.nn.Sequential(torch.nn.ReLU(inplace=True))
        self.same = torch.nn.Identity()
        self.weight = torch.nn.Parameter(torch.ones(4))

    @property
    def limit(self):
        self.weight += 1
        return self.weight

    @torch.compile
    def f(self, x):
        if «x.sum() > 0»:
            x = x * 2
        {rest}
"""


@pytest.mark.parametrize(
    ("rest", "safe"),
    [
        ("return self.linear(x)", True),
        ("return self.soft(x)", True),
        ("return self.act(x)", False),
        ("return self.block(x)", False),
        ("return helper(self.linear(x))", True),
        ("return helper(self.same(x))", False),
        ("elif self.weight.sum() < 0:\n            x = -x\n        return x", True),
        ("elif self.limit.sum() < 0:\n            x = -x\n        return x", False),
    ],
)
def test_the_class_says_what_its_modules_and_attributes_are(rest: str, safe: bool) -> None:
    found = fixed(MODULE.format(rest=rest), "branch")
    assert found is not None
    assert found[1] is safe


@pytest.mark.parametrize(
    ("caller", "offered"),
    [
        ("def g(x):\n    y = f(x)\n    y += 1\n    return y", False),
        ("def g(x):\n    f(x).add_(1)", False),
        ("y = f(torch.ones(4))\nz = y\nz[0] = 1", False),
        ("def g(x):\n    return f(x) + 1", True),
        ("def g(x):\n    y = f(x) * 2\n    y += 1\n    return y", True),
    ],
)
def test_what_is_handed_back_may_be_written_to_by_a_caller_in_the_file(caller: str, offered: bool) -> None:
    found = fixed(in_function("if «x.sum() > 0»:\n    x = x * 2\nreturn x") + f"\n\n{caller}\n", "branch")
    assert (found is not None and found[1]) is offered
    assert found is not None or not offered
