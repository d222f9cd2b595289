"""Enter a context manager only in eager mode, where it times, logs or profiles what is done in it.

Before:

    with Scope("heads"):
        a = self.q1(pair)

After:

    with contextlib.nullcontext() if torch.compiler.is_compiling() else Scope("heads"):
        a = self.q1(pair)

The edit is made where the code is entered, which may be another file than the one that breaks.

When it is not safe: compiled code no longer enters it, which the title says. It is not offered where what it gives is used (`as file`), and
not for torch's own modes and locks, which change what is computed.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished, module_name, torch_name
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .syntax import Place, dotted, first_line, locate

_COMPUTING = (
    *("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.autocast", "torch.amp", "torch.set_grad_enabled"),
    *("torch.random", "torch.device", "torch.cuda", "torch.autograd.set", "torch.utils", "torch.nn.attention", "torch.nn.utils"),
    *("threading", "warnings", "contextlib.suppress", "unittest", "numpy", "decimal"),
)


def eager_scope(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Guard the `with` that enters what broke."""
    if compiled_place(diagnostic, context) is None:
        return None
    for place, item in _entered(diagnostic, context):
        torch, module = torch_name(place.source, first_line(place.top)), module_name(place.source, "contextlib", first_line(place.top))
        if torch is None or module is None or not _can_be_left(place, item):
            return None
        span = node_span(place.source, item.context_expr)
        text = f"{module[0]}.nullcontext() if {torch[0]}.compiler.is_compiling() else {place.source.slice(span)}"
        edit = Edit(span, text if _stands_alone(place, item) else f"({text})")
        title = f"Enter `{dotted(getattr(item.context_expr, 'func', item.context_expr))}` only in eager mode"
        return finished(title, place.source, (*torch[1], *module[1], edit), Safety.CHANGES_BEHAVIOUR)
    return None


def _entered(diagnostic: Diagnostic, context: FixContext) -> list[tuple[Place, ast.withitem]]:
    """The `with` heads on the way to the break, the innermost first."""
    spans = [(frame.path, frame.span) for frame in diagnostic.stack if not frame.library and frame.span is not None]
    found = []
    for path, span in [(diagnostic.path, diagnostic.span), *reversed(spans)]:
        source = context.sources.get(path)
        place = locate(source, span) if source is not None else None
        item = _item(place) if place is not None else None
        if place is not None and item is not None:
            found.append((place, item))
    return found


def _item(place: Place) -> ast.withitem | None:
    """The only item of the `with` whose head a place stands in."""
    inside = next((node for node in place.chain if isinstance(node, ast.withitem)), None)
    if inside is not None:
        return inside
    statement = place.statement
    return statement.items[0] if isinstance(statement, ast.With) and len(statement.items) == 1 and place.node is statement else None


def _can_be_left(place: Place, item: ast.withitem) -> bool:
    name = resolved(place, dotted(getattr(item.context_expr, "func", item.context_expr)))
    if item.optional_vars is not None or "lock" in name.lower() or "is_compiling" in ast.dump(item.context_expr):
        return False
    return bool(dotted(getattr(item.context_expr, "func", item.context_expr))) and not name.startswith(_COMPUTING) and name != "open"


def _stands_alone(place: Place, item: ast.withitem) -> bool:
    statement = next(node for node in ast.walk(place.module) if isinstance(node, (ast.With, ast.AsyncWith)) and item in node.items)
    return len(statement.items) == 1
