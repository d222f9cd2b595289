"""Write into the elements of a mask, or into none, without asking first: the question becomes a part of the mask.

Before:

    if durations.sum() == 0:
        durations[durations.eq(0)] = 1

After:

    durations[torch.logical_and(durations.eq(0), durations.sum() == 0)] = 1

When it is not safe: it always writes now, if only into no element. A tensor that nobody may write to, since its gradient is taken or
that of what was computed from it, then fails; so it changes behaviour. It is not offered where an index is not certainly a mask, or
where the value is anything but a number.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from .branches import Branch, branch_at
from .choices import Unfit, asked, comments_in, one_line
from .conditions import positive
from .edits import finished, indentation, shortened
from .model import FixContext
from .operations import COMPARED, TESTED, is_cheap, operation
from .syntax import first_line, last_line


def masked_store(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Take the question of an `if` into the mask of its only statement."""
    branch = branch_at(diagnostic, context)
    if branch is None or not isinstance(branch.node, ast.If) or branch.node.orelse or len(branch.node.body) != 1:
        return None
    statement = branch.node.body[0]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Subscript):
        return None
    try:
        return _joined(branch, branch.node, statement, statement.targets[0])
    except Unfit:
        return None


def _joined(branch: Branch, node: ast.If, statement: ast.Assign, target: ast.Subscript) -> Fix | None:
    source, span = branch.place.source, node_span(branch.place.source, node)
    elif_or_shared = source.slice(span)[:4] == "elif" or source.line(span.start.line)[: span.start.column].strip()
    if elif_or_shared or not isinstance(target.value, ast.Name) or not is_mask(target.slice) or not is_cheap(target.slice):
        raise Unfit
    if not isinstance(statement.value, ast.Constant) or not isinstance(statement.value.value, (int, float)):
        raise Unfit
    condition = asked(branch, node.test)
    if not condition.scalar:
        raise Unfit
    name, mask, value = target.value.id, one_line(source, target.slice), one_line(source, statement.value)
    indent = indentation(source.line(span.start.line))
    lines = [indent + comment for comment in comments_in(source, node)]
    lines.append(f"{indent}{name}[{branch.torch}.logical_and({mask}, {positive(condition)})] = {value}")
    whole = Span(Position(first_line(node), 0), Position(last_line(node), len(source.line(last_line(node)))))
    title = f"Ask `{shortened(source.slice(node_span(source, node.test)), 30)}` in the mask"
    edits = (*branch.imports, Edit(whole, source.newline.join(lines)))
    return finished(title, source, edits, Safety.CHANGES_BEHAVIOUR)


def is_mask(index: ast.expr) -> bool:
    """Whether an index is certainly a tensor of truth values."""
    if isinstance(index, ast.Compare):
        return len(index.ops) == 1 and not isinstance(index.ops[0], (ast.In, ast.NotIn, ast.Is, ast.IsNot))
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        return is_mask(index.operand)
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.BitAnd, ast.BitOr)):
        return is_mask(index.left) and is_mask(index.right)
    found = operation(index) if isinstance(index, ast.Call) else None
    return found is not None and found[0] in COMPARED | TESTED
