"""Let the compiler behind Dynamo trace a helper that Dynamo itself cannot: `torch._dynamo.nonstrict_trace`.

Before:

    def spread(y, names):
        for name in names:
            y = y.sin() * (zlib.crc32(name.encode()) % 7)
        return y

After:

    @torch._dynamo.nonstrict_trace
    def spread(y, names):
        for name in names:
            y = y.sin() * (zlib.crc32(name.encode()) % 7)
        return y

The helper becomes one call of the graph; when that is compiled, Python runs the helper with stand-ins for its tensors, and the operations
that they meet are compiled along with the others. It is offered where the helper runs wholly in eager mode because of the break: where
Dynamo has operations of it in a graph, its graph would only lose them.

When it is not safe: what Python decides in the helper is decided once, while it is compiled, and nothing guards it; that changes
behaviour, which the title says. It is not offered where the break depends on the data of a tensor, for methods, and for a helper that
writes or prints, uses tensors or modules that it is not given (they would get no gradient), asks for what differs from call to call, or
works in place.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.parsing import literal
from . import regions
from .disable_helper import is_plain_function
from .edits import finished, insertion, torch_name
from .effects import acts
from .model import FixContext
from .names import is_builtin, local_names, module_binders
from .syntax import DEFINITIONS, Place, dotted, first_line, names_a_write, own_nodes
from .values import Facts, facts_of

_ON_DATA = frozenset({"GB0124", "GB0170", "GB0033", "GB0034", "GB0035", "GB0036"})
_ASKS_FOR_DATA = frozenset(
    {"item", "tolist", "numpy", "nonzero", "unique", "data_ptr", "backward", "requires_grad_", "retain_grad", "masked_select"}
)
_KNOWN = (*DEFINITIONS, ast.Import, ast.ImportFrom)


def nonstrict_helper(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Decorate the helper that holds the break."""
    place = regions.compiled_place(diagnostic, context)
    function = place.function if place is not None else None
    if place is None or not isinstance(function, ast.FunctionDef) or function is not place.top or diagnostic.code in _ON_DATA:
        return None
    torch = torch_name(place.source, first_line(function))
    if torch is None or function.decorator_list or not is_plain_function(function) or not _is_pure(place, function, context):
        return None
    if regions.is_branch(diagnostic) or regions.is_marked(function, diagnostic.path, context) or regions.is_entry(function, diagnostic):
        return None
    mark = insertion(function.lineno - 1, f"@{torch[0]}._dynamo.nonstrict_trace{place.source.newline}")
    title = f"Let the compiler trace `{function.name}`, which Dynamo cannot (nonstrict_trace)"
    fix = finished(title, place.source, (*torch[1], mark), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch._dynamo.nonstrict_trace",), admits=True) if fix is not None else None


def _is_pure(place: Place, function: ast.FunctionDef, context: FixContext) -> bool:
    """Whether a helper computes what it gives from what it is given, functions and constants, and has no operation in a graph."""
    local = local_names(place.source, function)
    if local is None or not _takes_a_tensor(function) or regions.captures(place.source.path, function, context):
        return False
    nodes = list(own_nodes(function))
    gives = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    return gives and not any(acts(place, node, local) or _is_unsuited(place, node, local) for node in nodes)


def _takes_a_tensor(function: ast.FunctionDef) -> bool:
    annotated = [dotted(node.annotation) for node in function.args.args if node.annotation is not None]
    return bool(facts_of(function, Facts()).tensors) or any(name.rpartition(".")[2] == "Tensor" for name in annotated)


def _is_unsuited(place: Place, node: ast.AST, local: frozenset[str]) -> bool:
    if isinstance(node, (ast.Subscript, ast.AugAssign)) and not isinstance(getattr(node, "ctx", ast.Store()), ast.Load):
        return True
    if isinstance(node, ast.Call):
        method = getattr(node.func, "attr", "")
        return method in _ASKS_FOR_DATA or names_a_write(method)
    return isinstance(node, ast.Name) and node.id not in local and not _is_constant(place, node.id)


def _is_constant(place: Place, name: str) -> bool:
    """Whether a name of the module is a function, a class, an import or a plain constant."""
    binders = module_binders(place.module, name)
    if not binders:
        return is_builtin(name)
    plain = [b for b in binders if isinstance(b, _KNOWN) or (isinstance(b, ast.Assign) and _is_literal(b.value))]
    return len(plain) == len(binders)


def _is_literal(node: ast.expr) -> bool:
    try:
        literal(ast.unparse(node))
    except (ValueError, TypeError, SyntaxError):
        return False
    return True
