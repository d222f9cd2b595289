"""Make an opaque helper an operator of its own: `torch.library.custom_op`, with a stand-in that gives the shape of its result.

Before:

    def rescale(x):
        return torch.from_numpy(np.interp(x.numpy(), [0, 1], [2, 3]))

After:

    @torch.library.custom_op("net::rescale", mutates_args=())
    def rescale(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.interp(x.numpy(), [0, 1], [2, 3]))


    @rescale.register_fake
    def _(x):
        return torch.empty_like(x)

The helper runs as it did, as one node of the graph. The stand-in says that the result is like the first tensor that is passed; where it is
not, it has to be written otherwise, which the trial shows: it compiles the graph.

When it is not safe: no gradient goes through an operator that has none registered, and its result must share no memory with what it is
given; that changes behaviour. It is not offered for helpers whose parameters are not known to be tensors, numbers or texts, that give
something else than a tensor, or that write to what they are given.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, SourceFile, Span
from . import regions
from .disable_helper import is_plain_function
from .edits import finished, indent_unit, insertion, torch_name
from .imports import resolved
from .model import FixContext
from .syntax import Place, dotted, first_line, last_line, names_a_write, own_nodes
from .values import Facts, facts_of

_OPAQUE = ("numpy.", "scipy.", "cv2.", "PIL.", "pandas.", "sklearn.", "skimage.", "numba.", "librosa.", "jax.")
_SIMPLE = frozenset({"int", "float", "bool", "str"})
_ONLY_TENSORS = frozenset({"numpy", "cpu", "detach", "requires_grad", "grad", "device", "is_cuda"})
_FROM_OUTSIDE = frozenset({"torch.from_numpy", "torch.tensor", "torch.as_tensor"})


def custom_operator(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Register the helper that holds the break."""
    place = regions.compiled_place(diagnostic, context)
    function = place.function if place is not None else None
    if place is None or not isinstance(function, ast.FunctionDef) or not _is_opaque(place, function, diagnostic, context):
        return None
    torch = torch_name(place.source, first_line(place.top))
    edits = _edits(place, function, torch[0]) if torch is not None else None
    if torch is None or edits is None:
        return None
    title = f"Make `{function.name}` an operator of its own (torch.library.custom_op)"
    fix = finished(title, place.source, (*torch[1], *edits), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch.library.custom_op",), admits=True) if fix is not None else None


def _is_opaque(place: Place, function: ast.FunctionDef, diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether a helper of the module computes with another library, and gives a tensor that it makes from what that gave."""
    marked = regions.is_marked(function, diagnostic.path, context) or regions.is_entry(function, diagnostic)
    if function is not place.top or function.decorator_list or marked or not is_plain_function(function):
        return False
    calls = [resolved(place, dotted(node.func)) for node in own_nodes(function) if isinstance(node, ast.Call)]
    returns = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
    made = all(isinstance(value, ast.Call) and _is_made(place, value) for value in returns)
    return any(name.startswith(_OPAQUE) for name in calls) and bool(returns) and made and not any(map(_writes, own_nodes(function)))


def _is_made(place: Place, value: ast.Call) -> bool:
    """Whether a call makes a tensor, or converts one that was just made (`.to(x.dtype)`)."""
    if isinstance(value.func, ast.Attribute) and value.func.attr in ("to", "float", "double", "cuda", "reshape", "type_as"):
        return isinstance(value.func.value, ast.Call) and _is_made(place, value.func.value)
    return resolved(place, dotted(value.func)) in _FROM_OUTSIDE


def _writes(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return names_a_write(node.func.attr)
    return isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load)


def _edits(place: Place, function: ast.FunctionDef, torch: str) -> list[Edit] | None:
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs or not arguments.args:
        return None
    facts, source = facts_of(function, Facts()), place.source
    tensors = [argument for argument in arguments.args if _is_tensor(function, argument, facts)]
    rest = [argument for argument in arguments.args if argument not in tensors]
    if not tensors or any(argument.annotation is None or dotted(argument.annotation) not in _SIMPLE for argument in rest):
        return None
    newline, unit, line = source.newline, indent_unit(function, source), last_line(function) + 1
    first = len(arguments.args) - len(arguments.defaults)
    defaults = ["", *(f"={source.slice(node_span(source, value))}" for value in arguments.defaults)]
    names = ", ".join(argument.arg + defaults[max(0, i - first + 1)] for i, argument in enumerate(arguments.args))
    fake = f"@{function.name}.register_fake{newline}def _({names}):{newline}{unit}return {torch}.empty_like({tensors[0].arg}){newline}"
    opening = newline if line >= len(source.lines) else ""
    edits = [
        insertion(function.lineno - 1, f'@{torch}.library.custom_op("{library_name(source)}::{function.name}", mutates_args=()){newline}')
    ]
    edits += [_behind(place, argument, f": {torch}.Tensor") for argument in tensors if argument.annotation is None]
    if function.returns is None:
        edits.append(_arrow(place, function, torch))
    return [rewritten(source, function, edits), insertion(line, f"{opening}{newline}{newline}{fake}")]


def library_name(source: SourceFile) -> str:
    """What comes before `::` in the names of a file's operators."""
    stem = source.path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
    return stem if stem.isidentifier() and stem != "aten" else "local"


def rewritten(source: SourceFile, function: ast.FunctionDef, edits: list[Edit]) -> Edit:
    """The whole helper as one edit: what it computes is no part of the graph any more, which the trial has to know."""
    span = node_span(source, function)
    text = source.apply(edits).text
    return Edit(span, text[source.offset(span.start) : len(text) - (len(source.text) - source.offset(span.end))])


def _is_tensor(function: ast.FunctionDef, argument: ast.arg, facts: Facts) -> bool:
    if argument.annotation is not None:
        return dotted(argument.annotation).rpartition(".")[2] == "Tensor"
    asked = {dotted(node.value) for node in own_nodes(function) if isinstance(node, ast.Attribute) and node.attr in _ONLY_TENSORS}
    return argument.arg in facts.tensors or argument.arg in asked


def _behind(place: Place, node: ast.AST, text: str) -> Edit:
    end = node_span(place.source, node).end
    return Edit(Span(end, end), text)


def _arrow(place: Place, function: ast.FunctionDef, torch: str) -> Edit:
    """The annotation of the result, in front of the colon that ends the head."""
    source = place.source
    last = max([node_span(source, node).end for node in (*function.args.args, *function.args.defaults)])
    start = source.offset(last)
    closing = source.text.index(")", start) + 1
    at = source.position(closing)
    return Edit(Span(at, at), f" -> {torch}.Tensor")
