"""Copy what Dynamo can copy: a tensor by `clone`, an object one level deep.

Before:

    kept = copy.deepcopy(x)
    config = copy.deepcopy(config)
    config.temperature = 0.5

After (one fix each):

    kept = x.detach().clone()
    config = copy.copy(config)
    config.temperature = 0.5

A deep copy of a tensor is a new one without a history, as `detach().clone()` gives.

When it is not safe: `copy.copy` shares what the object holds. Where the function only computes with what it reads of the copy, and sets
attributes of the copy itself, the original stays as it was and the fix is safe. Where the copy or a part of it goes elsewhere (returned,
handed on, an item set in it, a method of it called), also by another name, the fix says that it changes behaviour. So it does for a tensor
that was handed in with a gradient of its own: its deep copy has one too.
"""

from __future__ import annotations

import ast
import re

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .conditions import is_primary
from .edits import finished
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .shared import is_read
from .syntax import Function, Place, dotted
from .uses import chains_to, loads_of
from .values import value_of

_OF_MODULES = frozenset({"weight", "bias", "data", "grad", "requires_grad"})
"""What modules keep in a table that a copy shares, and tensors in their storage."""
_FURTHEST = 3


def copied_value(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the deep copy that broke."""
    place = compiled_place(diagnostic, context)
    calls = [node for node in place.chain if isinstance(node, ast.Call)] if place is not None else []
    call = next((node for node in reversed(calls) if place and resolved(place, dotted(node.func)) == "copy.deepcopy"), None)
    if place is None or place.function is None or call is None or len(call.args) != 1 or call.keywords:
        return None
    source, argument = place.source, call.args[0]
    text = source.slice(node_span(source, argument))
    value = value_of(argument, known_facts(place.function, diagnostic.path, place.node, context))
    if value is not None and value.tensor:
        receiver = text if is_primary(text) else f"({text})"
        edit = Edit(node_span(source, call), f"{receiver}.detach().clone()")
        safety = Safety.CHANGES_BEHAVIOUR if _has_gradient(place, argument, diagnostic.path, context) else Safety.SAFE
        return finished(f"Copy the tensor with `{receiver}.detach().clone()`", source, (edit,), safety)
    callee = dotted(call.func)
    if not callee.endswith(".deepcopy") or isinstance(argument, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp)):
        return None
    edit = Edit(node_span(source, call.func), f"{callee.removesuffix('deepcopy')}copy")
    safety = Safety.SAFE if _stays_shallow(place, call) else Safety.CHANGES_BEHAVIOUR
    return finished(f"Copy `{text}` one level deep (`copy.copy`)", source, (edit,), safety)


def _has_gradient(place: Place, argument: ast.expr, path: str, context: FixContext) -> bool:
    """Whether a tensor was handed in with a gradient of its own, which its deep copy has too."""
    function = place.functions[-1]
    calls = context.inputs.get((path, function.lineno - 1), frozenset())
    names = [part.id for part in ast.walk(argument) if isinstance(part, ast.Name)]
    return any(re.search(rf"(?:^|, ){name}: [^,\[]*\[[^\]]*\][^,]* with grad", call) for name in names for call in calls)


def _stays_shallow(place: Place, call: ast.Call) -> bool:
    """Whether the function only reads attributes of the copy, as operands, and sets attributes of it; and leaves the original alone."""
    statement, function = place.statement, place.functions[-1]
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    loads = loads_of(function, target.id) if isinstance(target, ast.Name) else None
    if not isinstance(target, ast.Name) or loads is None:
        return False
    original = ast.dump(call.args[0])
    again = chains_to(function, lambda node: isinstance(node, type(call.args[0])) and ast.dump(node) == original)
    others = [chain for chain in again if chain[-1] is not call.args[0] and target.id != dotted(chain[-1])]
    stores = [
        node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == target.id and node not in (n[-1] for n in loads)
    ]
    own = [chain for chain in loads if chain[-1] is not call.args[0]]
    return (
        len(stores) == 1 and all(_is_shallow(function, chain, 0) for chain in own) and all(_is_read(function, chain, 0) for chain in others)
    )


def _is_shallow(function: Function, chain: tuple[ast.AST, ...], depth: int) -> bool:
    """Whether one use of the copy leaves what it holds as it is: an attribute of it is set, or only read."""
    node, outer, further = chain[-1], chain[-2], chain[-3]
    if isinstance(outer, ast.Call) and outer.func is not node and not outer.keywords:
        name = dotted(outer.func)
        if name in ("hasattr", "isinstance") or (name == "setattr" and _sets_own(outer, node)):
            return True
        return name == "getattr" and outer.args[0] is node and _is_read(function, chain[:-1], depth)
    if not isinstance(outer, ast.Attribute):
        return False
    if isinstance(outer.ctx, ast.Load):
        return _is_read(function, chain[:-1], depth)
    return outer.attr not in _OF_MODULES and not isinstance(further, ast.AugAssign)


def _sets_own(call: ast.Call, copy: ast.AST) -> bool:
    """Whether a call of `setattr` sets an attribute of the copy itself, and to something else."""
    if len(call.args) != 3 or call.args[0] is not copy or call.args[2] is copy:
        return False
    return not isinstance(call.args[1], ast.Constant) or call.args[1].value not in _OF_MODULES


def _is_read(function: Function, chain: tuple[ast.AST, ...], depth: int) -> bool:
    """Whether a value that the copy and the original share is only computed with: itself, its parts, and what other names they get."""
    node, outer = chain[-1], chain[-2]
    if is_read(chain):
        return True
    if isinstance(outer, (ast.Attribute, ast.Subscript)) and outer.value is node:
        return isinstance(outer.ctx, ast.Load) and _is_read(function, chain[:-1], depth)
    name = ""
    if isinstance(outer, ast.Assign) and outer.value is node and len(outer.targets) == 1:
        name = dotted(outer.targets[0])
    elif isinstance(outer, (ast.For, ast.comprehension)) and outer.iter is node:
        name = dotted(outer.target)
    loads = loads_of(function, name) if name and "." not in name and depth < _FURTHEST else None
    if loads is None:
        return False
    stores = sum(isinstance(part, ast.Name) and part.id == name for part in ast.walk(function)) - len(loads)
    return stores == 1 and all(_is_read(function, load, depth + 1) for load in loads)
