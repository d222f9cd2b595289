"""Write only in eager mode: put the statement under `if not torch.compiler.is_compiling():`.

Before:

    print("mid", y.shape)

After:

    if not torch.compiler.is_compiling():
        print("mid", y.shape)

Dynamo knows the answer while it traces and leaves the branch out, so that compiled code has no trace of it.

When it is not safe: compiled code no longer prints, logs or warns, which the title says. It is not offered where the
statement shares its line with another one, or where it cannot be indented (a string over several lines).
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from .edits import block_start, finished, torch_name
from .extraction import Unmovable
from .model import FixContext
from .output import output_at
from .statements import under_header

_VERBS = {"print": "Print", "warning": "Warn", "log": "Log"}


def guard_output(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Guard the statement that broke."""
    output = output_at(diagnostic, context)
    torch = torch_name(output.place.source, block_start(output.place.source, output.place.top)) if output is not None else None
    if output is None or torch is None or any(isinstance(node, ast.NamedExpr) for node in ast.walk(output.call)):
        return None
    try:
        edits = under_header(output.place, output.statement, f"if not {torch[0]}.compiler.is_compiling():")
    except Unmovable:
        return None
    title = f"{_VERBS[output.kind]} only in eager mode (the {output.noun} is left out of compiled code)"
    return finished(title, output.place.source, (*torch[1], *edits), Safety.CHANGES_BEHAVIOUR)
