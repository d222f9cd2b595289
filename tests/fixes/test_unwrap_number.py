"""Numbers come out of the tensors around them; a question about a masked assignment goes into its mask."""

from __future__ import annotations

import pytest

from branch_programs import HEAD, PATH, fixed, fixes_of, in_function
from graphbreak.core.findings import Diagnostic, Kind, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.model import FixContext
from graphbreak.fixes.unwrap_number import unwrap_number

NUMBERS = {
    "a list": ("n = torch.IntTensor([self.size])\nreturn x[:«n[0]»]", "return x[:self.size]"),
    "a tensor": ("n = torch.tensor(self.size, dtype=torch.long)\nreturn x[:«n»]", "return x[:self.size]"),
    "arithmetic": (
        "n = torch.LongTensor([self.size * 2])  # two\nreturn x[:«n[0]»]",
        "n = torch.LongTensor([self.size * 2])  # two\nreturn x[:(self.size * 2)]",
    ),
    "used twice": ("n = torch.IntTensor([4])\nx = x[:«n[0]»]\nreturn x * n", "n = torch.IntTensor([4])\nx = x[:4]\nreturn x * n"),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_number_itself_is_used(name: str, newline: str) -> None:
    before, after = NUMBERS[name]
    found = fixed(in_function(before, "self, x"), "number", code="GB0124", newline=newline)
    assert found == (in_function(after, "self, x").replace("\n", newline), True)


WRAPPED = {
    "several": "n = torch.IntTensor([4, 5])\nreturn x[:«n[0]»]",
    "fractions": "n = torch.tensor([self.size])\nreturn x[:«n[0]»]",
    "given anew": "n = torch.IntTensor([4])\nn = n + 1\nreturn x[:«n[0]»]",
    "the number is given anew": "m = 3\nn = torch.IntTensor([m])\nm = 5\nreturn x[:«n[0]»]",
    "written to": "n = torch.IntTensor([4])\nn[0] += 1\nreturn x[:«n[0]»]",
    "written to by a method": "n = torch.IntTensor([4])\nn.add_(1)\nreturn x[:«n[0]»]",
    "sizes that are written to": "n = torch.tensor(x.shape)\nn[0] = 1\nreturn x[:«n.sum().item()»]",
    "a call": "n = torch.IntTensor([helper()])\nreturn x[:«n[0]»]",
    "an argument": "return x[:«self[0]»]",
}


@pytest.mark.parametrize("name", WRAPPED)
def test_other_tensors_stay(name: str) -> None:
    assert fixed(in_function(WRAPPED[name], "self, x"), "number", code="GB0124") is None


CALLED = """\
def half(x, width, other=0):
    return x[:, :«width»], x[:, width:]


def f(self, x):
    width = torch.IntTensor([self.size])
    return half(x, width[0]) + half(x, other=1, width=2)
"""


def handed_in(text: str, line: int) -> str | None:
    whole = HEAD + text
    start, end = whole.index("«"), whole.index("»") - 1
    source = SourceFile(PATH, whole.replace("«", "").replace("»", ""))
    span = Span(source.position(start), source.position(end))
    stack = (StackFrame(PATH, line, "f"), StackFrame(PATH, span.start.line, "half"))
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.SKIPPED, "GB0124", "", stack=stack)
    fix = unwrap_number(diagnostic, FixContext({PATH: source}))
    return source.apply(fix.edits[PATH]).text[len(HEAD) :] if fix is not None else None


def test_a_number_is_handed_in() -> None:
    after = handed_in(CALLED, 9)
    assert after == CALLED.replace("«", "").replace("»", "").replace("    width = torch.IntTensor([self.size])\n", "").replace(
        "width[0]", "self.size"
    )


def test_a_parameter_that_needs_a_tensor_keeps_it() -> None:
    assert handed_in(CALLED.replace("x[:, width:]", "x * width"), 9) is None
    assert handed_in(CALLED, 4) is None


MASKED = {
    "an argument": ("if «x.sum() < 0»:\n    x[x.eq(0)] = 1", "x[torch.logical_and(x.eq(0), x.sum() < 0)] = 1", False),
    "its own": ("y = x * 2\nif not «y.any()»:\n    y[y > 1] = 0.5", "y = x * 2\ny[torch.logical_and(y > 1, ~y.any())] = 0.5", False),
    "of two masks": ("if «x.any()»:\n    x[(x > 0) & ~(x > 1)] = 1", "x[torch.logical_and((x > 0) & ~(x > 1), x.any())] = 1", False),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKED)
def test_the_mask_asks(name: str) -> None:
    before, after, safe = MASKED[name]
    assert fixed(in_function(before + "\nreturn x"), "branch") == (in_function(after + "\nreturn x"), safe)


UNMASKED = {
    "an index": "if «x.any()»:\n    x[i] = 1",
    "a tensor": "if «x.any()»:\n    x[x > 0] = w",
    "an attribute": "if «x.any()»:\n    self.y[x > 0] = 1",
    "several": "if «x.any()»:\n    x[x > 0] = 1\n    x[x < 0] = 1",
    "else": "if «x.any()»:\n    x[x > 0] = 1\nelse:\n    x[x < 0] = 1",
    "a condition with dimensions": "if «x > 0»:\n    w[w > 0] = 1",
}


@pytest.mark.parametrize("name", UNMASKED)
def test_other_assignments_stay(name: str) -> None:
    assert fixes_of(in_function(UNMASKED[name] + "\nreturn x", "self, x, w, i"), "branch")[1] == []
