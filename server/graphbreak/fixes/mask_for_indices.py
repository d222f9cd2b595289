"""Write by a mask itself, in place of the indices where it is true: how many these are depends on data.

Before:

    rows = torch.where(x > 0)
    y[rows] = 0
    z[(x > 1).nonzero(as_tuple=True)] = y[(x > 1).nonzero(as_tuple=True)]

After (one fix each):

    rows = x > 0
    y[rows] = 0
    z[x > 1] = y[x > 1]

Where a value is selected too, it is the next that breaks, and another fix chooses with `torch.where` there.

When it is not safe: all of the indices mean the same elements as the mask, where the mask has the shape of what is written to; a
smaller one has indices there too, but cannot be a mask. Where the code shows the shape the fix is safe. Else it changes behaviour, and so
it does for the first of the indices alone (`torch.where(m)[0]`), which mean the same only where the mask has one dimension. It is offered
only where all that is done with the indices is to write by them.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .conditions import is_primary
from .edits import finished, shortened
from .imports import resolved
from .masked_store import is_mask
from .model import FixContext
from .operations import operation
from .regions import compiled_place
from .syntax import Place, dotted, own_nodes
from .uses import loads_of
from .values import Facts, value_of, with_known

_FLAT = frozenset({"squeeze", "flatten"})


def mask_for_indices(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the `nonzero` or `where` that broke by what it looks into."""
    place = compiled_place(diagnostic, context)
    found = _indices(place) if place is not None else None
    if place is None or place.function is None or found is None:
        return None
    chain, mask, all_of_them = found
    uses = _uses(place, chain)
    if not uses or not all(map(_is_written_by, uses)):
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, place.node, context), place.function, place.node)
    source = place.source
    text = source.slice(node_span(source, mask))
    if not is_mask(mask):
        text = f"{text if is_primary(text) else f'({text})'} != 0"
    edit = Edit(node_span(source, chain[-1]), text)
    safety = Safety.SAFE if all_of_them and _fits(place, mask, uses, facts) else Safety.CHANGES_BEHAVIOUR
    return finished(f"Write by the mask `{shortened(text, 30)}` itself", source, (edit,), safety)


def _indices(place: Place) -> tuple[tuple[ast.AST, ...], ast.expr, bool] | None:
    """The chain to the indices of what broke, the mask, and whether they are those of all its dimensions."""
    chain, node = place.chain, place.node
    call = operation(node) if isinstance(node, ast.Call) else None
    if call is None or call[0] not in ("nonzero", "where") or len(call[1]) != 1 or not isinstance(node, ast.Call):
        return None
    if call[0] == "where" and not resolved(place, dotted(node.func)).startswith("torch."):
        return None
    as_tuple = [keyword.value for keyword in node.keywords if keyword.arg == "as_tuple"]
    if len(as_tuple) != len(node.keywords) or any(not isinstance(value, ast.Constant) or value.value is not True for value in as_tuple):
        return None
    outer = chain[-2]
    if as_tuple or call[0] == "where":
        first = isinstance(outer, ast.Subscript) and outer.value is node
        if first and not (isinstance(outer.slice, ast.Constant) and outer.slice.value == 0):  # type: ignore[attr-defined]
            return None
        return (chain[:-1] if first else chain), call[1][0], not first
    flat = isinstance(outer, ast.Attribute) and outer.attr in _FLAT and isinstance(chain[-3], ast.Call) and chain[-3].func is outer
    return (chain[:-2], call[1][0], False) if flat else None


def _uses(place: Place, chain: tuple[ast.AST, ...]) -> list[tuple[ast.AST, ...]]:
    """The chains of nodes to where indices are used, as they are or by the one name that they are given; nothing where that is unclear."""
    statement = place.statement
    if not isinstance(statement, ast.Assign) or statement.value is not chain[-1]:
        return [chain]
    name = dotted(statement.targets[0]) if len(statement.targets) == 1 else ""
    loads = loads_of(place.functions[-1], name) if name else None
    named = sum(isinstance(node, ast.Name) and node.id == name for node in own_nodes(place.functions[-1]))
    return loads if loads is not None and named == len(loads) + 1 else []


def _fits(place: Place, mask: ast.expr, uses: list[tuple[ast.AST, ...]], facts: Facts) -> bool:
    """Whether a mask certainly has the shape of all that is written to by it."""
    shape = value_of(mask, facts)
    indexed = [value_of(outer.value, facts) for use in uses if isinstance(outer := use[-2], ast.Subscript)]
    if shape is None or any(value is None or value.shape != shape.shape for value in indexed):
        return False
    names = {name.partition(".")[0] for name in shape.shape}
    stores = (node for node in own_nodes(place.functions[-1]) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    late = any(node.id in names and (place.in_loop or node.lineno >= place.statement.lineno) for node in stores)
    return not late and all(name in facts.tensors for name in shape.shape)


def _is_written_by(chain: tuple[ast.AST, ...]) -> bool:
    """Whether one use of indices is in the brackets of a target, or of a value in an assignment to such a target."""
    node, outer = chain[-1], chain[-2]
    statement = next(part for part in reversed(chain) if isinstance(part, ast.stmt))
    if not isinstance(outer, ast.Subscript) or outer.slice is not node or not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return False
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else getattr(statement, "target", None)
    )
    return isinstance(target, ast.Subscript) and ast.dump(target.slice) == ast.dump(node)
