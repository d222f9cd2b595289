"""Sides that are too much work to compute for nothing become functions of `torch.cond`."""

from __future__ import annotations

import pytest

from branch_programs import fixed, fixes_of, in_function

CHOSEN = {
    "one name": (
        "if «x.any()»:\n    y = self.a(x)\nelse:\n    y = self.b(x)",
        "y = torch.cond(x.any(), lambda: self.a(x), lambda: self.b(x))",
    ),
    "no else": ("if «x.any()»:\n    x = self.a(x)  # wide", "# wide\nx = torch.cond(x.any(), lambda: self.a(x), lambda: x.clone())"),
    "negated": ("if not «x.any()»:\n    x = x @ x", "x = torch.cond(x.any(), lambda: x.clone(), lambda: x @ x)"),
    "two names": (
        "if «x.any()»:\n    y = self.a(x)\n    w = -w\nelse:\n    y = self.b(x)",
        "y, w = torch.cond(x.any(), lambda: (self.a(x), -w), lambda: (self.b(x), w.clone()))",
    ),
    "returns": (
        "if «x.any()»:\n    return self.a(x)\nreturn x  # as it is",
        "return torch.cond(x.any(), lambda: self.a(x), lambda: x.clone())  # as it is",
    ),
    "returns on both sides": (
        "if «x.any()»:\n    return self.a(x), x\nelse:\n    return self.b(x), w",
        "return torch.cond(x.any(), lambda: (self.a(x), x.clone()), lambda: (self.b(x), w.clone()))",
    ),
    "random": ("if «x.any()»:\n    x = F.dropout(x)", "x = torch.cond(x.any(), lambda: F.dropout(x), lambda: x.clone())"),
    "expression": ("y = self.a(x) if «x.any()» else self.b(x)", "y = torch.cond(x.any(), lambda: self.a(x), lambda: self.b(x))"),
    "a setting first": (
        "if self.shape is not None and «x.any()»:\n    x = self.a(x)",
        "if self.shape is not None:\n    x = torch.cond(x.any(), lambda: self.a(x), lambda: x.clone())",
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_sides_become_functions(name: str, newline: str) -> None:
    before, after = CHOSEN[name]
    found = fixed(in_function(before, "self, x, w"), "branch", newline=newline)
    assert found == (in_function(after, "self, x, w").replace("\n", newline), False)


def test_it_is_offered_only_where_torch_has_it() -> None:
    fixes = fixes_of(in_function("if «x.any()»:\n    x = self.a(x)\nreturn x", "self, x"), "branch")[1]
    assert [fix.needs for fix in fixes] == [("torch.cond",)]


NOTHING = {
    "print": "if «x.any()»:\n    print(x)\n    x = self.a(x)",
    "in place": "if «x.any()»:\n    x = self.a(x).add_(1)",
    "an attribute": "if «x.any()»:\n    self.y = self.a(x)",
    "one after the other": "if «x.any()»:\n    x = self.a(x)\n    w = self.b(x)",
    "no tensor": "if «x.any()»:\n    y = self.a(x)\nelse:\n    y = None",
    "appended": "if «x.any()»:\n    y = w.append(x)",
    "global": "global x\nif «x.any()»:\n    x = self.a(x)",
    "written to by another name": "y = x\nif «x.any()»:\n    y = self.a(x)\nz = y\nz += 1",
    "inplace": "if «x.any()»:\n    x = self.a(x)\nx = F.relu(x, inplace=True)",
    "an expression that is written to": "y = self.a(x) if «x.any()» else x\ny += 1",
    "an expression that is written to at once": "y = F.relu(self.a(x) if «x.any()» else x, inplace=True)",
    "not bound before": "if «x.any()»:\n    y = self.a(x)",
    "more than a return": "if «x.any()»:\n    y = self.a(x)\n    return y\nreturn x",
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_offered(name: str) -> None:
    parameters = "self, w" if name == "global" else "self, x, w"
    assert fixed(in_function(NOTHING[name], parameters), "branch") is None
