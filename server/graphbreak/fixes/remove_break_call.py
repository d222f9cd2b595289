"""Take out a call that asks Dynamo for a break and does nothing else.

Before:

    y = x + 1
    torch._dynamo.graph_break()
    return y * 2

After:

    y = x + 1
    return y * 2

The same for `torch._dynamo.skip_frame()` and `torch._dynamo.step_unsupported()`.

When it is not safe: the program computes the same, but that there is a break here was somebody's wish, which goes with the call. Hence it
is only shown, and never applied together with others.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Kind, Safety
from .edits import finished
from .imports import resolved
from .model import FixContext
from .statements import removed
from .syntax import dotted, locate

_CALLS = frozenset({"torch._dynamo.graph_break", "torch._dynamo.skip_frame", "torch._dynamo.step_unsupported"})


def remove_break_call(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Remove the call that a diagnostic stands on."""
    source = context.sources.get(diagnostic.path)
    place = locate(source, diagnostic.span) if source is not None and diagnostic.kind is not Kind.CALLER else None
    statement = place.statement if place is not None else None
    if source is None or place is None or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    name = dotted(statement.value.func)
    if resolved(place, name) not in _CALLS:
        return None
    return finished(f"Remove `{name}()`", source, (removed(place, statement),), Safety.DISPLAY)
