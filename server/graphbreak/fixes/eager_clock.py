"""Read the clock only in eager mode; compiled code, which cannot time its own parts, sees 0.

Before:

    began = time.perf_counter()
    y = model(x)
    spent = time.perf_counter() - began

After:

    began = 0.0 if torch.compiler.is_compiling() else time.perf_counter()
    y = model(x)
    spent = (0.0 if torch.compiler.is_compiling() else time.perf_counter()) - began

All readings of the function, or of the class that it is a method of, are changed together: a measurement has two ends.

When it is not safe: compiled code measures nothing any more, which the title says. To time a compiled function, read the clock around its
call.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished, torch_name
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .syntax import Place, dotted, first_line

_CLOCKS = dict.fromkeys(("time.time", "time.perf_counter", "time.monotonic", "time.process_time", "time.thread_time"), "0.0")
_CLOCKS |= {f"{name}_ns": "0" for name in _CLOCKS}
_STANDS_ALONE = (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)


def eager_clock(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Put a 0 beside the reading that broke."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    if place is None or torch is None or not _is_reading(place, place.node):
        return None
    scope = next((node for node in reversed(place.chain) if isinstance(node, ast.ClassDef)), place.function)
    found = [edit for outer, node in _readings(place, scope) for edit in _beside(place, outer, node, torch[0])] if scope is not None else []
    return finished("Read the clock only in eager mode (0 when compiled)", place.source, (*torch[1], *found), Safety.CHANGES_BEHAVIOUR)


def _readings(place: Place, scope: ast.AST) -> list[tuple[ast.AST, ast.Call]]:
    """The readings in a function or class, each with the node that it stands in."""
    pairs = [(outer, node) for outer in ast.walk(scope) for node in ast.iter_child_nodes(outer)]
    return [(outer, node) for outer, node in pairs if isinstance(node, ast.Call) and _is_reading(place, node)]


def _is_reading(place: Place, node: ast.AST) -> bool:
    plain = isinstance(node, ast.Call) and not node.args and not node.keywords
    return plain and resolved(place, dotted(node.func)) in _CLOCKS  # type: ignore[attr-defined]


def _beside(place: Place, outer: ast.AST, node: ast.Call, torch: str) -> list[Edit]:
    """The edit that puts a 0 beside a reading, in parentheses where it is a part of something."""
    if isinstance(outer, ast.IfExp) and "is_compiling" in ast.dump(outer.test):
        return []
    span = node_span(place.source, node)
    zero = _CLOCKS[resolved(place, dotted(node.func))]
    text = f"{zero} if {torch}.compiler.is_compiling() else {place.source.slice(span)}"
    return [Edit(span, text if isinstance(outer, _STANDS_ALONE) else f"({text})")]
