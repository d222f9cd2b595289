"""Make a helper that fills a NumPy array an operator of its own: `torch.library.custom_op` around all that NumPy does in it.

Before:

    def draw_mask(shape: tuple[int, int], share: float) -> np.ndarray:
        rows, columns = shape
        mask = np.zeros((rows, columns), dtype=bool)
        mask[:, np.random.choice(columns, int(share * columns), replace=False)] = True
        return mask

    mask = torch.tensor(draw_mask(x.shape, 0.2), dtype=torch.bool)

After:

    @torch.library.custom_op("net::draw_mask", mutates_args=(), schema="(SymInt[] shape, float share) -> Tensor")
    def draw_mask(shape: tuple[int, int], share: float) -> torch.Tensor:
        rows, columns = shape
        mask = np.zeros((rows, columns), dtype=bool)
        mask[:, np.random.choice(columns, int(share * columns), replace=False)] = True
        return torch.from_numpy(mask)


    @draw_mask.register_fake
    def _(shape, share):
        return torch.empty(shape, dtype=torch.bool)

    mask = torch.as_tensor(draw_mask(x.shape, 0.2), dtype=torch.bool)

The helper runs as it did in each call, its random numbers too, as one node of the graph. The stand-in has the shape that the array is
made with.

When it is not safe: the helper gives a tensor now, which other modules would see, and no gradient goes through it; that changes behaviour.
It is offered only where every call in the workspace makes a tensor of the array at once, and where the shape comes from the parameters.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, SourceFile
from . import regions
from .custom_operator import library_name, rewritten
from .disable_helper import is_plain_function
from .edits import finished, indent_unit, insertion, torch_name
from .imports import resolved
from .model import FixContext
from .names import identifiers
from .syntax import Place, dotted, first_line, last_line, own_nodes

_MADE = frozenset({"numpy.zeros", "numpy.ones", "numpy.empty"})
_TENSORS = frozenset({"torch.tensor", "torch.as_tensor", "torch.from_numpy"})
_TYPES = {"bool": "bool", "bool_": "bool", "int": "int64", "float": "float64"}
_SAME_TYPES = frozenset({"int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"})
_SCALARS = {"int": "SymInt", "float": "float", "bool": "bool", "str": "str"}
_SIZES = re.compile(r"(?:typing\.)?(?:tuple|Tuple|list|List|Sequence|Iterable)\[int(?:, *(?:int|\.\.\.))*\]|torch\.Size")
_TENSOR = re.compile(r"(?:torch\.)?(?:Bool|Long|Int|Float|Double)?Tensor")
_OPTIONAL = re.compile(r"(?:(?:typing\.)?Optional\[(?P<inner>.+)\]|(?P<left>.+?) *\| *None)")


@dataclass(frozen=True)
class _Array:
    """What a helper returns: the text of its shape in terms of the parameters, and torch's name of its element type."""

    shape: str
    type: str


def array_operator(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Register the helper that holds the break."""
    place = regions.compiled_place(diagnostic, context)
    function = _helper(place, diagnostic, context) if place is not None else None
    if place is None or function is None:
        return None
    array, schema = _returned(place, function), _schema(place.source, function)
    torch = torch_name(place.source, first_line(place.top))
    calls = _calls(place, function, context)
    if array is None or not schema or torch is None or not calls:
        return None
    edits = [rewritten(place.source, function, _inside(place, function, torch[0], schema)), _fake(place, function, torch[0], array)]
    edits += [Edit(node_span(place.source, call.func), f"{torch[0]}.as_tensor") for call in calls]
    title = f"Make `{function.name}` an operator of its own (torch.library.custom_op)"
    fix = finished(title, place.source, (*torch[1], *edits), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch.library.custom_op",), admits=True) if fix is not None else None


def _helper(place: Place, diagnostic: Diagnostic, context: FixContext) -> ast.FunctionDef | None:
    """The function of the module that holds the break, if it is a helper that no other file knows."""
    function = place.top
    if not isinstance(function, ast.FunctionDef) or function.decorator_list or not is_plain_function(function):
        return None
    if regions.is_marked(function, diagnostic.path, context) or regions.is_entry(function, diagnostic):
        return None
    others = (source for path, source in context.sources.items() if path != place.source.path)
    return None if any(function.name in identifiers(source.text) for source in others) else function


def _returned(place: Place, function: ast.FunctionDef) -> _Array | None:
    """The one array that every `return` gives, as it is made."""
    returns = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
    names = {dotted(value) if value is not None else "" for value in returns}
    name = names.pop() if len(names) == 1 else ""
    stores = [node for node in own_nodes(function) if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)]
    made = [node.value for node in own_nodes(function) if isinstance(node, ast.Assign) and [dotted(t) for t in node.targets] == [name]]
    call = made[0] if name and len(stores) == len(made) == 1 else None
    if not isinstance(call, ast.Call) or _outside(place, dotted(call.func)) not in _MADE or len(call.args) != 1:
        return None
    types = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"]
    shape, kind = _shape(function, call.args[0]), _element(types[0]) if types else "float64"
    return _Array(shape, kind) if shape and kind and len(call.keywords) == len(types) else None


def _outside(place: Place, name: str) -> str:
    """What a name of a module stands for, seen from the top level."""
    return resolved(Place(place.source, place.chain[:2]), name)


def _element(node: ast.expr) -> str:
    name = dotted(node).rpartition(".")[2]
    return name if name in _SAME_TYPES else _TYPES.get(name, "")


def _shape(function: ast.FunctionDef, node: ast.expr) -> str:
    """A shape in terms of the parameters: `shape` itself, or what was unpacked from it; nothing where it is computed."""
    parts = [_size(function, part) for part in node.elts] if isinstance(node, ast.Tuple) else [_size(function, node)]
    if not all(parts):
        return ""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})" if isinstance(node, ast.Tuple) else parts[0]


def _size(function: ast.FunctionDef, node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value)
    name, parameters = dotted(node), {argument.arg for argument in function.args.args}
    bound = [part for part in own_nodes(function) if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)]
    if name in parameters:
        return name if not bound else ""
    for statement in function.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Tuple) and isinstance(statement, ast.Assign) and dotted(statement.value) in parameters:
            names = [dotted(part) for part in target.elts]
            if names.count(name) == 1 and len(bound) == 1:
                return f"{dotted(statement.value)}[{names.index(name)}]"
    return ""


def _schema(source: SourceFile, function: ast.FunctionDef) -> str:
    """The signature as an operator has it; nothing where a parameter is of another kind."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
        return ""
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    parts = []
    for argument, default in zip(arguments.args, defaults, strict=True):
        kind = _kind(source.slice(node_span(source, argument.annotation))) if argument.annotation is not None else ""
        value = default.value if isinstance(default, ast.Constant) else default
        if not kind or (default is not None and not (value is None or isinstance(value, (int, float)))):
            return ""
        parts.append(f"{kind} {argument.arg}" + (f"={value!r}" if default is not None else ""))
    return f"({', '.join(parts)}) -> Tensor"


def _kind(annotation: str) -> str:
    optional = _OPTIONAL.fullmatch(annotation)
    if optional is not None:
        inner = _kind(optional["inner"] or optional["left"])
        return f"{inner}?" if inner else ""
    if _SIZES.fullmatch(annotation):
        return "SymInt[]"
    return "Tensor" if _TENSOR.fullmatch(annotation) else _SCALARS.get(annotation, "")


def _calls(place: Place, function: ast.FunctionDef, context: FixContext) -> list[ast.Call]:
    """The calls that make a tensor of what the helper gives; none where one of its calls is followed by anything else."""
    found = []
    inside = set(map(id, ast.walk(function)))
    for top in place.module.body:
        for outer in (node for node in ast.walk(top) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            for node in own_nodes(outer):
                if isinstance(node, ast.Call) and dotted(node.func) == function.name and id(node) not in inside:
                    wrapper = _wrapper(place, outer, node)
                    if wrapper is None:
                        return []
                    found.append(wrapper)
    named = [node for node in ast.walk(place.module) if isinstance(node, ast.Name) and node.id == function.name]
    return found if len(named) == len(found) else []


def _wrapper(place: Place, outer: ast.AST, call: ast.Call) -> ast.Call | None:
    """`torch.tensor(...)` around a call, or around the first use of the name that it is assigned to."""
    wrappers = [
        node for node in own_nodes(outer) if isinstance(node, ast.Call) and node.args and _outside(place, dotted(node.func)) in _TENSORS
    ]
    direct = next((node for node in wrappers if node.args[0] is call), None)
    target = next((dotted(node.targets[0]) for node in own_nodes(outer) if isinstance(node, ast.Assign) and node.value is call), "")
    if direct is not None or not target:
        return direct
    loads = [node for node in own_nodes(outer) if isinstance(node, ast.Name) and node.id == target and isinstance(node.ctx, ast.Load)]
    later = sorted((node.lineno, node.col_offset) for node in loads if node.lineno > (call.end_lineno or call.lineno))
    first = later[0] if later else None
    return next((node for node in wrappers if (node.args[0].lineno, node.args[0].col_offset) == first), None)


def _inside(place: Place, function: ast.FunctionDef, torch: str, schema: str) -> list[Edit]:
    """The decorator, and a tensor in each `return`."""
    source = place.source
    head = f'@{torch}.library.custom_op("{library_name(source)}::{function.name}", mutates_args=(), schema="{schema}")'
    edits = [insertion(function.lineno - 1, head + source.newline)]
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            span = node_span(source, node.value)
            edits.append(Edit(span, f"{torch}.from_numpy({source.slice(span)})"))
    if function.returns is not None:
        edits.append(Edit(node_span(source, function.returns), f"{torch}.Tensor"))
    return edits


def _fake(place: Place, function: ast.FunctionDef, torch: str, array: _Array) -> Edit:
    source, line = place.source, last_line(function) + 1
    newline, unit = source.newline, indent_unit(function, source)
    first = len(function.args.args) - len(function.args.defaults)
    defaults = [""] * first + ["=" + source.slice(node_span(source, value)) for value in function.args.defaults]
    names = ", ".join(argument.arg + default for argument, default in zip(function.args.args, defaults, strict=True))
    result = f"{unit}return {torch}.empty({array.shape}, dtype={torch}.{array.type}){newline}"
    opening = newline if line >= len(source.lines) else ""
    return insertion(line, f"{opening}{newline}{newline}@{function.name}.register_fake{newline}def _({names}):{newline}{result}")
