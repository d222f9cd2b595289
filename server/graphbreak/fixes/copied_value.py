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

When it is not safe: `copy.copy` shares what the object holds. Where the function only reads and sets attributes of the copy, the original
stays as it was and the fix is safe; where the copy goes elsewhere (returned, handed on, an item set in what it holds), the fix says that it
changes behaviour.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .conditions import is_primary
from .edits import finished
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .syntax import Place, dotted, own_nodes
from .values import value_of


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
        return finished(f"Copy the tensor with `{receiver}.detach().clone()`", source, (edit,))
    callee = dotted(call.func)
    if not callee.endswith(".deepcopy") or isinstance(argument, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp)):
        return None
    edit = Edit(node_span(source, call.func), f"{callee.removesuffix('deepcopy')}copy")
    safety = Safety.SAFE if _stays_shallow(place, call) else Safety.CHANGES_BEHAVIOUR
    return finished(f"Copy `{text}` one level deep (`copy.copy`)", source, (edit,), safety)


def _stays_shallow(place: Place, call: ast.Call) -> bool:
    """Whether the function only reads and sets attributes of the copy."""
    statement = place.statement
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or place.function is None:
        return False
    parents = {id(child): node for node in ast.walk(place.function) for child in ast.iter_child_nodes(node)}
    uses = [node for node in own_nodes(place.function) if isinstance(node, ast.Name) and node.id == target.id]
    inner = [node for node in ast.walk(place.function) if isinstance(node, ast.Name) and node.id == target.id and node not in uses]
    return not inner and all(_is_shallow(node, parents, call) for node in uses)


def _is_shallow(name: ast.Name, parents: dict[int, ast.AST], call: ast.Call) -> bool:
    """Whether one use of the copy leaves what it holds as it is."""
    outer = parents[id(name)]
    if isinstance(name.ctx, ast.Store) or outer is call:
        return True
    if isinstance(outer, ast.Call) and dotted(outer.func) in ("setattr", "getattr", "hasattr", "isinstance") and name in outer.args:
        return True
    if not isinstance(outer, ast.Attribute):
        return False
    return isinstance(outer.ctx, ast.Store) or not _is_changed(outer, parents)


def _is_changed(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """Whether what an expression gives may be changed in place: an item or attribute of it is set, or a method of it is called."""
    outer = parents[id(node)]
    if isinstance(outer, (ast.Attribute, ast.Subscript)) and outer.value is node:
        if isinstance(outer.ctx, (ast.Store, ast.Del)):
            return True
        return _is_changed(outer, parents)
    if isinstance(outer, ast.AugAssign):
        return outer.target is node
    return isinstance(outer, ast.Call) and outer.func is node
