"""Move what breaks out of the compiled function, into a small disabled helper right above it.

Before:

    @torch.compile
    def f(x):
        print("mid")
        score = x.sum().item()
        if x.mean() > 0:

After (one fix each):

    @torch.compiler.disable(reason="Dynamo cannot trace print")
    def _print():
        print("mid")

    @torch.compile
    def f(x):
        _print()
        score = _item(x.sum())             # return value.item()
        if _condition(x.mean() > 0):       # return bool(value)

The operations stay in the graph and their values are passed; only the call that breaks, or the decision, moves.

When it is not safe, and so not offered: in a loop or comprehension, or in a `with` or `try` that Dynamo does not resume in
(the whole frame would stay eager); where the text means something else in another function (`super()`, `locals()`,
`stacklevel=`, private names of a class, `yield`, `await`); where a string over several lines would have to be indented
anew; where library code below the call may have operations in a graph. A log record names the helper as its function.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix
from ..core.parsing import parse_module
from ..core.places import node_span
from ..core.source import Edit, SourceFile, Span
from . import regions
from .call_site import can_be_call
from .disable_helper import is_plain_function
from .edits import block_start, definition_above, finished, indent_unit, indentation, shortened, torch_name
from .extraction import Extraction, Unmovable, extract, is_written, reindented
from .model import FixContext
from .names import fresh, local_names, numbered
from .reasons import disabled
from .syntax import Place, dotted, first_line


def disable_statement(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Extract the expression that broke, or the value of the condition that did."""
    place = regions.broken_place(diagnostic, context)
    if place is None or place.function is None or not is_plain_function(place.function) or not can_be_call(place, diagnostic, context):
        return None
    torch = torch_name(place.source, block_start(place.source, place.top))
    if torch is None or not isinstance(place.node, ast.expr) or not is_written(place.source, place.node):
        return None
    if regions.is_branch(diagnostic) or _is_negation(place.node):
        return _moved_decision(place, place.node, torch, diagnostic)
    if regions.callee_may_capture(diagnostic, context):
        return None
    try:
        return _moved_expression(place, place.node, torch, diagnostic, context)
    except Unmovable:
        return None


def _moved_decision(place: Place, test: ast.expr, torch: tuple[str, tuple[Edit, ...]], diagnostic: Diagnostic) -> Fix | None:
    """Take the truth of a tensor outside of the graph; what it is the truth of is computed as before."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, (ast.BoolOp, ast.IfExp)) or (isinstance(test, ast.Compare) and len(test.ops) > 1):
        return None  # several decisions: which one broke is not known
    source, span = place.source, node_span(place.source, test)
    mark = disabled(torch[0], diagnostic, test)
    name, definition = _helper(place, "_condition", Extraction(("value",), (), "bool(value)"), mark, torch[1], returns=True)
    opening, closing = Edit(Span(span.start, span.start), f"{name}("), Edit(Span(span.end, span.end), ")")
    return finished(_title(source.slice(span)), source, (*definition, opening, closing))


def _moved_expression(
    place: Place, node: ast.expr, torch: tuple[str, tuple[Edit, ...]], diagnostic: Diagnostic, context: FixContext
) -> Fix | None:
    source, function = place.source, place.functions[-1]
    local = local_names(source, function)
    if local is None:
        return None
    # With nothing captured at all, nothing is known either: then operands stay too, which is right in any case.
    keep = not context.captured or regions.captures(source.path, node, context)
    extraction = extract(source, node, local, keep)
    returns = not (isinstance(place.statement, ast.Expr) and place.statement.value is node)
    name, definition = _helper(place, _wish(node), extraction, disabled(torch[0], diagnostic, node), torch[1], returns)
    call = Edit(node_span(source, node), extraction.call(name))
    return finished(_title(source.slice(node_span(source, node))), source, (*definition, call))


def _helper(
    place: Place, wish: str, extraction: Extraction, mark: str, imports: tuple[Edit, ...], returns: bool
) -> tuple[str, tuple[Edit, ...]]:
    """The name of the helper and the edits that define it; an equal one that the module has is used again."""
    source, unit = place.source, indent_unit(place.top, place.source)
    body = reindented(extraction.body, indentation(source.line(first_line(place.statement))), unit)
    name = fresh(source, wish)
    text = _definition(name, extraction.parameters, body, mark, unit, source, returns)
    for other in numbered(wish):
        if other == name:
            return name, (*imports, definition_above(source, place.top, text))
        if _has_equal(place.module, other, _definition(other, extraction.parameters, body, mark, unit, source, returns)):
            return other, ()
    raise AssertionError("the numbers do not end")


def _definition(name: str, parameters: tuple[str, ...], body: str, mark: str, unit: str, source: SourceFile, returns: bool) -> str:
    header = f"@{mark}{source.newline}def {name}({', '.join(parameters)}):{source.newline}{unit}"
    prefix = "return " if returns else ""
    try:
        parse_module(header + prefix + body)
    except SyntaxError:
        body = f"({body})"  # its lines were held together by parentheses that stay behind
    return header + prefix + body


def _has_equal(module: ast.Module, name: str, text: str) -> bool:
    wanted = _inner(parse_module(text).body[0])
    return any(_is_kept_out(statement) and _inner(statement) == wanted for statement in module.body)


def _is_kept_out(statement: ast.stmt) -> bool:
    """Whether a function is disabled and no more, for whatever reason."""
    marks = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    names = [dotted(mark.func if isinstance(mark, ast.Call) and not mark.args else mark) for mark in marks]
    return len(names) == 1 and names[0].endswith("compiler.disable")


def _inner(statement: ast.stmt) -> list[str]:
    """A function without its decorators."""
    assert isinstance(statement, ast.FunctionDef)
    return [statement.name, ast.dump(statement.args), *map(ast.dump, statement.body)]


def _is_negation(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _wish(node: ast.expr) -> str:
    """A name that says what the helper does."""
    if isinstance(node, ast.Call):
        name = dotted(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
        return "_" + (name.strip("_") or "call")
    if isinstance(node, ast.Attribute):
        return "_" + (node.attr.strip("_") or "read")
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)):
        return "_format"
    return "_select" if isinstance(node, ast.Subscript) else "_compute"


def _title(text: str) -> str:
    return f"Move `{shortened(text)}` into a disabled helper"
