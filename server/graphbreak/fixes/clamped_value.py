"""Bound a value with `clamp` where an `if` only does that.

Before:

    if total > 10:
        total = 10.0
    scale = 0.1 if scale < 0.1 else scale

After (one fix each):

    total = total.clamp(max=10.0)
    scale = scale.clamp(min=0.1)

With an `elif` for the other side both bounds are given. What is not a number stays so either way.

When it is not safe: the name holds a tensor of the same type where it held a number of Python, which changes behaviour. It is not offered
where a number with a fraction may bound a tensor of whole numbers, which would become floating; where the number that is asked for and
the one that is assigned are not the same; nor where what is no number would be bounded too (`x if x < 1 else 1`): there `where` does.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from .branches import Branch, branch_at
from .choices import Unfit, comments_in
from .conditions import is_primary, without_item
from .edits import finished, indentation
from .model import FixContext
from .operations import is_cheap
from .syntax import first_line, last_line
from .values import value_of

_UPPER = (ast.Gt, ast.GtE)
_LOWER = (ast.Lt, ast.LtE)


def clamped_value(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace a question that only bounds what it asks for."""
    branch = branch_at(diagnostic, context)
    try:
        if branch is not None and isinstance(branch.node, ast.If):
            return _of_statement(branch, branch.node)
        return _of_expression(branch, branch.node) if branch is not None and isinstance(branch.node, ast.IfExp) else None
    except Unfit:
        return None


def _of_statement(branch: Branch, node: ast.If) -> Fix | None:
    """`if t > 10: t = 10.0`, with or without `elif t < 0: t = 0.0`."""
    source, start = branch.place.source, node_span(branch.place.source, node).start
    if source.line(start.line)[: start.column].strip() or source.line(start.line)[start.column :].startswith("elif"):
        raise Unfit
    parts = [node]
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and not node.orelse[0].orelse:
        parts.append(node.orelse[0])
    elif node.orelse:
        raise Unfit
    target, bounds = _assigned(node)[0], dict[str, ast.expr]()
    for part in parts:
        name, value = _assigned(part)
        side = _bound(branch, part.test, name, value)
        if ast.dump(name) != ast.dump(target) or side in bounds:
            raise Unfit
        bounds[side] = value
    indent = indentation(source.line(start.line))
    text = f"{source.slice(node_span(source, target))} = {_clamped(branch, target, bounds)}"
    lines = [*comments_in(source, node), text]
    whole = Span(Position(first_line(node), 0), Position(last_line(node), len(source.line(last_line(node)))))
    return _finished(branch, Edit(whole, source.newline.join(indent + line for line in lines)), bounds)


def _of_expression(branch: Branch, node: ast.IfExp) -> Fix | None:
    """`10.0 if t > 10 else t`."""
    if not is_cheap(node.orelse):
        raise Unfit
    bounds = {_bound(branch, node.test, node.orelse, node.body): node.body}
    text = _clamped(branch, node.orelse, bounds)
    return _finished(branch, Edit(node_span(branch.place.source, node), text), bounds)


def _assigned(node: ast.If) -> tuple[ast.expr, ast.expr]:
    """The name that an `if` assigns, and what to."""
    statement = node.body[0] if len(node.body) == 1 else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        raise Unfit
    return statement.targets[0], statement.value


def _bound(branch: Branch, test: ast.expr, value: ast.expr, border: ast.expr) -> str:
    """The argument of `clamp` for a question that gives a value its border: `max`, `min`. Raises `Unfit` where it asks something else."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (*_UPPER, *_LOWER)):
        raise Unfit
    left, right, upper = test.left, test.comparators[0], isinstance(test.ops[0], _UPPER)
    if _number(left) is not None:
        left, right, upper = right, left, not upper
    asked = without_item(left) or left
    number = _number(border)
    if number is None or _number(right) != number or _without_context(asked) != _without_context(value):
        raise Unfit
    known = value_of(asked, branch.facts)
    if known is None or not known.tensor:
        raise Unfit
    floating = known.lift == 2 or (bool(known.kind) and known.kind <= branch.facts.floating)
    if isinstance(number, float) and not floating:
        raise Unfit
    return "max" if upper else "min"


def _without_context(node: ast.expr) -> str:
    return ast.dump(node).replace("Store()", "Load()")


def _number(node: ast.expr) -> float | None:
    """The number of Python that is written there, a whole one as such."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    value = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if not isinstance(value, ast.Constant) or type(value.value) not in (int, float):
        return None
    number: float = value.value  # type: ignore[assignment]
    return -number if negative else number


def _call(branch: Branch, bounds: dict[str, ast.expr]) -> str:
    """`clamp(min=0.0, max=10.0)`. Raises `Unfit` where the bounds are the wrong way round."""
    source, sides = branch.place.source, [side for side in ("min", "max") if side in bounds]
    numbers = [number for side in sides if (number := _number(bounds[side])) is not None]
    if numbers != sorted(numbers):
        raise Unfit
    return "clamp(" + ", ".join(f"{side}={source.slice(node_span(source, bounds[side]))}" for side in sides) + ")"


def _clamped(branch: Branch, value: ast.expr, bounds: dict[str, ast.expr]) -> str:
    text = branch.place.source.slice(node_span(branch.place.source, value))
    return f"{text if is_primary(text) else f'({text})'}.{_call(branch, bounds)}"


def _finished(branch: Branch, edit: Edit, bounds: dict[str, ast.expr]) -> Fix | None:
    title = f"Bound the value in the graph with `{_call(branch, bounds)}`"
    return finished(title, branch.place.source, (edit,), Safety.CHANGES_BEHAVIOUR)
