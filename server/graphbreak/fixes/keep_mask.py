"""Keep a mask that masks nothing, in place of asking its values whether it could be None.

Before:

    padding_mask = ids.eq(padding)
    if not padding_mask.any():
        padding_mask = None

After:

    padding_mask = ids.eq(padding)

When it is not safe: the name holds a tensor where it held None. What is computed with a mask that masks nothing is the same only where
every use of it says so; that is why it changes behaviour, and why it is tried.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from .branches import branch_at
from .choices import Unfit, comments_in
from .edits import finished, indentation
from .model import FixContext
from .syntax import first_line, last_line


def keep_mask(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Take out an `if` that asks a mask for its values and only makes it None."""
    branch = branch_at(diagnostic, context)
    if branch is None or not isinstance(branch.node, ast.If) or branch.node.orelse or len(branch.node.body) != 1:
        return None
    node, source = branch.node, branch.place.source
    name = _made_none(node.body[0])
    start = node_span(source, node).start
    asked = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    if name not in asked or source.line(start.line)[: start.column].strip() or source.line(start.line)[start.column :].startswith("elif"):
        return None
    indent = indentation(source.line(start.line))
    try:
        comments = "".join(indent + comment + source.newline for comment in comments_in(source, node))
    except Unfit:
        return None
    edit = Edit(Span(Position(first_line(node), 0), Position(last_line(node) + 1, 0)), comments)
    return finished(f"Keep `{name}` where it masks nothing", source, (edit,), Safety.CHANGES_BEHAVIOUR)


def _made_none(statement: ast.stmt) -> str:
    """The name that a statement sets to None."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return ""
    value = statement.value
    return statement.targets[0].id if isinstance(value, ast.Constant) and value.value is None else ""
