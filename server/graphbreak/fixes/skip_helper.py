"""Leave a helper that returns nothing at once when its caller is compiled.

Before:

    def note(tag, value):
        with open(JOURNAL, "a") as file:
            file.write(f"{tag} {value.shape}\\n")

After:

    def note(tag, value):
        if torch.compiler.is_compiling():
            return
        with open(JOURNAL, "a") as file:
            file.write(f"{tag} {value.shape}\\n")

One edit for all that call it.

When it is not safe: what the helper does beside computing (it returns nothing) is no longer done in compiled code, which the title says.
It is not offered for a helper that has operations in a graph, changes one of its arguments, or is what is compiled.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from . import regions
from .disable_helper import is_plain_function
from .edits import finished, indent_unit, indentation, insertion, torch_name
from .model import FixContext
from .syntax import Place, first_line, names_a_write, own_nodes


def skip_helper(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Return early from the function that holds the break, if it gives nothing back."""
    place = regions.compiled_place(diagnostic, context)
    function = place.function if place is not None else None
    if place is None or not isinstance(function, ast.FunctionDef) or not _can_be_left(place, function, diagnostic, context):
        return None
    torch = torch_name(place.source, first_line(place.top))
    body = _first_statement(function)
    if torch is None or body is None or body.lineno == function.lineno:
        return None
    source, line = place.source, first_line(body)
    own = indentation(source.line(line))
    text = f"{own}if {torch[0]}.compiler.is_compiling():{source.newline}{own}{indent_unit(place.top, source)}return{source.newline}"
    title = f"Leave `{function.name}` at once when its caller is compiled"
    return finished(title, source, (*torch[1], insertion(line, text)), Safety.CHANGES_BEHAVIOUR)


def _can_be_left(place: Place, function: ast.FunctionDef, diagnostic: Diagnostic, context: FixContext) -> bool:
    path = diagnostic.path
    special = function.name.startswith("__") and function.name.endswith("__")
    marked = any(regions.is_marked(outer, path, context) for outer in place.functions)
    if special or marked or not is_plain_function(function) or regions.is_entry(function, diagnostic):
        return False
    if regions.captures(path, function, context) or regions.calls_captured(place, function, context):
        return False
    gives = any(isinstance(node, ast.Return) and not _is_none(node.value) for node in own_nodes(function))
    return not gives and not any(_changes(node, function) for node in own_nodes(function))


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _changes(node: ast.AST, function: ast.FunctionDef) -> bool:
    """Whether a node may change what the caller gave, or a name outside."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        root = node.value
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        parameters = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
        return not isinstance(root, ast.Name) or root.id in parameters
    method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return names_a_write(method)


def _first_statement(function: ast.FunctionDef) -> ast.stmt | None:
    """The first statement behind the docstring."""
    first, *rest = function.body
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return (rest[0] if rest else None) if is_docstring else first
