"""Write into the elements that a mask lets through without taking any out: choose between new and old values with `torch.where`.

Before:

    keep = x > 0
    out[keep] = y[keep]
    out[keep] += 1
    out[keep] = y[keep].pow(2) - out[keep]

After (one fix each):

    keep = x > 0
    out[...] = torch.where(keep, y, out)
    out[...] = torch.where(keep, out + 1, out)
    out[...] = torch.where(keep, torch.where(keep, y, 0).pow(2) - out, out)

When it is not safe: the mask must have the shape of what is written to. Where the code shows that (`keep = x > 0` for `x` or what is
computed from it) the fix is safe, else it says that it changes behaviour, and the trial decides. It is not offered where a value that the
mask leaves out could become something that its gradient spoils (a quotient, a logarithm), nor where a gradient needs the old values.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .conditions import is_primary
from .edits import finished, torch_name
from .masked_reduction import guarded, is_steady, mask_of, selected_from, selections
from .model import FixContext
from .regions import compiled_place
from .syntax import Place, first_line
from .values import Facts, value_of, with_known

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def masked_assignment(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Rewrite the assignment to a selection whose value is selected too."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    if place is None or place.function is None or torch is None:
        return None
    target = _target(place.statement)
    mask = mask_of(place, ast.Subscript(target.value, target.slice, ast.Load())) if target is not None else None
    text = _chosen(place, target, mask, torch[0]) if target is not None and mask is not None else None
    if target is None or mask is None or text is None:
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, place.node, context), place.function, place.node)
    source = place.source
    written, keep = source.slice(node_span(source, target.value)), source.slice(node_span(source, mask))
    edit = Edit(node_span(source, place.statement), f"{written}[...] = {torch[0]}.where({keep}, {text}, {written})")
    safety = Safety.SAFE if _fits(place, target.value, mask, facts) else Safety.CHANGES_BEHAVIOUR
    return finished(f"Write to `{written}` by choosing with `torch.where`", source, (*torch[1], edit), safety)


def _target(statement: ast.stmt) -> ast.Subscript | None:
    """The selection that a statement writes to, of a name or an attribute."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AugAssign) and type(statement.op) in _OPERATORS:
        target = statement.target
    else:
        return None
    return target if isinstance(target, ast.Subscript) and isinstance(target.value, (ast.Name, ast.Attribute)) else None


def _chosen(place: Place, target: ast.Subscript, mask: ast.expr, torch: str) -> str | None:
    """The new values with nothing taken out; None where they are no such computation, or none was needed."""
    statement, source = place.statement, place.source
    value = statement.value if isinstance(statement, (ast.Assign, ast.AugAssign)) else None
    if value is None or not (isinstance(value, ast.Constant) or is_steady(place, value, mask)):
        return None
    grows = isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Mult) and not isinstance(value, ast.Constant)
    if grows or not _is_linear(value, ast.dump(target.value).replace("Store()", "Load()")):
        return None
    text = guarded(place, value, mask, torch, chosen=True)
    if isinstance(statement, ast.AugAssign):
        written = source.slice(node_span(source, target.value))
        simple = isinstance(value, ast.Constant) or is_primary(text)
        return f"{written} {_OPERATORS[type(statement.op)]} {text if simple else f'({text})'}"
    return None if isinstance(value, ast.Constant) else text


def _is_linear(node: ast.expr, written: str) -> bool:
    """Whether no gradient needs the old values of what is written to, which are lost: they are only added up, or multiplied by numbers."""
    if not any(isinstance(part, ast.expr) and ast.dump(part) == written for part in ast.walk(node)):
        return True
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        scaled = isinstance(node.op, ast.Mult) and any(isinstance(side, ast.Constant) for side in sides)
        return (scaled or isinstance(node.op, (ast.Add, ast.Sub))) and all(_is_linear(side, written) for side in sides)
    return isinstance(node, ast.Subscript) or (isinstance(node, ast.UnaryOp) and _is_linear(node.operand, written))


def _fits(place: Place, written: ast.expr, mask: ast.expr, facts: Facts) -> bool:
    """Whether mask, old and new values certainly have one shape."""
    statement = place.statement
    value = statement.value if isinstance(statement, (ast.Assign, ast.AugAssign)) else None
    selected = [selected_from(part) for part in selections(place, value)] if value is not None else []
    known = [value_of(part, facts) for part in (mask, written, *(part for part in selected if part is not None))]
    return None not in selected and None not in known and len({found.shape for found in known if found is not None}) == 1
