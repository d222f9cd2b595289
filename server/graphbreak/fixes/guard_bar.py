"""Show a progress bar only in eager mode: compiled code goes over what the bar goes over.

Before:

    for step in tqdm(range(steps)):
        x = self.layer(x)

After:

    for step in range(steps) if torch.compiler.is_compiling() else tqdm(range(steps)):
        x = self.layer(x)

Dynamo knows the answer while it traces, so that compiled code has no trace of the bar.

When it is not safe: compiled code shows no progress, which the title says. It is offered in the head of a loop or of a comprehension, not
where the bar itself is given a name.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished, torch_name
from .model import FixContext
from .remove_output import bar_at
from .syntax import first_line


def guard_bar(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Put what the bar goes over beside it."""
    found = bar_at(diagnostic, context)
    torch = torch_name(found[0].source, first_line(found[0].top)) if found is not None else None
    if found is None or torch is None:
        return None
    place, bar, text = found
    outer = next(node for node in ast.walk(place.functions[-1]) if any(child is bar for child in ast.iter_child_nodes(node)))
    if not isinstance(outer, (ast.For, ast.comprehension, ast.Call)):
        return None
    span = node_span(place.source, bar)
    guarded = f"{text} if {torch[0]}.compiler.is_compiling() else {place.source.slice(span)}"
    edit = Edit(span, f"({guarded})" if isinstance(outer, ast.comprehension) else guarded)
    title = "Show the progress bar only in eager mode"
    return finished(title, place.source, (*torch[1], edit), Safety.CHANGES_BEHAVIOUR)
