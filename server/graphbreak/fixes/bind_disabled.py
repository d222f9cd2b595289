"""Call a function outside the graph: bind its disabled form where the module is defined, and call that.

Before:

    from reports import report

    @torch.compile
    def step(x):
        report(x)

After:

    from reports import report

    _report = torch.compiler.disable(report, reason="Dynamo cannot trace report")

    @torch.compile
    def step(x):
        _report(x)

Disabling it inside the compiled code would give two breaks; bound outside there is one, and it is intended.

When it is not safe, and so not offered: the callee's operations may be in a graph; the call is in a loop; the name is
not simply a function or an import of the module (a class would be changed itself, an object's method may be another
one later); the callee asks who called it (`warnings`, `logging`). A test that replaces the function in its module no
longer reaches this call.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix
from ..core.parsing import parse_expression
from ..core.places import node_span
from ..core.source import Edit
from . import regions
from .call_site import can_be_call
from .disable_helper import is_plain_function
from .edits import finished, imports_end, line_below, torch_name
from .model import FixContext
from .names import fresh, is_rebound, local_names, module_binders
from .reasons import disabled
from .syntax import Place, dotted, last_line

_ASK_WHO_CALLED = frozenset({"warnings", "logging", "inspect", "sys", "traceback"})


def bind_disabled(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the callee of the call that broke by a disabled binding of it."""
    place = regions.broken_place(diagnostic, context)
    if place is None or not isinstance(place.node, ast.Call) or not can_be_call(place, diagnostic, context):
        return None
    callee, source = dotted(place.node.func), place.source
    binder = _binder(place, callee, context) if callee else None
    if binder is None or regions.callee_may_capture(diagnostic, context):
        return None
    torch = torch_name(source, last_line(place.top) + 1)
    if torch is None:
        return None
    name, binding = _binding(place, callee, torch, binder, diagnostic)
    call = Edit(node_span(source, place.node.func), name)
    return finished(f"Call `{callee}` outside the graph (bound with {torch[0]}.compiler.disable)", source, (*binding, call))


def _binder(place: Place, callee: str, context: FixContext) -> ast.stmt | None:
    """The statement of the module that binds a callee, where that is a function for good."""
    root, last = callee.split(".")[0], callee.rpartition(".")[2]
    binders = module_binders(place.module, root)
    if len(binders) != 1 or last[:1].isupper() or is_rebound(place.source, root):
        return None
    if any((local := local_names(place.source, function)) is None or root in local for function in place.functions):
        return None
    binder = binders[0]
    if isinstance(binder, ast.FunctionDef):
        return binder if "." not in callee and _is_free_function(binder, place, context) else None
    return binder if isinstance(binder, (ast.Import, ast.ImportFrom)) and _is_function_import(binder, callee, context) else None


def _is_free_function(function: ast.FunctionDef, place: Place, context: FixContext) -> bool:
    path = place.source.path
    kept = regions.is_marked(function, path, context) or regions.captures(path, function, context)
    return is_plain_function(function) and not kept and not regions.calls_captured(place, function, context)


def _is_function_import(binder: ast.Import | ast.ImportFrom, callee: str, context: FixContext) -> bool:
    """Whether an import gives a function that can be disabled at once, with what is known without importing it."""
    module = binder.module or "" if isinstance(binder, ast.ImportFrom) else callee.split(".")[0]
    if module.split(".")[0] in _ASK_WHO_CALLED:
        return False
    # A module of the workspace may still be half-way through its own imports: then its functions are not there yet.
    own = {path.replace("\\", "/").rpartition("/")[2].removesuffix(".py") for path in context.sources}
    return isinstance(binder, ast.ImportFrom) or not own.intersection(callee.split(".")[:-1])


def _binding(
    place: Place, callee: str, torch: tuple[str, tuple[Edit, ...]], binder: ast.stmt, diagnostic: Diagnostic
) -> tuple[str, tuple[Edit, ...]]:
    """The name to call and the edits that bind it; a binding that the module has is used again, whatever its reason."""
    source, value = place.source, disabled(torch[0], diagnostic, place.node, callee)
    existing = _bound_to(place.module, f"{torch[0]}.compiler.disable({callee})")
    if existing:
        return existing, ()
    name = fresh(source, "_" + callee.rpartition(".")[2].strip("_"))
    line = max(last_line(binder) + 1, imports_end(source, place.module), _import_line(place.module, torch[0]))
    blank = 2 if isinstance(binder, ast.FunctionDef) and line == last_line(binder) + 1 else 1
    return name, (*torch[1], line_below(source, line, f"{name} = {value}", blank))


def _bound_to(module: ast.Module, value: str) -> str | None:
    wanted = ast.dump(parse_expression(value).body)
    for statement in module.body:
        if isinstance(statement, ast.Assign) and _without_reason(statement.value) == wanted and isinstance(statement.targets[0], ast.Name):
            return statement.targets[0].id
    return None


def _without_reason(value: ast.expr) -> str:
    if isinstance(value, ast.Call):
        value = ast.Call(value.func, value.args, [keyword for keyword in value.keywords if keyword.arg != "reason"])
    return ast.dump(value)


def _import_line(module: ast.Module, name: str) -> int:
    """The line after the statement that imports torch."""
    return max((last_line(binder) + 1 for binder in module_binders(module, name)[:1]), default=0)
