"""Keep a helper of the user's own out of the graph: `@torch.compiler.disable` right above its `def`, with the reason.

Before:

    def util(y):
        print("log")
        return y

After:

    @torch.compiler.disable(reason="Dynamo cannot trace print")
    def util(y):
        print("log")
        return y

The compiled caller still splits at the call, now on purpose, and Dynamo no longer tries the helper.

When it is not safe, and so not offered: the helper is what is compiled (then nothing would be); operations in it, or in
what it calls, are in a graph; a caller runs eagerly because of the break (a disabled call in a loop changes nothing
there); it is defined where compiled code runs; it is asynchronous, a generator, or under a decorator that needs more
care than being put on top.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix
from . import regions
from .edits import finished, indentation, insertion, torch_name
from .model import FixContext
from .reasons import disabled
from .syntax import Place, dotted, first_line, own_nodes

_CARELESS = frozenset(
    {"staticmethod", "classmethod", "property", "setter", "cached_property", "abstractmethod", "override", "final", "wraps"}
)
_GRAD_MODES = frozenset({"no_grad", "enable_grad", "inference_mode"})


def disable_helper(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Decorate the function that holds the break, if it can do without being compiled."""
    place = regions.broken_place(diagnostic, context)
    if place is None or not isinstance(place.function, ast.FunctionDef):
        return None
    function, source = place.function, place.source
    if not _can_be_decorated(function) or not _can_be_left_out(place, function, diagnostic, context):
        return None
    torch = torch_name(source, first_line(place.top))
    if torch is None:
        return None
    name, imports = torch
    line = function.lineno - 1
    decorator = insertion(line, f"{indentation(source.line(line))}@{disabled(name, diagnostic, place.node)}{source.newline}")
    return finished(f"Run `{function.name}` outside the graph (@{name}.compiler.disable)", source, (*imports, decorator))


def is_plain_function(function: ast.AST) -> bool:
    """Whether it is a `def` that runs when it is called: not asynchronous, no generator."""
    return isinstance(function, ast.FunctionDef) and not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in own_nodes(function))


def _can_be_decorated(function: ast.FunctionDef) -> bool:
    special = function.name.startswith("__") and function.name.endswith("__") and function.name != "__call__"
    return is_plain_function(function) and not special and all(_is_careless(decorator) for decorator in function.decorator_list)


def _is_careless(decorator: ast.expr) -> bool:
    """Whether a decorator does the same with a disabled function as with the function."""
    name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return name.rpartition(".")[2] in _CARELESS | _GRAD_MODES


def _can_be_left_out(place: Place, function: ast.FunctionDef, diagnostic: Diagnostic, context: FixContext) -> bool:
    path = diagnostic.path
    marked = any(regions.is_marked(f, path, context) for f in (*place.functions, *_functions_in(function)))
    if marked or regions.is_entry(function, diagnostic) or regions.loses_frames(place, diagnostic, context):
        return False
    if regions.captures(path, function, context) or regions.calls_captured(place, function, context):
        return False
    return not regions.runs_compiled(regions.surrounding_lines(place, function), function, diagnostic, context)


def _functions_in(function: ast.FunctionDef) -> list[ast.AST]:
    return [node for node in ast.walk(function) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
