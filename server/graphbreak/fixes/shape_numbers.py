"""Compute with sizes as the numbers that they are, not through a tensor that they are read from again.

Before:

    height, width = torch.tensor(x.shape[-2:]).tolist()
    count = torch.prod(torch.tensor(x.shape)).item()
    half = int(torch.ceil(torch.tensor(width / 2)))

After (one fix each):

    height, width = list(x.shape[-2:])
    count = math.prod(x.shape)
    half = math.ceil(width / 2)

A tensor that a statement before makes of the sizes is looked through; its line goes with its last use.

When it is not safe: a tensor holds numbers in its own precision, Python in full. For whole numbers that are plainly sizes (of `shape`,
`size()`, `len()`, counts and sums of these) that is the same; where a quotient is rounded, or where a number comes from elsewhere, the fix
says that it changes behaviour.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from .branches import is_written_to
from .edits import finished, module_name, shortened
from .imports import resolved
from .model import FixContext
from .regions import compiled_place
from .statements import has_own_lines
from .syntax import Function, Place, dotted, first_line, last_line, own_nodes

_MAKERS = frozenset({"torch.tensor", "torch.as_tensor"})
_MAKERS_OF_LISTS = frozenset({"torch.LongTensor", "torch.IntTensor"})
"""Given a shape, these make a tensor of that shape."""
_OF_LISTS = {"prod": "math.prod", "sum": "sum", "max": "max", "min": "min", "amax": "max", "amin": "min"}
_ROUNDED = {"ceil": "math.ceil", "floor": "math.floor"}
_PASSED_ON = frozenset({"int", "long", "cpu", "detach"})
_WHOLE_CALLS = frozenset({"len", "size", "numel", "dim", "ndimension"})
_WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_BUILTINS = frozenset({"list", "sum", "max", "min"})
_FURTHEST = 4


@dataclass(frozen=True)
class _Plain:
    """What takes the place of an expression: its text, whether it is certainly the same number, and the statements it looks through."""

    text: str
    certain: bool = True
    through: tuple[ast.Assign, ...] = ()


def shape_numbers(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace what reads the numbers again."""
    place = compiled_place(diagnostic, context)
    if place is None or place.function is None or not isinstance(place.node, ast.Call):
        return None
    plain = _read(place, place.node)
    module = module_name(place.source, "math", first_line(place.top))
    if plain is None or module is None or any(_is_given_anew(place, statement) for statement in plain.through):
        return None
    callee = plain.text.partition("(")[0]
    if callee in _BUILTINS and resolved(place, callee) != callee:
        return None
    uses_math = plain.text.startswith("math.")
    text = module[0] + plain.text.removeprefix("math") if uses_math else plain.text
    gone = [edit for statement in plain.through for edit in _without(place, statement)]
    edits = (*(module[1] if uses_math else ()), Edit(node_span(place.source, place.node), text), *gone)
    safety = Safety.SAFE if plain.certain else Safety.CHANGES_BEHAVIOUR
    return finished(f"Compute `{shortened(text)}` without a tensor", place.source, edits, safety)


def _is_given_anew(place: Place, statement: ast.Assign) -> bool:
    """Whether a name in what a tensor is made of is given another value between its statement and the use, or may be."""
    names = {part.id for part in ast.walk(statement.value) if isinstance(part, ast.Name)}
    stores = (node for node in own_nodes(place.functions[-1]) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    return statement.lineno >= place.statement.lineno or any(node.id in names and node.lineno >= statement.lineno for node in stores)


def _read(place: Place, call: ast.Call) -> _Plain | None:
    """The numbers that `t.tolist()`, `t.item()` or `int(t)` reads."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method == "tolist" and isinstance(call.func, ast.Attribute):
        return _list(place, call.func.value)
    if method == "item" and isinstance(call.func, ast.Attribute):
        return _number(place, call.func.value, 0)
    if dotted(call.func) == "int" and len(call.args) == 1:
        inner = call.args[0]
        read = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "item"
        return _number(place, inner.func.value if read else inner, 0, True)  # type: ignore[attr-defined]
    return None


def _list(place: Place, node: ast.expr) -> _Plain | None:
    """The list of what a tensor is made of."""
    content, through = _made_of(place, node, 0)
    if content is None:
        return None
    text = place.source.slice(node_span(place.source, content))
    if _are_sizes(place, content) and not _is_shape(content):
        return _Plain(text if isinstance(content, ast.List) else f"list({text})", through=through)
    return _Plain(f"list({text})", through=through) if _is_shape(content) else None


def _number(place: Place, node: ast.expr, depth: int, rounded: bool = False) -> _Plain | None:
    """The one number that a tensor is made of, or that is computed of several; `rounded` says that it is made a whole one."""
    content, through = _made_of(place, node, depth)
    if content is not None:
        text = place.source.slice(node_span(place.source, content))
        closed = isinstance(content, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant))
        return _Plain(text if closed else f"({text})", through=through) if _is_whole(place, content) else None
    name, operand = _operation(place, node) if isinstance(node, ast.Call) else ("", None)
    if operand is None or depth > _FURTHEST:
        return None
    if name in _PASSED_ON:
        return _number(place, operand, depth + 1, rounded or name in ("int", "long"))
    content, through = _made_of(place, operand, depth + 1)
    if content is None:
        return None
    text = place.source.slice(node_span(place.source, content))
    if name in _ROUNDED and rounded and not isinstance(content, (ast.List, ast.Tuple)):
        return _Plain(f"{_ROUNDED[name]}({text})", False, through)
    return _Plain(f"{_OF_LISTS[name]}({text})", through=through) if name in _OF_LISTS and _are_sizes(place, content) else None


def _are_sizes(place: Place, node: ast.expr) -> bool:
    """Whether an expression is a shape, or a list of whole numbers that are sizes."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(_is_whole(place, part) for part in node.elts)
    return _is_shape(node)


def _operation(place: Place, call: ast.Call) -> tuple[str, ast.expr | None]:
    """The name of an operation on one operand, as a function of torch or a method."""
    if call.keywords or not isinstance(call.func, ast.Attribute):
        return "", None
    target = resolved(place, dotted(call.func))
    if target.startswith("torch."):
        return target.removeprefix("torch."), call.args[0] if len(call.args) == 1 else None
    return call.func.attr, call.func.value if not call.args else None


def _made_of(place: Place, node: ast.expr, depth: int) -> tuple[ast.expr | None, tuple[ast.Assign, ...]]:
    """What a tensor is made of, looked for behind the name that it is assigned to."""
    if isinstance(node, ast.Name) and depth <= _FURTHEST:
        statement = _assigned(place.functions[-1], node.id)
        if statement is None:
            return None, ()
        content, through = _made_of(place, statement.value, depth + 1)
        return content, (statement, *through)
    if isinstance(node, ast.Call) and _ends(node) in _PASSED_ON and isinstance(node.func, ast.Attribute) and not node.args:
        return _made_of(place, node.func.value, depth + 1)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or not _is_exact(node):
        return None, ()
    listed = isinstance(node.args[0], (ast.List, ast.Tuple))
    made = resolved(place, dotted(node.func)) in (_MAKERS | _MAKERS_OF_LISTS if listed else _MAKERS)
    return (node.args[0], ()) if made else (None, ())


def _is_exact(call: ast.Call) -> bool:
    """Whether a tensor is made with nothing that makes other numbers than whole ones of whole ones."""
    types = [dotted(keyword.value).rpartition(".")[2] for keyword in call.keywords if keyword.arg == "dtype"]
    known = all(keyword.arg in ("dtype", "device") for keyword in call.keywords)
    return known and all(name in ("int64", "long", "int32", "int") for name in types)


def _assigned(function: Function, name: str) -> ast.Assign | None:
    """The one statement that gives a name its value."""
    stores = [node for node in own_nodes(function) if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)]
    made = [node for node in own_nodes(function) if isinstance(node, ast.Assign) and len(node.targets) == 1 and node.targets[0] in stores]
    return made[0] if len(stores) == len(made) == 1 and not is_written_to(function, name, made[0]) else None


def _is_shape(node: ast.expr) -> bool:
    """Whether an expression is a whole shape, or a slice of one."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) and _is_shape(node.value)
    if isinstance(node, ast.Call):
        return _ends(node) == "size" and not node.args and not node.keywords
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _is_whole(place: Place, node: ast.expr) -> bool:
    """Whether an expression is plainly a whole number of sizes."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _WHOLE) and _is_whole(place, node.left) and _is_whole(place, node.right)
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Slice) and _is_shape(node.value)
    if isinstance(node, ast.Call):
        return _ends(node) in _WHOLE_CALLS and not _is_shape(node)
    return isinstance(node, ast.Name) and _is_size_name(place, node.id)


def _is_size_name(place: Place, name: str) -> bool:
    """Whether all that a name is given in its function is a size: `n = x.shape[0]`, `rows, columns = x.shape`."""
    function = place.functions[-1]
    stores = [node for node in own_nodes(function) if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)]
    found = 0
    for node in own_nodes(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)) and any(part in stores for part in target.elts):
            found += _is_shape(node.value)
        elif target in stores and not (isinstance(node.value, ast.Name) and node.value.id == name):
            found += _is_whole(place, node.value) and name not in {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return bool(stores) and found == len(stores)


def _without(place: Place, statement: ast.Assign) -> list[Edit]:
    """The edit that takes a tensor's line out, if this was its only use."""
    name = dotted(statement.targets[0])
    used = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(place.functions[-1]))
    if used != 2 or not has_own_lines(place.source, statement):
        return []
    return [Edit(Span(Position(first_line(statement), 0), Position(last_line(statement) + 1, 0)), "")]


def _ends(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
