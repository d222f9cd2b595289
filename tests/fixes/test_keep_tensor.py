"""A number read from a tensor stays one where that does as well, or becomes a symbol."""

from __future__ import annotations

import pytest

from branch_programs import HEAD, fixed, fixes_of, in_function
from graphbreak.core.findings import Diagnostic, Kind, Safety, Severity
from graphbreak.core.source import Span
from graphbreak.fixes import FixContext
from graphbreak.fixes.local_setting import local_setting

KEPT = {
    "a factor": ("s = «x.abs().sum().item()»\nreturn x / s", "s = x.abs().sum().detach()\nreturn x / s", True),
    "in place": ("return x * «x.sum().item()»", "return x * x.sum().detach()", True),
    "float": ("return x * «float(x.sum())»", "return x * x.sum().detach()", True),
    "float of an operation": ("return x * «float(x[0] + 1)»", "return x * (x[0] + 1).detach()", False),
    "twice": ("s = «x.mean().item()»\nreturn x - s, x + s", "s = x.mean().detach()\nreturn x - s, x + s", True),
    "whole numbers": ("return x * «int(x.sum())»", "return x * x.sum().long()", False),
    "an index of the largest": ("return x * «x.argmax().item()»", "return x * x.argmax()", False),
    "another tensor": ("return w * «x.sum().item()»", "return w * x.sum().detach()", False),
    "with a number": ("s = «x.sum().item()» * 0.5\nreturn x * s", None, False),
    "a border": ("return x.clamp(max=«x.mean().item()»)", "return x.clamp(max=x.mean().detach())", False),
    "the lesser of two": ("return x * min(«x.sum().item()», 3.0)", "return x * min(x.sum().detach(), 3.0)", False),
    "a truth value": ("flag = «bool(x.sum() > 0)»\nreturn x if flag else -x", "flag = x.sum() > 0\nreturn x if flag else -x", True),
    "a negation": ("flag = «not (x.sum() > 0)»\nreturn x if flag else -x", "flag = ~(x.sum() > 0)\nreturn x if flag else -x", True),
    "asked for": ("s = «x.mean().item()»\nreturn x if s > 0.5 else w", "s = x.mean().detach()\nreturn x if s > 0.5 else w", False),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_the_tensor_is_kept(name: str) -> None:
    before, after, safe = KEPT[name]
    found = fixed(in_function(before, "x, w, n"), "scalar", code="GB0124", inputs="x: f32[4], w: f32[4], n: 3")
    assert found == (None if after is None else (in_function(after, "x, w, n"), safe))


NOT_KEPT = {
    "returned": "return «x.sum().item()»",
    "the lesser of two, returned": "return min(«x.sum().item()», 3.0)",
    "the lesser of three": "return x * min(«x.sum().item()», 3.0, 4.0)",
    "shown": 's = «x.sum().item()»\nprint(f"{s}")\nreturn x',
    "a size": "return torch.zeros(«int(x.sum())»)",
    "an index": "return x[«x.argmax().item()»]",
    "a slice": "n = «int(x.sum())»\nreturn x[:n]",
    "a range": "for i in range(«int(x.sum())»):\n    x = x + 1\nreturn x",
    "an attribute": "self.last = «x.sum().item()»\nreturn x",
    "unknown call": "return helper(«x.sum().item()»)",
    "one of two assignments": "s = «x.sum().item()»\nx = x * s\ns = 2\nreturn x * s",
    "read in another function": "s = «x.sum().item()»\ng = lambda y: y * s\nreturn g(x) * s",
    "both borders": "return x.clamp(0, «x.mean().item()»)",
    "a divisor of a number": "return x * (1 / «x.sum().item()»)",
}


@pytest.mark.parametrize("name", NOT_KEPT)
def test_numbers_stay_where_they_must_be_numbers(name: str) -> None:
    assert fixed(in_function(NOT_KEPT[name], "x, self"), "scalar", code="GB0124") is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_scalars_are_captured_for_the_whole_process(newline: str) -> None:
    body = in_function("return x[:«int(x.sum())»]")
    source, fixes = fixes_of(body, "scalar setting", code="GB0124", newline=newline)
    assert [(fix.safety, fix.admits, fix.needs) for fix in fixes] == [
        (Safety.CHANGES_BEHAVIOUR, True, ("torch._dynamo.config.capture_scalar_outputs",))
    ]
    assert "for the whole process" in fixes[0].title
    after = source.apply(fixes[0].edits[source.path]).text
    assert after.replace("\r\n", "\n").startswith(
        "import torch\n\ntorch._dynamo.config.capture_scalar_outputs = True\n\n\n@torch.compile\n"
    )
    assert fixes_of(after.replace("int(x.sum())", "«int(x.sum())»"), "scalar setting", code="GB0124", head="")[1] == []


def test_torch_is_imported_for_the_setting() -> None:
    source, fixes = fixes_of("import os\n\n\ndef f(x):\n    return x[:«int(x.sum())»]\n", "scalar setting", code="GB0124", head="")
    after = source.apply(fixes[0].edits[source.path]).text
    assert after == (
        "import os\nimport torch\n\ntorch._dynamo.config.capture_scalar_outputs = True\n\n\ndef f(x):\n    return x[:int(x.sum())]\n"
    )


ASSERTIONS = {
    "negated": ('assert not «torch.isnan(x).any()», "no"', 'assert ~torch.isnan(x).any(), "no"'),
    "a number": ("assert «x.max().item()» <= 4", "assert x.max() <= 4"),
    "a number that may round": ("assert «x.max().item()» <= n", "assert x.max() <= n"),
    "two": ("assert «x.any()» and not x.all()", "assert torch.logical_and(x.any(), ~x.all())"),
    "nothing to change": ("assert «x.max() <= 4»", None),
    "no tensor": ("assert n and not «x.any()»", None),
}


@pytest.mark.parametrize("name", ASSERTIONS)
def test_assertions_are_of_tensors_and_raise_another_exception(name: str) -> None:
    before, after = ASSERTIONS[name]
    source, fixes = fixes_of(in_function(before, "x, n"), "branch", inputs="x: f32[4], n: 3")
    assert [source.apply(fix.edits[source.path]).text for fix in fixes] == ([HEAD + in_function(after, "x, n")] if after else [])
    assert all(fix.safety is Safety.CHANGES_BEHAVIOUR and "RuntimeError, not AssertionError" in fix.title for fix in fixes)


SETTINGS_WITH_ASSERTIONS = {
    "none": ("return x[:«int(x.sum())»]", Safety.SAFE),
    "of another number": ("assert n < 4\nreturn x[:«int(x.sum())»]", Safety.SAFE),
    "of the number": ("assert «x.max().item()» <= 4", Safety.CHANGES_BEHAVIOUR),
    "of its name": ("m = «x.max().item()»\nassert 0 < m <= 4\nreturn x", Safety.CHANGES_BEHAVIOUR),
}


@pytest.mark.parametrize("name", SETTINGS_WITH_ASSERTIONS)
def test_a_setting_that_takes_an_assertion_into_the_graph(name: str) -> None:
    body, safety = SETTINGS_WITH_ASSERTIONS[name]
    text = in_function(body, "x, n")
    mark = Span.at(len(HEAD.splitlines()), 1, len(HEAD.splitlines()), 14)
    source, _ = fixes_of(text, "own setting", code="GB0124")
    at = (HEAD + text).index("«")
    span = Span(source.position(at), source.position((HEAD + text).index("»") - 1))
    found = Diagnostic("1", source.path, span, Severity.WARNING, Kind.BREAK, "GB0124", "", functions=("f",))
    fix = local_setting(found, FixContext({source.path: source}, marks={"f": (source.path, mark)}))
    assert fix is not None
    assert fix.safety is safety
    assert ("raises RuntimeError" in fix.title) is (safety is Safety.CHANGES_BEHAVIOUR)


WRITTEN_IN_PLACE = {
    "a tensor of its own": ("s = «x.sum().item()»\nw[0] = 1\nreturn x * s", True),
    "what it was": ("s = «x.item()»\nx.mul_(2)\nreturn x * s", False),
    "by another name": ("s = «x.item()»\ny = x\ny += 1\nreturn x * s", False),
    "nothing": ("s = «x.item()»\nreturn x * s", True),
}


@pytest.mark.parametrize("name", WRITTEN_IN_PLACE)
def test_a_number_does_not_see_what_is_written_later(name: str) -> None:
    body, safe = WRITTEN_IN_PLACE[name]
    found = fixed(in_function(body), "scalar", code="GB0124", inputs="x: f32[]")
    assert found is not None
    assert found[1] is safe


ELEMENTS = {
    "an operand": ("y = x + w[«i»]", True),
    "a store": ("w[«i»] = 0", True),
    "of an operation": ("y = w[«i»].sum() + torch.relu(w[0])", True),
    "given to one": ("y = torch.relu(w[«i»])", True),
    "a view of it": ("y = w[«i»].view(-1)\ny += 1", False),
    "a view by a function": ("y = torch.reshape(w[«i»], (-1,))\ny += 1", False),
    "itself by another name": ("return +w[«i»]", False),
    "returned": ("return w[«i»]", False),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_element_that_is_a_copy(name: str) -> None:
    body, safe = ELEMENTS[name]
    found = fixed(in_function(body, "x, w, i"), "scalar", code="GB0033", inputs="x: f32[4], w: f32[3, 4], i: i64[]")
    assert found is not None
    assert "[i[None]]" in found[0]
    assert found[1] is safe
