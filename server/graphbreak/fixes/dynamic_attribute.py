"""Let whole numbers that a module counts with be symbols: `torch._dynamo.config.allow_unspec_int_on_nn_module`.

Before:

    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            self.calls += 1

After:

    import torch

    torch._dynamo.config.allow_unspec_int_on_nn_module = True

    class Net(torch.nn.Module):
        def forward(self, x):
            self.calls += 1

When it is not safe: the setting holds for the whole process, so other modules compile in another way too; that changes behaviour. A
number that code branches on is still guarded on.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from .capture_scalars import setting_line
from .edits import finished, torch_name
from .model import FixContext
from .syntax import first_line, locate

_SETTING = "_dynamo.config.allow_unspec_int_on_nn_module"


def dynamic_attribute(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option that PyTorch names at the guard that failed."""
    source = context.sources.get(diagnostic.path)
    if source is None or not any("allow_unspec_int_on_nn_module" in hint for hint in diagnostic.hints) or _SETTING in source.text:
        return None
    place = locate(source, diagnostic.span)
    torch = torch_name(source, first_line(place.top)) if place is not None else None
    if place is None or torch is None:
        return None
    setting = setting_line(source, place.module, torch[0], f"{torch[0]}.{_SETTING} = True")
    title = "Let whole numbers of modules vary (allow_unspec_int_on_nn_module, for the whole process)"
    fix = finished(title, source, (*torch[1], setting), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch." + _SETTING,)) if fix is not None else None
