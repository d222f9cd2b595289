"""Let numbers that are read from tensors into the graph, as symbols: `torch._dynamo.config.capture_scalar_outputs`.

Before:

    import torch

    @torch.compile
    def f(x):
        return x / x.abs().sum().item()

After:

    import torch

    torch._dynamo.config.capture_scalar_outputs = True

    @torch.compile
    def f(x):
        return x / x.abs().sum().item()

When it is not safe: the setting holds for the whole process, so other functions compile in another way too; that changes behaviour. What
is done with the number may ask for more than its symbol says, and then only moves the break: hence it is tried with a compiler behind it.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.source import Edit, SourceFile
from .edits import finished, imports_end, line_below, torch_name
from .model import FixContext
from .names import module_binders
from .regions import compiled_place
from .syntax import Place, first_line, last_line

_OPTION = "capture_scalar_outputs"


def capture_scalars(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option where the module has imported torch."""
    place = compiled_place(diagnostic, context)
    if place is None or _OPTION in place.source.text:
        return None
    return set_option(place, _OPTION, "Let numbers read from tensors into the graph")


def set_option(place: Place, option: str, words: str, value: str = "True") -> Fix | None:
    """Set an option of `torch._dynamo.config` for the whole process, behind the imports; `words` say what that does."""
    torch = torch_name(place.source, first_line(place.top))
    if torch is None:
        return None
    setting = setting_line(place.source, place.module, torch[0], f"{torch[0]}._dynamo.config.{option} = {value}")
    fix = finished(f"{words} ({option}, for the whole process)", place.source, (*torch[1], setting), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=(f"torch._dynamo.config.{option}",), admits=True) if fix is not None else None


def setting_line(source: SourceFile, module: ast.Module, torch: str, text: str) -> Edit:
    """A line of the module behind its imports, torch's among them."""
    bound = [last_line(binder) + 1 for binder in module_binders(module, torch)[:1]]
    return line_below(source, max([imports_end(source, module), *bound]), text, 1)
