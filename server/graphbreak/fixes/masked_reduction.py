"""Sum, average or compare only what a mask lets through, without taking it out: with `torch.where`, whose result has a fixed size.

Before:

    keep = x > 0
    total = x[keep].sum()
    error = (a[keep] - b[keep]).pow(2).mean()
    loss = F.mse_loss(a[keep], b[keep])

After (one fix each):

    keep = x > 0
    total = torch.where(keep, x, 0).sum()
    error = torch.where(keep, a - b, 0).pow(2).sum() / keep.sum()
    loss = F.mse_loss(torch.where(keep, a, 0), torch.where(keep, b, 0), reduction="sum") / keep.sum()

What the mask leaves out is exchanged before anything is computed that has no finite slope at infinities or NaN, which it may be there for.

When it is not safe: the mask must have the shape of what it is put on. Where the code shows that (`keep = x > 0`) the fix is safe, else it
says that it changes behaviour, and the trial decides. A sum of numbers of 16 bits may be too large for them where their average is not, so
an average is safe only for arguments that were of 32 or 64 bits when traced. It is not offered where a value that the mask leaves out could
become something that its gradient spoils (a quotient, a logarithm).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, SourceFile, Span
from .branches import known_facts
from .conditions import is_primary
from .edits import finished, torch_name
from .imports import resolved
from .model import FixContext
from .operations import is_cheap
from .regions import compiled_place
from .syntax import Place, dotted, first_line, own_nodes
from .values import Facts, value_of, with_known

_REDUCTIONS = frozenset({"sum", "mean", "nansum"})
_LINEAR = frozenset({"neg", "float", "double", "half", "long", "int", "clamp", "relu"})
"""Methods through which a gradient of zero stays zero, whatever the values."""
_STEADY = _LINEAR | {"abs", "square", "pow"}
_LOSSES = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
_POWERS = (1, 2, 3, 4)
_WIDE = re.compile(r"(?:^|, )(\w+): f(?:32|64)\[")
_BINDING = (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Await)


def masked_reduction(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Rewrite the reduction around the selection that broke, the outermost where several would do."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    mask = mask_of(place, place.node) if place is not None else None
    if place is None or place.function is None or torch is None or mask is None:
        return None
    if any(isinstance(node, ast.JoinedStr) for node in place.inside):
        return None
    calls = [node for node in place.inside[:-1] if isinstance(node, ast.Call) and _inside(node, place.node)]
    call, text = next(((call, text) for call in calls if (text := _rewritten(place, call, mask, torch[0]))), (None, None))
    if call is None or text is None:
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, place.node, context), place.function, place.node)
    wide = _wide_names(place, diagnostic.path, context)
    safe = _fits(place, call, mask, facts) and _keeps_type(place, call, mask, facts, wide)
    edit = Edit(node_span(place.source, call), text)
    safety = Safety.SAFE if safe else Safety.CHANGES_BEHAVIOUR
    return finished("Keep the size and leave out with `torch.where`", place.source, (*torch[1], edit), safety)


def _rewritten(place: Place, call: ast.Call, mask: ast.expr, torch: str) -> str | None:
    """The text for a reduction or a loss over selected values."""
    source, name = place.source, _name(call)
    keep = source.slice(node_span(source, mask))
    if name in _LOSSES and resolved(place, dotted(call.func)).startswith("torch.nn.functional."):
        text = _loss(place, call, keep, torch)
    else:
        operand = _reduced(place, call) if name in _REDUCTIONS else None
        text = _of_operand(place, operand, mask, torch) if operand is not None and is_steady(place, operand, mask) else None
        text = f"{text}.sum()" if text is not None and name == "mean" else f"{text}.{name}()" if text is not None else None
    if text is None or name not in _LOSSES | {"mean"}:
        return text if text is None or is_cheap(mask) or text.count(keep) == 1 else None
    text = f"{text} / {keep if is_primary(keep) else f'({keep})'}.sum()"
    outer = next(outer for outer, inner in pairwise(place.chain) if inner is call)
    binds = isinstance(outer, _BINDING) and not (isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.Add, ast.Sub)))
    return (f"({text})" if binds else text) if is_cheap(mask) else None


def _name(call: ast.Call) -> str:
    return dotted(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")


def _loss(place: Place, call: ast.Call, keep: str, torch: str) -> str | None:
    """The sum of a loss that is zero where both values are, as all of these are."""
    if call.keywords or len(call.args) != 2 or any(mask_of(place, arg) is None for arg in call.args):
        return None
    source = place.source
    if len({source.slice(node_span(source, mask)) for arg in call.args if (mask := mask_of(place, arg))}) != 1:
        return None
    function = source.slice(node_span(source, call.func))
    values = ", ".join(f"{torch}.where({keep}, {unmasked(place, arg)}, 0)" for arg in call.args)
    return f'{function}({values}, reduction="sum")'


def _of_operand(place: Place, operand: ast.expr, mask: ast.expr, torch: str) -> str:
    """What is computed of selected values, and zero for all others, as something that takes `.sum()`."""
    keep = place.source.slice(node_span(place.source, mask))
    is_zero = _keeps_zero(place, operand)
    text = guarded(place, operand, mask, torch, chosen=not is_zero or is_linear(place, operand))
    if is_zero and not is_linear(place, operand):
        return text if is_primary(text) else f"({text})"
    return f"{torch}.where({keep}, {text}, 0)"


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
        power = isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value in _POWERS
        scaled = isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant)
        if not (isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)) or power or scaled):
            return False
        return all(isinstance(side, ast.Constant) or is_steady(place, side, mask) for side in (node.left, node.right))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and is_steady(place, node.operand, mask)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STEADY:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        constant = all(isinstance(arg, ast.Constant) and (node.func.attr != "pow" or arg.value in _POWERS) for arg in given)
        return constant and is_steady(place, node.func.value, mask)
    return False


def is_linear(place: Place, node: ast.expr) -> bool:
    """Whether a gradient of zero stays zero through a steady expression, also where the values are infinite or NaN."""
    return isinstance(node, ast.Constant) or mask_of(place, node) is not None or (_is_linear(node) and _all(is_linear, place, node))


def guarded(place: Place, node: ast.expr, mask: ast.expr, torch: str, chosen: bool) -> str:
    """The text of a steady expression without its selections, in which what is not linear computes with zero where the mask lets nothing
    through. `chosen` says that what comes of it is chosen by the mask anyway."""
    source, whole = place.source, node_span(place.source, node)
    text = source.apply(list(_guards(place, node, mask, torch, chosen))).text
    return text[source.offset(whole.start) : len(text) - (len(source.text) - source.offset(whole.end))]


def _guards(place: Place, node: ast.expr, mask: ast.expr, torch: str, chosen: bool) -> Iterator[Edit]:
    if isinstance(node, ast.Constant):
        return
    if not is_linear(place, node):
        for operand in _operands(node):
            yield from _guards(place, operand, mask, torch, chosen and _is_linear(node))
    elif chosen:
        yield from (_without_mask(place.source, part) for part in selections(place, node))
    else:
        keep = place.source.slice(node_span(place.source, mask))
        yield Edit(_with_parentheses(place.source, node_span(place.source, node)), f"{torch}.where({keep}, {unmasked(place, node)}, 0)")


def _is_linear(node: ast.expr) -> bool:
    """Whether a steady operation gives its operands no gradient where it gets none."""
    if isinstance(node, ast.BinOp):
        scaled = isinstance(node.op, (ast.Mult, ast.Div)) and any(isinstance(side, ast.Constant) for side in (node.left, node.right))
        return scaled or isinstance(node.op, (ast.Add, ast.Sub))
    return isinstance(node, ast.UnaryOp) or (isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _LINEAR)


def _keeps_zero(place: Place, node: ast.expr) -> bool:
    """Whether a steady expression is zero where everything in it that is selected is."""
    if isinstance(node, ast.Constant):
        return not node.value
    if mask_of(place, node) is not None:
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.Div)):
        return _keeps_zero(place, node.left)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _keeps_zero(place, node.left) or _keeps_zero(place, node.right)
    return getattr(getattr(node, "func", None), "attr", "") != "clamp" and _all(_keeps_zero, place, node)


def _all(asks: Callable[[Place, ast.expr], bool], place: Place, node: ast.expr) -> bool:
    return all(asks(place, operand) for operand in _operands(node))


def _operands(node: ast.expr) -> tuple[ast.expr, ...]:
    """What a steady operation computes with."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.UnaryOp):
        return (node.operand,)
    return (node.func.value,) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ()


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


def selections(place: Place, node: ast.AST) -> Iterator[ast.expr]:
    """The selections in an expression, none inside another."""
    if isinstance(node, ast.expr) and mask_of(place, node) is not None:
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from selections(place, child)


def unmasked(place: Place, node: ast.expr) -> str:
    """The text of an expression with every selection in it left out."""
    source, whole = place.source, node_span(place.source, node)
    own = selected_from(node) if mask_of(place, node) is not None else None
    if own is not None:
        return source.slice(node_span(source, own))
    text = source.apply([_without_mask(source, part) for part in selections(place, node)]).text
    return text[source.offset(whole.start) : len(text) - (len(source.text) - source.offset(whole.end))]


def _without_mask(source: SourceFile, node: ast.expr) -> Edit:
    value = selected_from(node)
    assert value is not None
    text = source.slice(node_span(source, value))
    return Edit(node_span(source, node), text if is_primary(text) else f"({text})")


def _with_parentheses(source: SourceFile, span: Span) -> Span:
    """The span of an operand with the parentheses around it, if there are any."""
    start, end = source.offset(span.start), source.offset(span.end)
    before, behind = source.text[:start].rstrip(), source.text[end:].lstrip()
    if not (before.endswith("(") and behind.startswith(")")):
        return span
    return Span(source.position(len(before) - 1), source.position(len(source.text) - len(behind) + 1))


def _inside(call: ast.Call, node: ast.AST) -> bool:
    """Whether a node stands in what a call computes with, its own arguments and its receiver."""
    return any(part is node for part in ast.walk(call)) and call is not node


def _fits(place: Place, call: ast.Call, mask: ast.expr, facts: Facts) -> bool:
    """Whether mask and values certainly have one shape."""
    shape, found = value_of(mask, facts), [value_of(value, facts) for value in _selected(place, call)]
    return shape is not None and bool(found) and all(value is not None and value.shape == shape.shape for value in found)


def _keeps_type(place: Place, call: ast.Call, mask: ast.expr, facts: Facts, wide: frozenset[str]) -> bool:
    """Whether the values are certainly floating where it matters, and where a sum takes the place of an average, not of 16 bits."""
    kinds = [value.kind if (value := value_of(part, facts)) is not None else frozenset() for part in _selected(place, call)]
    if _name(call) in _LOSSES | {"mean"}:
        return all(kind and kind <= wide | {"float32?"} for kind in kinds)
    operand = _reduced(place, call)
    return operand is None or is_linear(place, operand) or all(kind and kind <= facts.floating | {"float32?"} for kind in kinds)


def _selected(place: Place, call: ast.Call) -> list[ast.expr]:
    """What the selections under a call select from."""
    parts = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
    return [value for part in parts for node in selections(place, part) if (value := selected_from(node)) is not None]


def _wide_names(place: Place, path: str, context: FixContext) -> frozenset[str]:
    """The arguments that are never assigned and were tensors of 32 or 64 bits in all traced calls."""
    assert place.function is not None
    calls = context.inputs.get((path, place.function.lineno - 1), frozenset())
    found = [frozenset(_WIDE.findall(call)) for call in calls]
    assigned = {node.id for node in own_nodes(place.function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return frozenset.intersection(*found) - assigned if found else frozenset()
