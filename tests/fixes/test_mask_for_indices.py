"""When a mask may take the place of its indices. In the sources `«...»` is the break."""

from __future__ import annotations

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Safety, Severity
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.mask_for_indices import mask_for_indices
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"
INPUTS = "x: f32[4, 8], y: f32[8]"


def safety(body: str) -> Safety | None:
    text = "import torch\n\n\ndef f(x, y):\n    " + "\n    ".join(body.splitlines()) + "\n"
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    context = FixContext({PATH: source}, inputs={(PATH, 3): frozenset({INPUTS})})
    fix = mask_for_indices(Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0036", ""), context)
    return fix.safety if fix is not None else None


FITS = {
    "itself": "rows = «torch.where(x > 0)»\nx[rows] = 0",
    "computed from it": "z = x * 2\nrows = «torch.where(x > 0)»\nz[rows] = 0",
    "at once": "x[«torch.where(x > 0)»] = 0",
    "added": "rows = «torch.where(x > 0)»\nx[rows] += 1",
}
MAY_NOT_FIT = {
    "another tensor": "rows = «torch.where(x > 0)»\ny[rows] = 0",
    "another one too": "rows = «torch.where(x > 0)»\nx[rows] = y[rows]",
    "one that is broadcast": "z = x * y\nrows = «torch.where(x > 0)»\nz[rows] = 0",
    "a part of it": "rows = «torch.where(x > 0)»\nx[0][rows] = 0",
    "cut in between": "rows = «torch.where(x > 0)»\nx = x[:2]\nx[rows] = 0",
    "cut in a loop": "for _ in y:\n    x = x[:2]\n    rows = «torch.where(x > 0)»\n    x[rows] = 0",
    "the first indices": "rows = «torch.where(x > 0)»[0]\nx[rows] = 0",
}
READ = {
    "returned": "rows = «torch.where(x > 0)»\nx[rows] = 0\nreturn rows",
    "read by": "rows = «torch.where(x > 0)»\nreturn x[rows]",
    "of another name": "rows = other = «torch.where(x > 0)»\nx[rows] = 0",
}


@pytest.mark.parametrize("name", FITS)
def test_a_mask_of_the_same_shape(name: str) -> None:
    assert safety(FITS[name]) is Safety.SAFE


@pytest.mark.parametrize("name", MAY_NOT_FIT)
def test_a_mask_that_may_not_fit(name: str) -> None:
    assert safety(MAY_NOT_FIT[name]) is Safety.CHANGES_BEHAVIOUR


@pytest.mark.parametrize("name", READ)
def test_indices_that_serve_for_more(name: str) -> None:
    assert safety(READ[name]) is None
