"""Compute both sides of a conditional expression and choose by the condition: `torch.where`.

Before:

    y = x * 2 if x.mean() > 0 else x * 3

After:

    y = torch.where(x.mean() > 0, x * 2, x * 3)

When it is not safe: as for an `if`, see `where_branch`. It is called safe only where both sides are certainly tensors of one shape and type
with finite slopes over the same operands; of two numbers of Python it makes a tensor, which changes behaviour.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import Branch, branch_at
from .choices import Item, Unfit, are_bound, are_exact, asked, is_alike, may_be_copied, side, where
from .conditions import Condition
from .edits import finished, shortened
from .model import FixContext
from .syntax import dotted


def where_expression(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace a conditional expression whose sides are cheap."""
    branch = branch_at(diagnostic, context)
    if branch is None or not isinstance(branch.node, ast.IfExp):
        return None
    conditions: list[Condition] = []
    try:
        item = _choice(branch, branch.node, conditions)
        alone = may_be_copied(branch, item, _target(branch))
    except Unfit:
        return None
    source, span = branch.place.source, node_span(branch.place.source, branch.node)
    safe = is_alike(branch, item.values) and are_exact(conditions) and are_bound(branch, item.names) and alone
    test = shortened(source.slice(node_span(source, branch.node.test)), 30)
    title = f"Compute both sides and choose by `{test}` ({branch.torch}.where)"
    return finished(title, source, (*branch.imports, Edit(span, item.text)), Safety.SAFE if safe else Safety.CHANGES_BEHAVIOUR)


def _target(branch: Branch) -> str:
    """The name that the whole expression is assigned to, if it is."""
    statement = branch.place.statement
    is_whole = isinstance(statement, ast.Assign) and statement.value is branch.node and len(statement.targets) == 1
    return dotted(statement.targets[0]) if is_whole and isinstance(statement, ast.Assign) else ""


def _choice(branch: Branch, node: ast.expr, conditions: list[Condition]) -> Item:
    if not isinstance(node, ast.IfExp):
        return side(branch, node)
    condition = asked(branch, node.test)
    conditions.append(condition)
    return where(branch.torch, condition, condition.text, _choice(branch, node.body, conditions), _choice(branch, node.orelse, conditions))
