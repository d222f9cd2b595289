"""Sum, average or compare only what a mask lets through, without taking it out: with `torch.where`, whose result has a fixed size.

Before:

    keep = x > 0
    total = x[keep].sum()
    error = (a[keep] - b[keep]).pow(2).mean()
    loss = F.mse_loss(a[keep], b[keep])

After (one fix each):

    keep = x > 0
    total = torch.where(keep, x, 0).sum()
    error = torch.where(keep, (a - b).pow(2), 0).sum() / keep.sum()
    loss = torch.where(keep, F.mse_loss(a, b, reduction="none"), 0).sum() / keep.sum()

When it is not safe: the mask must have the shape of what it is put on. Where the code shows that (`keep = x > 0`) the fix is safe, else it
says that it changes behaviour, and the trial decides. It is not offered where a value that the mask leaves out could become something
that its gradient spoils (a quotient, a logarithm).
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, SourceFile, Span
from .branches import known_facts
from .conditions import is_primary
from .edits import finished, torch_name
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .syntax import Place, dotted, first_line
from .values import Facts, value_of, with_known

_REDUCTIONS = frozenset({"sum", "mean", "nansum"})
_STEADY = frozenset({"abs", "square", "pow", "relu", "neg", "float", "clamp", "double", "half", "long", "int"})
_LOSSES = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})


def masked_reduction(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Rewrite the reduction around the selection that broke."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    mask = mask_of(place, place.node) if place is not None else None
    if place is None or place.function is None or torch is None or mask is None:
        return None
    call = next((node for node in reversed(place.chain[:-1]) if isinstance(node, ast.Call) and _inside(node, place.node)), None)
    text = _rewritten(place, call, mask, torch[0]) if call is not None else None
    if call is None or text is None:
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, place.node, context), place.function, place.node)
    safety = Safety.SAFE if _fits(place, call, mask, facts) else Safety.CHANGES_BEHAVIOUR
    edit = Edit(node_span(place.source, call), text)
    return finished("Keep the size and leave out with `torch.where`", place.source, (*torch[1], edit), safety)


def _rewritten(place: Place, call: ast.Call, mask: ast.expr, torch: str) -> str | None:
    """The text for a reduction or a loss over selected values."""
    source, name = place.source, dotted(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")
    keep = source.slice(node_span(source, mask))
    if name in _LOSSES and resolved(place, dotted(call.func)).startswith("torch.nn.functional."):
        return _loss(place, call, keep, torch)
    operand = _reduced(place, call) if name in _REDUCTIONS else None
    if operand is None or not is_steady(place, operand, mask):
        return None
    chosen = f"{torch}.where({keep}, {unmasked(place, operand)}, 0)"
    return _averaged(chosen, keep) if name == "mean" else f"{chosen}.{name}()"


def _loss(place: Place, call: ast.Call, keep: str, torch: str) -> str | None:
    if call.keywords or len(call.args) != 2 or any(mask_of(place, arg) is None for arg in call.args):
        return None
    source = place.source
    if len({source.slice(node_span(source, mask)) for arg in call.args if (mask := mask_of(place, arg))}) != 1:
        return None
    function = source.slice(node_span(source, call.func))
    values = ", ".join(unmasked(place, arg) for arg in call.args)
    return _averaged(f'{torch}.where({keep}, {function}({values}, reduction="none"), 0)', keep)


def _averaged(chosen: str, keep: str) -> str:
    return f"{chosen}.sum() / {keep if is_primary(keep) else f'({keep})'}.sum()"


def _reduced(place: Place, call: ast.Call) -> ast.expr | None:
    """What `value.sum()` or `torch.sum(value)` goes over; None where it goes over some dimensions only."""
    if call.keywords:
        return None
    if isinstance(call.func, ast.Attribute) and resolved(place, dotted(call.func)).startswith("torch."):
        return call.args[0] if len(call.args) == 1 else None
    return call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None


def is_steady(place: Place, node: ast.expr, mask: ast.expr) -> bool:
    """Whether an expression works element by element, has a slope everywhere, and its every tensor is selected by the one mask."""
    own = mask_of(place, node)
    if own is not None:
        return ast.dump(own) == ast.dump(mask)
    if isinstance(node, ast.BinOp):
        power = isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value in (1, 2, 3, 4)
        scaled = isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant)
        if not (isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)) or power or scaled):
            return False
        return all(isinstance(side, ast.Constant) or is_steady(place, side, mask) for side in (node.left, node.right))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and is_steady(place, node.operand, mask)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STEADY:
        constant = all(isinstance(arg, ast.Constant) for arg in [*node.args, *(keyword.value for keyword in node.keywords)])
        return constant and is_steady(place, node.func.value, mask)
    return False


def mask_of(place: Place, node: ast.AST) -> ast.expr | None:
    """The mask of `x[mask]`, `torch.masked_select(x, mask)` or `x.masked_select(mask)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        simple = isinstance(node.slice, (ast.Name, ast.Attribute, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call))
        number = isinstance(node.slice, ast.UnaryOp) and not isinstance(node.slice.op, ast.Invert)
        return node.slice if simple and not number else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "masked_select" and not node.keywords:
        return node.args[-1] if node.args else None
    return None


def selected_from(node: ast.AST) -> ast.expr | None:
    """What a selection by a mask selects from."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.args[0] if len(node.args) == 2 else node.func.value
    return None


def unmasked(place: Place, node: ast.expr) -> str:
    """The text of an expression with every selection in it left out."""
    source, whole = place.source, node_span(place.source, node)
    edits = [edit for part in ast.walk(node) if mask_of(place, part) is not None for edit in _without_mask(source, part)]
    text = source.apply(edits).text
    return text[source.offset(whole.start) : len(text) - (len(source.text) - source.offset(whole.end))]


def _without_mask(source: SourceFile, node: ast.AST) -> list[Edit]:
    span = node_span(source, node)
    if isinstance(node, ast.Subscript):
        return [Edit(Span(node_span(source, node.value).end, span.end), "")]
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    value = node.args[0] if len(node.args) == 2 else node.func.value
    return [Edit(Span(Position(span.start.line, span.start.column), span.end), source.slice(node_span(source, value)))]


def _inside(call: ast.Call, node: ast.AST) -> bool:
    """Whether a node stands in what a call computes with, its own arguments and its receiver."""
    return any(part is node for part in ast.walk(call)) and call is not node


def _fits(place: Place, call: ast.Call, mask: ast.expr, facts: Facts) -> bool:
    """Whether mask and values certainly have one shape."""
    shape = value_of(mask, facts)
    values = [selected_from(part) for part in ast.walk(call) if mask_of(place, part) is not None]
    found = [value_of(value, facts) for value in values if value is not None]
    return shape is not None and bool(found) and all(value is not None and value.shape == shape.shape for value in found)
