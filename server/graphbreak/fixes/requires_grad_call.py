"""Call `requires_grad_` in place of an assignment to `requires_grad`, which Dynamo traces where it makes no new leaf that is handed out.

Before:

    hidden.requires_grad = True

After:

    hidden.requires_grad_()

When it is not safe: for a leaf the two do the same in eager mode; for any other tensor the assignment fails. A tensor that is made in the
graph and goes out of it with a gradient of its own breaks the graph again, which the trial shows. It is not offered for several targets in
one statement, nor where the value may not be `True` or `False`.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished
from .model import FixContext
from .regions import compiled_place

_CODE = "GB0206"


def requires_grad_call(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Write the assignment as a call."""
    place = compiled_place(diagnostic, context) if diagnostic.code == _CODE else None
    statement = place.statement if place is not None else None
    if place is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Attribute) or target.attr != "requires_grad" or not _is_truth(value):
        return None
    source = place.source
    argument = "" if getattr(value, "value", None) is True else source.slice(node_span(source, value))
    owner = source.slice(node_span(source, target.value))
    edit = Edit(node_span(source, statement), f"{owner}.requires_grad_({argument})")
    return finished("Call `requires_grad_` in place of the assignment", source, (edit,))


def _is_truth(value: ast.expr) -> bool:
    """Whether an expression is `True` or `False`, or an attribute of that name of another tensor."""
    is_constant = isinstance(value, ast.Constant) and isinstance(value.value, bool)
    return is_constant or (isinstance(value, ast.Attribute) and value.attr == "requires_grad")
