"""A reduction of selected values keeps the size, and what the mask leaves out computes with zero."""

from __future__ import annotations

import pytest

from branch_programs import HEAD, fixed, in_function

MODULE = HEAD.replace("\n\n\n", "\nimport torch.nn.functional as F\n\n\n")
WIDE = "x: f32[6], y: f32[6]"
REDUCED = {
    "a sum": ("«x[keep]».sum()", "torch.where(keep, x, 0).sum()", True),
    "of a function": ("torch.sum(«x[keep]»)", "torch.where(keep, x, 0).sum()", True),
    "an average": ("«x[keep]».mean()", "torch.where(keep, x, 0).sum() / keep.sum()", True),
    "an average that is divided by": ("2 / «x[keep]».mean()", "2 / (torch.where(keep, x, 0).sum() / keep.sum())", True),
    "an average that a method is called on": ("«x[keep]».mean().sqrt()", "(torch.where(keep, x, 0).sum() / keep.sum()).sqrt()", True),
    "an average to a power": ("«x[keep]».mean() ** 2", "(torch.where(keep, x, 0).sum() / keep.sum()) ** 2", True),
    "an average that is subtracted": ("2 - «x[keep]».mean()", "2 - torch.where(keep, x, 0).sum() / keep.sum()", True),
    "a square": ("(«x[keep]» ** 2).sum()", "(torch.where(keep, x, 0) ** 2).sum()", True),
    "the outermost": ("(«x[keep]» - y[keep]).pow(2).mean()", "torch.where(keep, x - y, 0).pow(2).sum() / keep.sum()", False),
    "not zero at zero": ("(«x[keep]» ** 2 + 1).sum()", "torch.where(keep, torch.where(keep, x, 0) ** 2 + 1, 0).sum()", True),
    "clamped": ("«x[keep]».clamp(min=1).sum()", "torch.where(keep, x.clamp(min=1), 0).sum()", True),
    "clamped and squared": (
        "«x[keep]».clamp(min=1).square().sum()",
        "torch.where(keep, torch.where(keep, x.clamp(min=1), 0).square(), 0).sum()",
        True,
    ),
    "a product": ("(«x[keep]» * x[keep]).sum()", "(torch.where(keep, x, 0) * torch.where(keep, x, 0)).sum()", True),
    "linear": ("(2 * «x[keep]» - 1).sum()", "torch.where(keep, 2 * x - 1, 0).sum()", True),
    "selected by a function": ("(«torch.masked_select(x - 1, keep)» * 2).sum()", "torch.where(keep, (x - 1) * 2, 0).sum()", True),
    "a sum that is selected from": ("(«(x + 1)[keep]» * 2).sum()", "torch.where(keep, (x + 1) * 2, 0).sum()", True),
    "an element of a list": ("«self.of[i][keep]».sum()", "torch.where(keep, self.of[i], 0).sum()", False),
    "a loss": (
        "2 / F.mse_loss(«x[keep]», y[keep])",
        '2 / (F.mse_loss(torch.where(keep, x, 0), torch.where(keep, y, 0), reduction="sum") / keep.sum())',
        False,
    ),
    "a mask that the user computes": ("«x[self.mask()]».sum()", "torch.where(self.mask(), x, 0).sum()", False),
}


@pytest.mark.parametrize("name", REDUCED)
def test_what_the_mask_leaves_out_is_zero(name: str) -> None:
    before, after, safe = REDUCED[name]
    text = in_function(f"keep = torch.isfinite(x)\nreturn {before}", "x, y, self, i")
    wanted = in_function(f"keep = torch.isfinite(x)\nreturn {after}", "x, y, self, i")
    assert fixed(text, "shape", code="GB0036", inputs=WIDE, head=MODULE) == (wanted, safe)


@pytest.mark.parametrize(
    ("inputs", "reduced", "safe"),
    [
        ("x: f64[6]", "«x[keep]».mean()", True),
        ("x: f16[6]", "«x[keep]».mean()", False),
        ("x: bf16[6]", "«x[keep]».mean()", False),
        ("x: i64[6]", "«x[keep]».mean()", False),
        ("", "«x[keep]».mean()", False),
        ("x: f16[6]", "«x[keep]».float().sum()", True),
        ("x: f16[6]", "«x[keep]».sum()", True),
        ("x: bool[6]", "(«x[keep]» * x[keep]).sum()", False),
    ],
)
def test_an_average_is_safe_only_of_numbers_whose_sum_fits(inputs: str, reduced: str, safe: bool) -> None:
    found = fixed(in_function(f"keep = x > 0\nreturn {reduced}"), "shape", code="GB0036", inputs=inputs)
    assert found is not None
    assert found[1] is safe


NOT_REDUCED = {
    "a quotient": "(1 / «x[keep]»).sum()",
    "an inverse power": "«x[keep]».pow(-1).sum()",
    "a root": "«x[keep]».pow(0.5).sum()",
    "a mask that the user computes twice": "«x[self.mask()]».mean()",
    "another mask": "(«x[keep]» - x[other]).sum()",
    "in a text": 'f"{«x[keep]».mean()}"',
}


@pytest.mark.parametrize("name", NOT_REDUCED)
def test_other_reductions_stay(name: str) -> None:
    text = in_function(f"keep = torch.isfinite(x)\nreturn {NOT_REDUCED[name]}", "x, self, other")
    found = fixed(text, "shape", code="GB0036", inputs=WIDE)
    assert found is None or "torch.where" not in found[0]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("«x[keep]» * 2", "x * 2"),
        ("«x[keep]» ** 2", "torch.where(keep, x, 0) ** 2"),
        ("«x[keep]».pow(2) - y[keep]", "torch.where(keep, x, 0).pow(2) - y"),
    ],
)
def test_a_masked_assignment_computes_with_zero_too(value: str, written: str) -> None:
    found = fixed(in_function(f"keep = torch.isfinite(x)\ny[keep] = {value}", "x, y"), "shape", code="GB0036", inputs=WIDE)
    assert found is not None
    assert found[0] == in_function(f"keep = torch.isfinite(x)\ny[...] = torch.where(keep, {written}, y)", "x, y")
