"""Compile for any size from the start: `dynamic=True` at the mark.

Before:

    @torch.compile
    def f(x):
        return x * 2

After:

    @torch.compile(dynamic=True)
    def f(x):
        return x * 2

When it is not safe: the code that is compiled is another one, for all sizes and numbers that are passed, and may be slower for each; that
changes behaviour, though not what is computed. It is offered where a size or a number, also one that an object has as an attribute, was
another one in a later call.
"""

from __future__ import annotations

import re

from ..core.findings import Diagnostic, Fix, Safety
from .edits import finished
from .mark_options import with_option
from .model import FixContext

_SIZE = re.compile(r"guard `(?:tensor '[^']+' (?:size|stride) mismatch at index|[^`]*\bsize\(\)(?:\[\d+\])?)")
_NUMBER = re.compile(r"guard `\w[\w.\[\]'\"]* == -?\d+(?:\.\d+)?` failed")


def dynamic_mark(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option at the mark of the function that was compiled again."""
    varies = _SIZE.search(diagnostic.message) or (_NUMBER.search(diagnostic.message) and not _stays_constant(diagnostic))
    marks = {context.marks[name] for name in diagnostic.functions if name in context.marks}
    if not varies or len(marks) != 1:
        return None
    path, span = marks.pop()
    source = context.sources.get(path)
    edit = with_option(source, span, "dynamic", "True") if source is not None else None
    if source is None or edit is None:
        return None
    return finished("Compile for any size (`dynamic=True`)", source, (edit,), Safety.CHANGES_BEHAVIOUR)


def _stays_constant(diagnostic: Diagnostic) -> bool:
    """Whether the number stays a constant with `dynamic=True` too: a variable of the module, a whole number of a torch module's own."""
    return "guard `G[" in diagnostic.message or any("allow_unspec_int_on_nn_module" in hint for hint in diagnostic.hints)
