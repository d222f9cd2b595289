"""Go through every index in place of those that `nonzero` finds: how many these are depends on data.

Before:

    hit = (mask.sum(dim=(-1, -2)) > 0).nonzero()
    for index in hit:
        rows = torch.where(mask[index].squeeze(0))[0]
        out.index_add_(0, rows, self.experts[index[0]](x[rows]))

After:

    hit = [[index] for index in range(mask.shape[0])]
    for index in hit:
        rows = torch.where(mask[index].squeeze(0))[0]
        out.index_add_(0, rows, self.experts[index[0]](x[rows]))

When it is not safe: the rounds that were left out are made now, and only where they have nothing to work on does that change nothing; that
changes behaviour. It is offered where the rows serve as indices in one loop and for nothing else.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished, shortened
from .model import FixContext
from .names import fresh
from .operations import COMPARED, operation
from .regions import compiled_place
from .syntax import Place, dotted, locate, own_nodes

_KEEPING_FIRST = frozenset({"sum", "any", "all", "amax", "amin", "count_nonzero"})


def index_loop(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the `nonzero` that a loop runs over."""
    place = _at_call(compiled_place(diagnostic, context))
    call = place.node if place is not None else None
    if place is None or not isinstance(call, ast.Call) or place.function is None:
        return None
    found = operation(call)
    if found is None or found[0] not in ("nonzero", "argwhere") or len(found[1]) != 1 or call.keywords:
        return None
    loop = _loop(place, call)
    if loop is None or not _serves_as_index(place, loop):
        return None
    source, name = place.source, fresh(place.source, "index")
    length = f"{_text(place, _first_dimension(found[1][0]))}.shape[0]"
    edit = Edit(node_span(source, call), f"[[{name}] for {name} in range({length})]")
    title = f"Go through all indices in place of `{shortened(source.slice(node_span(source, call)), 30)}`"
    return finished(title, source, (edit,), Safety.CHANGES_BEHAVIOUR)


def _at_call(place: Place | None) -> Place | None:
    """The place itself, or, of the name that a loop runs over, the call that is assigned to it."""
    function = place.function if place is not None else None
    if (
        place is None
        or function is None
        or not isinstance(place.node, ast.Name)
        or getattr(place.chain[-2], "iter", None) is not place.node
    ):
        return place
    name = place.node.id
    assigned = [node for node in own_nodes(function) if isinstance(node, ast.Assign) and dotted(node.targets[0]) == name]
    return locate(place.source, node_span(place.source, assigned[0].value)) if len(assigned) == 1 else None


def _loop(place: Place, call: ast.Call) -> ast.For | None:
    """The only loop over what a call gives, itself or by the name that it is assigned to."""
    assert place.function is not None
    loops = [node for node in own_nodes(place.function) if isinstance(node, ast.For)]
    direct = next((loop for loop in loops if loop.iter is call), None)
    statement = place.statement
    if direct is not None or not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return direct
    target = statement.targets[0]
    names = [
        node for node in ast.walk(place.function) if isinstance(target, ast.Name) and isinstance(node, ast.Name) and node.id == target.id
    ]
    loads = [node for node in names if isinstance(node.ctx, ast.Load)]
    over = [loop for loop in loops if loop.iter in loads]
    return over[0] if len(over) == len(loads) == 1 and len(names) == 2 else None


def _serves_as_index(place: Place, loop: ast.For) -> bool:
    """Whether the loop's name is read in square brackets, or with its only item taken out, and nowhere else."""
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        return False
    name = loop.target.id
    indices = {id(node.slice) for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Subscript)}
    items = {id(node.value) for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Subscript) and _is_first(node)}
    loads = [node for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Name) and node.id == name]
    assert place.function is not None
    elsewhere = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(place.function)) - len(loads) - 1
    reads = [node for node in loads if isinstance(node.ctx, ast.Load)]
    taken_out = len(loads) > len(reads)
    return bool(reads) and not elsewhere and (taken_out or all(id(node) in indices | items for node in reads))


def _is_first(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) and node.slice.value == 0


def _first_dimension(node: ast.expr) -> ast.expr:
    """A part of an expression that has the same first dimension: what is compared with a number, and summed over its last ones."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant):
        return _first_dimension(node.left)
    found = operation(node) if isinstance(node, ast.Call) else None
    if found is None or not found[1]:
        return node
    name, operands = found
    if name in COMPARED and len(operands) == 2 and isinstance(operands[1], ast.Constant):
        return _first_dimension(operands[0])
    call = node if isinstance(node, ast.Call) else None
    last = call is not None and [keyword.arg for keyword in call.keywords] == ["dim"] and _are_last(call.keywords[0].value)
    return _first_dimension(operands[0]) if name in _KEEPING_FIRST and len(operands) == 1 and last else node


def _are_last(node: ast.expr) -> bool:
    """Whether dimensions are counted from the end, two at most, so that of three or more the first stays."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return len(parts) == 2 and all(isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) for part in parts)


def _text(place: Place, node: ast.expr) -> str:
    text = place.source.slice(node_span(place.source, node))
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"
