"""Let whole numbers that a module counts with be symbols in one compiled function: an option that holds only while it is called.

Before:

    class Net(torch.nn.Module):
        @torch.compile
        def forward(self, x):
            self.calls += 1
            return x * 2

After:

    class Net(torch.nn.Module):
        @torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True)
        @torch.compile
        def forward(self, x):
            self.calls += 1
            return x * 2

When it is not safe: a number that code branches on is still guarded on, and then nothing is won; the trial shows it. It is not offered for
marks that are used in ways that cannot be followed, nor where torch's settings are not those of a thread.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.findings import Diagnostic, Fix
from .edits import finished, torch_name
from .extraction import Unmovable
from .local_setting import OF_A_THREAD, set_at
from .model import FixContext

_OPTION = "allow_unspec_int_on_nn_module"


def local_attribute(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option that PyTorch names at the guard while the function is called."""
    marks = {context.marks[name] for name in diagnostic.functions if name in context.marks}
    if len(marks) != 1 or not any(_OPTION in hint for hint in diagnostic.hints):
        return None
    path, span = marks.pop()
    source = context.sources.get(path)
    torch = torch_name(source, span.start.line) if source is not None else None
    if source is None or torch is None or _OPTION in source.text:
        return None
    try:
        edits = set_at(source, span, torch[0], f"{_OPTION}=True", context)
    except Unmovable:
        return None
    title = f"Let whole numbers of modules vary in the graphs of `{diagnostic.functions[0]}` ({_OPTION})"
    fix = finished(title, source, (*torch[1], *edits))
    return replace(fix, needs=(f"torch._dynamo.config.{_OPTION}", OF_A_THREAD), admits=True) if fix is not None else None
