"""Do something only in eager mode that no compiled code needs: save a file, collect garbage, ask for a gradient of a value in between.

Before:

    gc.collect()
    hidden.requires_grad = True

After:

    if not torch.compiler.is_compiling():
        gc.collect()
    if not torch.compiler.is_compiling():
        hidden.requires_grad = True

When it is not safe: compiled code no longer does it, which the title says. It is offered for calls that are known to have nothing to do
with what the function computes, and for `requires_grad` where the function itself does not take that gradient. It is not offered where
the statement shares its line with another one, or where it cannot be indented.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from .edits import block_start, finished, torch_name
from .extraction import Unmovable
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .statements import under_header
from .syntax import Place, dotted, own_nodes

_CALLS = frozenset(
    {"gc.collect", "gc.freeze", "time.sleep", "os.makedirs", "os.mkdir", "json.dump", "pickle.dump", "numpy.save", "numpy.savez"}
    | {"numpy.savetxt", "torch.save", "torch.cuda.synchronize", "torch.cuda.empty_cache", "torch.cuda.reset_peak_memory_stats"}
    | {"torch.cuda.nvtx.range_push", "torch.cuda.nvtx.range_pop", "wandb.log", "mlflow.log_metric", "mlflow.log_metrics"}
    | {"sys.stdout.flush", "sys.stderr.flush", "traceback.print_stack", "faulthandler.dump_traceback"}
)
_METHODS = frozenset(
    {"add_scalar", "add_scalars", "add_histogram", "add_image", "add_text", "log_metric", "log_metrics", "log_dict", "tofile", "flush"}
)


def eager_statement(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Guard the statement that broke."""
    place = compiled_place(diagnostic, context)
    what = _what(place) if place is not None else ""
    torch = torch_name(place.source, block_start(place.source, place.top)) if place is not None else None
    if place is None or torch is None or not what or any(isinstance(node, ast.NamedExpr) for node in ast.walk(place.statement)):
        return None
    try:
        edits = under_header(place, place.statement, f"if not {torch[0]}.compiler.is_compiling():")
    except Unmovable:
        return None
    return finished(f"{what} only in eager mode", place.source, (*torch[1], *edits), Safety.CHANGES_BEHAVIOUR)


def _what(place: Place) -> str:
    """What the statement does, as a title begins; nothing where compiled code may need it."""
    statement = place.statement
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        gradient = isinstance(target, ast.Attribute) and target.attr == "requires_grad"
        return "Set `requires_grad`" if gradient and not _takes_gradients(place) else ""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return ""
    function = statement.value.func
    method = function.attr if isinstance(function, ast.Attribute) else ""
    if method == "requires_grad_":
        return "" if _takes_gradients(place) else "Set `requires_grad`"
    if resolved(place, dotted(function)) in _CALLS or method in _METHODS:
        return f"Call `{dotted(function) or method}`"
    return ""


def _takes_gradients(place: Place) -> bool:
    """Whether the functions around a place ask for a gradient themselves."""
    words = {"grad", "backward", "retain_grad", "register_hook", "is_leaf"}
    nodes = [node for function in place.functions for node in own_nodes(function)]
    return any(isinstance(node, ast.Attribute) and node.attr in words for node in nodes)
