"""Say how often each element is repeated, or how many there are then, as a number: the size of `repeat_interleave` is fixed then.

Before:

    rows = x.repeat_interleave(torch.full((batch,), 2), dim=0)
    owner = torch.repeat_interleave(torch.arange(batch), counts)
    y = values * weights[owner]

After (one fix each):

    rows = x.repeat_interleave(2, dim=0)
    owner = torch.repeat_interleave(torch.arange(batch), counts, output_size=values.shape[0])
    y = values * weights[owner]

The size is taken from the tensor that meets what was made of the repeated one.

When it is not safe: that the sizes agree is what the code needs to work, but a tensor of one row would be expanded instead. So it changes
behaviour, and is tried. The number in place of a tensor filled with it is safe.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Span
from .edits import finished, shortened
from .imports import resolved
from .model import FixContext
from .operations import operation
from .regions import compiled_place
from .syntax import Function, Place, dotted, own_nodes
from .uses import loads_of

_FILLED = {"torch.full": 1, "torch.tensor": 0, "torch.as_tensor": 0}


def known_repeats(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Give the `repeat_interleave` that broke a number, or its size."""
    place = compiled_place(diagnostic, context)
    call = place.node if place is not None else None
    found = operation(call) if isinstance(call, ast.Call) else None
    if place is None or place.function is None or not isinstance(call, ast.Call) or found is None or found[0] != "repeat_interleave":
        return None
    if any(keyword.arg == "output_size" for keyword in call.keywords) or len(found[1]) < 2:
        return None
    source, repeats = place.source, found[1][1]
    number = _number(place, repeats)
    if number is not None:
        text = source.slice(node_span(source, number))
        edit = Edit(node_span(source, repeats), text)
        return finished(f"Repeat by the number `{shortened(text)}`", source, (edit,)) if _has_dimension(found[1], call) else None
    partner = _partner(place) if _is_first(found[1], call) else None
    if partner is None:
        return None
    size = f"{partner}.shape[0]"
    end = max(node_span(source, part).end for part in (*call.args, *(keyword.value for keyword in call.keywords)))
    edit = Edit(Span(end, end), f", output_size={size}")
    return finished(f"Say that `{size}` elements come of it (`output_size`)", source, (edit,), Safety.CHANGES_BEHAVIOUR)


def _has_dimension(operands: tuple[ast.expr, ...], call: ast.Call) -> bool:
    """Whether it is said along which dimension (without one a tensor of repeats needs as many elements, a number does not)."""
    return len(operands) > 2 or any(keyword.arg == "dim" for keyword in call.keywords)


def _is_first(operands: tuple[ast.expr, ...], call: ast.Call) -> bool:
    """Whether the elements are repeated along the first dimension, or in a tensor of one dimension."""
    dimensions = [*operands[2:], *(keyword.value for keyword in call.keywords if keyword.arg == "dim")]
    return all(isinstance(node, ast.Constant) and node.value in (0, None) for node in dimensions)


def _number(place: Place, node: ast.expr) -> ast.expr | None:
    """The number that a tensor of repeats is filled with: `torch.full((n,), k)`, `torch.tensor([k] * n)`."""
    name = resolved(place, dotted(node.func)) if isinstance(node, ast.Call) else ""
    index = _FILLED.get(name)
    if not isinstance(node, ast.Call) or index is None or len(node.args) != index + 1:
        return None
    value = node.args[index]
    if index == 0:
        listed = value.left if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else None
        if not isinstance(listed, ast.List) or len(listed.elts) != 1:
            return None
        value = listed.elts[0]
    return value if isinstance(value, (ast.Name, ast.Attribute)) or (isinstance(value, ast.Constant) and type(value.value) is int) else None


def _partner(place: Place) -> str | None:
    """The name of the one tensor that meets the repeated one, or rows taken by it, in arithmetic."""
    statement, function = place.statement, place.functions[-1]
    if not isinstance(statement, ast.Assign) or statement.value is not place.node or len(statement.targets) != 1:
        return _beside(place.chain, statement, function)
    name = dotted(statement.targets[0])
    loads = loads_of(function, name) if name else None
    stores = sum(isinstance(node, ast.Name) and node.id == name for node in own_nodes(function)) - len(loads or ())
    found = {_beside(chain, statement, function) for chain in loads or ()} - {None}
    return found.pop() if len(found) == 1 and stores == 1 else None


def _beside(chain: tuple[ast.AST, ...], statement: ast.stmt, function: Function) -> str | None:
    """The name on the other side of the arithmetic that a value, or what it is the index of, stands in."""
    node, outer = chain[-1], chain[-2]
    if isinstance(outer, ast.Subscript) and outer.slice is node:
        node, outer = outer, chain[-3]
    if not isinstance(outer, ast.BinOp) or not isinstance(outer.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        return None
    name = dotted(outer.right if outer.left is node else outer.left)
    given = [part for part in own_nodes(function) if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)]
    early = all(part.lineno < statement.lineno for part in given)
    parameter = any(part.arg == name for part in ast.walk(function.args) if isinstance(part, ast.arg))
    return name if name and early and (given or parameter) else None
