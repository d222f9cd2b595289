"""Go through a tensor itself where its numbers are only computed with, in place of the list that `tolist()` makes of them.

Before:

    for scale in scales.tolist():
        y = y * scale
    low, high = borders.tolist()

After (one fix each):

    for scale in scales.detach():
        y = y * scale
    low, high = borders.detach()

What a list holds has no gradient; `detach` keeps it so, and is left out where the numbers are whole.

When it is not safe: a number of Python meets a tensor of half precision in a better one than a tensor does, so the last digits may be
others there; that changes behaviour. It is not offered where a number is returned, shown, stored, or used as a size or an index, nor where
it cannot be seen what becomes of it.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .conditions import is_primary
from .edits import finished, shortened
from .model import FixContext
from .regions import compiled_place
from .syntax import Place, dotted, own_nodes
from .uses import Use, loads_of, use_at
from .values import Facts, with_known


def keep_tensors(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Drop the `tolist()`, if all that is done with its numbers can be done with tensors without dimensions."""
    place = compiled_place(diagnostic, context)
    call = place.node if place is not None else None
    if place is None or place.function is None or not isinstance(call, ast.Call) or call.args or call.keywords:
        return None
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "tolist":
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, call, context), place.function, call)
    uses = _uses(place, facts)
    if not uses:
        return None
    source = place.source
    text = source.slice(node_span(source, call.func.value))
    primary = text if is_primary(text) else f"({text})"
    edit = Edit(node_span(source, call), text if diagnostic.code == "GB0033" else f"{primary}.detach()")
    title = f"Keep the tensors of `{shortened(source.slice(node_span(source, call)), 30)}`"
    return finished(title, source, (edit,), Safety.CHANGES_BEHAVIOUR)


def _uses(place: Place, facts: Facts) -> list[Use]:
    """What is done with the numbers; nothing where something of it needs numbers, or cannot be followed."""
    found: list[Use] = []
    function = place.functions[-1]
    for name in _names(place):
        stores = [node for node in own_nodes(function) if isinstance(node, ast.Name) and node.id == name]
        loads = loads_of(function, name)
        uses = [use_at(chain, facts) for chain in loads or ()]
        if loads is None or len(stores) != len(loads) + 1 or None in uses:
            return []
        found += [use for use in uses if use is not None]
    return found


def _names(place: Place) -> list[str]:
    """The names that the numbers are given, by a loop over them or by unpacking; nothing for any other use of the list."""
    node, outer = place.chain[-1], place.chain[-2]
    if isinstance(outer, ast.Assign) and outer.value is node and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Tuple):
        return _all_names(outer.targets[0].elts)
    position: int | None = None
    if isinstance(outer, ast.Call) and dotted(outer.func) in ("enumerate", "zip") and node in outer.args and not outer.keywords:
        position = 1 if dotted(outer.func) == "enumerate" else outer.args.index(node)
        node, outer = outer, place.chain[-3]
    if not isinstance(outer, (ast.For, ast.comprehension)) or outer.iter is not node:
        return []
    target: ast.expr = outer.target
    if position is not None:
        if not isinstance(target, ast.Tuple) or position >= len(target.elts):
            return []
        target = target.elts[position]
    return _all_names([target])


def _all_names(targets: list[ast.expr]) -> list[str]:
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names if len(names) == len(targets) else []
