"""Let operations whose result's size depends on data into the graph: `torch._dynamo.config.capture_dynamic_output_shape_ops`.

Before:

    import torch

    @torch.compile
    def f(x):
        return x[x > 0] * 2

After:

    import torch

    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    @torch.compile
    def f(x):
        return x[x > 0] * 2

When it is not safe: the setting holds for the whole process, so other functions compile in another way too; that changes behaviour.
What follows may ask for the size itself (a loop over the rows, a branch on their number), and then only moves the break: hence it is
tried with a compiler behind it.
"""

from __future__ import annotations

from ..core.findings import Diagnostic, Fix
from .capture_scalars import set_option
from .model import FixContext
from .regions import compiled_place

_OPTION = "capture_dynamic_output_shape_ops"


def capture_shapes(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option where the module has imported torch."""
    place = compiled_place(diagnostic, context)
    if place is None or _OPTION in place.source.text:
        return None
    return set_option(place, _OPTION, "Let results of unknown size into the graph")
