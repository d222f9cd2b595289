"""Draw a random number with the function that Dynamo knows: `random.uniform(0.0, 1.0)` for `random.random()`.

Before:

    x = x * random.random()

After:

    x = x * random.uniform(0.0, 1.0)

`uniform` draws from the same generator with `random()` and gives the very same number. Compiled code draws it before the graph runs, and
hands it over.

When it is not safe: what is asked of the number (`if random.random() < 0.5`) is asked of a tensor then, so the break may move; the trial
shows it. It is not offered where `random` is another object than the module.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished, module_name
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .syntax import dotted, first_line


def uniform_number(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the call of `random.random` that broke."""
    place = compiled_place(diagnostic, context)
    call = place.node if place is not None else None
    if place is None or not isinstance(call, ast.Call) or call.args or call.keywords:
        return None
    if resolved(place, dotted(call.func)) != "random.random":
        return None
    module = module_name(place.source, "random", first_line(place.top))
    if module is None or resolved(place, module[0]) not in ("random", ""):
        return None
    edit = Edit(node_span(place.source, call), f"{module[0]}.uniform(0.0, 1.0)")
    return finished("Draw the number with `random.uniform`, which Dynamo traces", place.source, (*module[1], edit))
