"""Count what a mask lets through, in place of taking it out and asking for its size.

Before:

    share = len(x[keep]) / x.shape[0]
    found = torch.nonzero(keep).shape[0]
    active = torch.where(keep)[0].numel()

After (one fix each):

    share = torch.count_nonzero(keep) / x.shape[0]
    found = torch.count_nonzero(keep)
    active = torch.count_nonzero(keep)

When it is not safe: the number is a tensor then, which computes in its own precision; that changes behaviour. It is called safe where the
count goes by a name that is only compared in tests. It is not offered where it is compared at once, which would break in its place, nor
where it is returned, shown, stored, or used as a size or an index. `x[keep].numel()` is counted so only where `keep` and `x` certainly have
one shape.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .edits import finished, shortened, torch_name
from .imports import resolved
from .keep_tensor import uses_of
from .masked_reduction import mask_of, selected_from
from .model import FixContext
from .operations import operation
from .regions import compiled_place
from .syntax import Place, dotted, first_line
from .values import Facts, value_of, with_known


def counted_selection(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the size of the selection that broke."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    if place is None or place.function is None or torch is None or not isinstance(place.node, ast.expr):
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, place.node, context), place.function, place.node)
    found = _counted(place, facts)
    if found is None:
        return None
    size, mask = found
    uses = uses_of(Place(place.source, size), facts)
    if uses is None or isinstance(size[-2], (ast.Compare, ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.Assert)):
        return None
    source = place.source
    edit = Edit(node_span(source, size[-1]), f"{torch[0]}.count_nonzero({source.slice(node_span(source, mask))})")
    safe = not any(use.partners for use in uses)
    title = f"Count `{shortened(source.slice(node_span(source, mask)), 30)}` in the graph"
    return finished(title, source, (*torch[1], edit), Safety.SAFE if safe else Safety.CHANGES_BEHAVIOUR)


def _counted(place: Place, facts: Facts) -> tuple[tuple[ast.AST, ...], ast.expr] | None:
    """The chain to where the size of what broke is asked for, and the mask that it counts."""
    chain, node = place.chain, place.node
    mask, of_rows = mask_of(place, node), True
    if mask is not None:
        value = selected_from(node)
        one, other = value_of(mask, facts), value_of(value, facts) if value is not None else None
        alike = one is not None and other is not None and one.shape == other.shape
        of_rows = not (alike or not isinstance(node, ast.Subscript))
    else:
        mask = _indices_of(place, node)
        if mask is None:
            return None
        if isinstance(chain[-2], ast.Subscript) and _is(chain[-2].slice, 0) and _gives_tuple(place, node):
            chain, of_rows = chain[:-1], False
        elif _gives_tuple(place, node):
            return None
    size = _size(chain, of_rows)
    return (size, mask) if size is not None else None


def _indices_of(place: Place, node: ast.AST) -> ast.expr | None:
    """The mask of `torch.nonzero(mask)`, `mask.nonzero()`, `torch.argwhere(mask)` or `torch.where(mask)`."""
    found = operation(node) if isinstance(node, ast.Call) else None
    if found is None or found[0] not in ("nonzero", "argwhere", "where") or len(found[1]) != 1 or not isinstance(node, ast.Call):
        return None
    as_function = resolved(place, dotted(node.func)).startswith("torch.")
    return found[1][0] if as_function or found[0] != "where" else None


def _gives_tuple(place: Place, node: ast.AST) -> bool:
    found = operation(node) if isinstance(node, ast.Call) else None
    return found is not None and isinstance(node, ast.Call) and (found[0] == "where" or bool(node.keywords))


def _size(chain: tuple[ast.AST, ...], of_rows: bool) -> tuple[ast.AST, ...] | None:
    """The chain to `len(s)`, `s.shape[0]`, `s.size(0)` or, where not only the rows are counted, `s.numel()` around its last node."""
    node, outer, second = chain[-1], chain[-2], chain[-3]
    if isinstance(outer, ast.Call) and dotted(outer.func) == "len" and outer.args == [node]:
        return chain[:-1]
    if not isinstance(outer, ast.Attribute):
        return None
    if outer.attr == "shape" and isinstance(second, ast.Subscript) and _is(second.slice, 0):
        return chain[:-2]
    if not isinstance(second, ast.Call) or second.func is not outer or second.keywords:
        return None
    rows = outer.attr == "size" and len(second.args) == 1 and _is(second.args[0], 0)
    return chain[:-2] if rows or (outer.attr == "numel" and not second.args and not of_rows) else None


def _is(node: ast.AST, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number and type(node.value) is int
