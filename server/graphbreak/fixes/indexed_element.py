"""Take an element by a tensor that says which one: with an index of one element, in place of a number that is read from it.

Before:

    best = scores.argmax()
    y = x * weights[best]
    mask[best] = 0

After (one fix each):

    best = scores.argmax()
    y = x * weights[best[None]][0]
    mask[best[None]] = 0

Python takes `weights[best]` for an index that is a number, and reads it; with one more dimension it stays in the graph.

When it is not safe: the result is a copy, no view of the tensor. It is safe where it is only computed with, says that it changes behaviour
where it, or a view of it, is returned, stored or handed on, and is not offered where it is written to.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Span
from .branches import is_written_to
from .conditions import is_primary
from .edits import finished, shortened
from .model import FixContext
from .regions import compiled_place
from .shared import is_read
from .syntax import Place, own_nodes


def indexed_element(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Give the index of the element that broke a dimension."""
    place = compiled_place(diagnostic, context)
    chain = _chain(place) if place is not None else None
    if place is None or place.function is None or chain is None:
        return None
    node, source = chain[-1], place.source
    assert isinstance(node, ast.Subscript)
    whole, index = node_span(source, node), node_span(source, node.slice)
    text = source.slice(index)
    edits = [Edit(index, f"{text if is_primary(text) else f'({text})'}[None]")]
    safety = Safety.SAFE
    if isinstance(node.ctx, ast.Load):
        found = _safety(place, chain)
        if found is None:
            return None
        safety = found
        edits.append(Edit(Span(whole.end, whole.end), "[0]"))
    return finished(f"Take `{shortened(source.slice(whole), 30)}` by a tensor in the graph", source, tuple(edits), safety)


def _chain(place: Place) -> tuple[ast.AST, ...] | None:
    """The chain to the subscript that broke, whose index is one plain expression: itself, or what stands in its brackets."""
    chain = place.chain
    if not isinstance(chain[-1], ast.Subscript) and isinstance(chain[-2], ast.Subscript) and chain[-2].slice is chain[-1]:
        chain = chain[:-1]
    node = chain[-1]
    if not isinstance(node, ast.Subscript) or isinstance(node.ctx, ast.Del):
        return None
    return chain if isinstance(node.slice, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp)) else None


def _safety(place: Place, chain: tuple[ast.AST, ...]) -> Safety | None:
    """How safe a copy is in place of a view; None where it is written to."""
    node, outer = chain[-1], chain[-2]
    if isinstance(outer, (ast.Attribute, ast.Subscript)) and outer.value is node:
        return _of_part(chain)
    if is_read(chain):
        return Safety.SAFE
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Name):
        return None if _may_be_written(place, outer, outer.targets[0].id) else Safety.CHANGES_BEHAVIOUR
    return Safety.CHANGES_BEHAVIOUR


def _of_part(chain: tuple[ast.AST, ...]) -> Safety | None:
    """The same where a method is called on the element, or a part of it is taken."""
    outer, around = chain[-2], chain[-3]
    if not isinstance(getattr(outer, "ctx", None), ast.Load) or isinstance(around, ast.AugAssign):
        return None
    if isinstance(outer, ast.Attribute) and outer.attr.endswith("_") and isinstance(around, ast.Call) and around.func is outer:
        return None
    return Safety.SAFE if is_read(chain) else Safety.CHANGES_BEHAVIOUR


def _may_be_written(place: Place, statement: ast.Assign, name: str) -> bool:
    function = place.functions[-1]
    augmented = any(isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") == name for node in own_nodes(function))
    return augmented or is_written_to(function, name, statement)
