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

from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from .capture_scalars import setting_line
from .edits import finished, torch_name
from .model import FixContext
from .regions import compiled_place
from .syntax import first_line

_SETTING = "_dynamo.config.capture_dynamic_output_shape_ops"


def capture_shapes(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option where the module has imported torch."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    if place is None or torch is None or "capture_dynamic_output_shape_ops" in place.source.text:
        return None
    setting = setting_line(place.source, place.module, torch[0], f"{torch[0]}.{_SETTING} = True")
    title = "Let results of unknown size into the graph (capture_dynamic_output_shape_ops, for the whole process)"
    fix = finished(title, place.source, (*torch[1], setting), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch." + _SETTING,), admits=True) if fix is not None else None
