"""Use a number itself where it was put into a tensor only to be taken out again.

Before:

    def half(x, width):
        return x[:, :width]

    def forward(self, x):
        width = torch.IntTensor([self.hidden_size])
        return half(x, width[0])

After:

    def forward(self, x):
        return half(x, self.hidden_size)

The tensor's line goes with its last use. It is looked for where the break is and, where a parameter broke, where the function was called.

When it is not safe, and so not offered: what is in the tensor is no plain number (a name, an attribute, a constant or arithmetic of these);
the name of the tensor is given anew, or the tensor is written to; the function does with its parameter what needs a tensor.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..core.findings import Diagnostic, Fix, Safety
from ..core.nodes import tree_of
from ..core.places import node_span
from ..core.source import Edit, Position, SourceFile, Span
from .branches import is_written_to
from .edits import shortened
from .model import FixContext
from .regions import compiled_place
from .syntax import Function, Place, dotted, first_line, last_line, locate, own_nodes

_WHOLE = frozenset({"IntTensor", "LongTensor"})
_MAKERS = _WHOLE | {"tensor"}


@dataclass(frozen=True)
class Wrapped:
    """An expression that takes a number out of a tensor, the number, and the statement that put it in."""

    source: SourceFile
    function: Function
    expression: ast.expr
    number: ast.expr
    statement: ast.Assign


def unwrap_number(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the expression by the number."""
    place = compiled_place(diagnostic, context)
    if place is None or place.function is None:
        return None
    found = next((one for part in _expressions(place.node) if (one := _wrapped(place.source, place.functions[-1], part))), None)
    found = found or _handed_in(place, diagnostic, context)
    if found is None:
        return None
    source = found.source
    text = source.slice(node_span(source, found.number))
    number = text if isinstance(found.number, (ast.Name, ast.Attribute, ast.Constant)) else f"({text})"
    edits = [Edit(node_span(source, found.expression), number), *_without_last_use(found)]
    if tree_of(source.apply(edits)) is None:
        return None
    title = f"Use `{shortened(text)}` without a tensor around it"
    return Fix(title, Safety.SAFE, {source.path: tuple(sorted(edits, key=lambda edit: edit.span))})


def _expressions(node: ast.AST) -> list[ast.expr]:
    return [part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Subscript)) and isinstance(part.ctx, ast.Load)]


def _wrapped(source: SourceFile, function: Function, expression: ast.expr) -> Wrapped | None:
    """The number in `name` or `name[0]`, where the name is given one tensor of one number, once."""
    if isinstance(expression, ast.Subscript) and isinstance(expression.value, ast.Name):
        name = expression.value.id if isinstance(expression.slice, ast.Constant) and expression.slice.value in (0, -1) else ""
    else:
        name = expression.id if isinstance(expression, ast.Name) else ""
    stores = [node for node in own_nodes(function) if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)]
    made = [node for node in own_nodes(function) if isinstance(node, ast.Assign) and node.targets[0] in stores and len(node.targets) == 1]
    if not name or len(stores) != 1 or len(made) != 1:
        return None
    number = _number_in(made[0].value, isinstance(expression, ast.Subscript))
    if number is None or is_written_to(function, name, made[0]) or _is_given_anew(function, number, made[0]):
        return None
    return Wrapped(source, function, expression, number, made[0])


def _number_in(value: ast.expr, in_list: bool) -> ast.expr | None:
    if not isinstance(value, ast.Call) or dotted(value.func).rpartition(".")[2] not in _MAKERS or len(value.args) != 1:
        return None
    content: ast.expr = value.args[0]
    if isinstance(content, (ast.List, ast.Tuple)) != in_list or any(keyword.arg not in ("dtype", "device") for keyword in value.keywords):
        return None
    if isinstance(content, (ast.List, ast.Tuple)):
        if len(content.elts) != 1:
            return None
        content = content.elts[0]
    whole = dotted(value.func).rpartition(".")[2] in _WHOLE or _is_whole(value)
    return content if whole and _is_plain(content) else None


def _is_whole(call: ast.Call) -> bool:
    """Whether a tensor is one of whole numbers, so that the number comes out as it went in."""
    types = [dotted(keyword.value).rpartition(".")[2] for keyword in call.keywords if keyword.arg == "dtype"]
    return bool(types) and types[0] in ("int64", "long", "int32", "int")


def _is_plain(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        whole = isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv))
        return whole and _is_plain(node.left) and _is_plain(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and isinstance(node.slice, (ast.Constant, ast.UnaryOp))
    return bool(dotted(node)) or (isinstance(node, ast.Constant) and type(node.value) is int)


def _is_given_anew(function: Function, number: ast.expr, statement: ast.stmt) -> bool:
    """Whether a name or attribute of the number is assigned behind the statement."""
    names = {part.id for part in ast.walk(number) if isinstance(part, ast.Name)} | {dotted(number)}
    later = (node for node in own_nodes(function) if getattr(node, "lineno", 0) > statement.lineno)
    return any(dotted(node) in names for node in later if isinstance(getattr(node, "ctx", None), ast.Store))


def _handed_in(place: Place, diagnostic: Diagnostic, context: FixContext) -> Wrapped | None:
    """The argument of the call that led here, where what broke is a parameter that only ever serves as a number."""
    function = place.functions[-1]
    names = [part.id for part in ast.walk(place.node) if isinstance(part, ast.Name)]
    parameters = [arg.arg for arg in function.args.args]
    name = next((name for name in names if name in parameters and _serves_as_number(function, name)), None)
    own = [frame for frame in diagnostic.stack if not frame.library]
    source = context.sources.get(own[-2].path) if len(own) > 1 else None
    if name is None or source is None or isinstance(function, ast.Lambda):
        return None
    for call in _calls_on(source, own[-2].line, function.name):
        index = parameters.index(name) - (parameters[:1] == ["self"])
        passed = [keyword.value for keyword in call.keywords if keyword.arg == name] or list(call.args[index : index + 1])
        caller = locate(source, node_span(source, call))
        if passed and caller is not None and caller.function is not None:
            return _wrapped(source, caller.function, passed[0])
    return None


def _serves_as_number(function: Function, name: str) -> bool:
    """Whether a function uses a parameter in slices and arithmetic of slices only."""
    parents = {id(child): node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    loads = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    return bool(loads) and all(isinstance(node.ctx, ast.Load) and isinstance(parents[id(node)], ast.Slice) for node in loads)


def _calls_on(source: SourceFile, line: int, name: str) -> list[ast.Call]:
    tree = tree_of(source) or ast.Module([], [])
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == name)
    return [call for call in calls if first_line(call) <= line <= last_line(call)]


def _without_last_use(found: Wrapped) -> list[Edit]:
    """The edit that takes the tensor's line out, if nothing else reads it."""
    name = dotted(found.statement.targets[0])
    inside = set(map(id, ast.walk(found.expression)))
    others = [node for node in ast.walk(found.function) if isinstance(node, ast.Name) and node.id == name and id(node) not in inside]
    start, end = first_line(found.statement), last_line(found.statement)
    alone = found.source.line(start).strip() == found.source.slice(node_span(found.source, found.statement))
    return [Edit(Span(Position(start, 0), Position(end + 1, 0)), "")] if len(others) == 1 and alone else []
