"""Leave rows out of a cross entropy by their label, which keeps the size, in place of selecting them.

Before:

    keep = labels >= 0
    loss = F.cross_entropy(logits[keep], labels[keep])

After:

    keep = labels >= 0
    loss = F.cross_entropy(logits.flatten(0, -2), torch.where(keep, labels, -100).flatten())

-100 is the label that `cross_entropy` and `nll_loss` leave out, in the sum and in the number that it is divided by.

When it is not safe: the mask must have the shape of the labels. Where the code shows that the fix is safe, else it says that it changes
behaviour. It is not offered with other arguments than `reduction`, nor where the rows that are left out are wanted (`reduction="none"`).
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .conditions import is_primary
from .edits import finished, torch_name
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .syntax import Place, dotted, first_line
from .values import value_of, with_known

_LOSSES = frozenset({"torch.nn.functional.cross_entropy", "torch.nn.functional.nll_loss"})


def ignored_labels(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Rewrite the loss whose operands were selected."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    call = next((node for node in reversed(place.chain) if isinstance(node, ast.Call)), None) if place is not None else None
    if place is None or place.function is None or torch is None or call is None or resolved(place, dotted(call.func)) not in _LOSSES:
        return None
    selected = _selected(call)
    if selected is None or not all(keyword.arg == "reduction" and _is_total(keyword.value) for keyword in call.keywords):
        return None
    logits, labels = (place.source.slice(node_span(place.source, node.value)) for node in selected)
    keep = place.source.slice(node_span(place.source, selected[0].slice))
    receiver = logits if is_primary(logits) else f"({logits})"
    edits = (
        Edit(node_span(place.source, selected[0]), f"{receiver}.flatten(0, -2)"),
        Edit(node_span(place.source, selected[1]), f"{torch[0]}.where({keep}, {labels}, -100).flatten()"),
    )
    safety = Safety.SAFE if _fits(place, selected[1], diagnostic, context) else Safety.CHANGES_BEHAVIOUR
    return finished("Leave rows out by their label (-100)", place.source, (*torch[1], *edits), safety)


def _selected(call: ast.Call) -> tuple[ast.Subscript, ast.Subscript] | None:
    """The two operands, where both are selected by one mask."""
    if len(call.args) != 2:
        return None
    logits, labels = call.args
    if not isinstance(logits, ast.Subscript) or not isinstance(labels, ast.Subscript) or ast.dump(logits.slice) != ast.dump(labels.slice):
        return None
    return (logits, labels) if isinstance(logits.slice, (ast.Name, ast.Compare, ast.UnaryOp, ast.BinOp, ast.Attribute)) else None


def _is_total(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in ("mean", "sum")


def _fits(place: Place, labels: ast.Subscript, diagnostic: Diagnostic, context: FixContext) -> bool:
    function = place.function
    assert function is not None
    facts = with_known(known_facts(function, diagnostic.path, place.node, context), function, place.node)
    mask, value = value_of(labels.slice, facts), value_of(labels.value, facts)
    return mask is not None and value is not None and mask.shape == value.shape
