"""Let Dynamo call a helper once, while it compiles, and take what it gives for a constant: `torch.compiler.assume_constant_result`.

Before:

    def chunk(name):
        with open("sizes.json") as file:
            return json.load(file)[name]

    @torch.compile
    def f(x):
        return x.split(chunk("rows"))

After:

    @torch.compiler.assume_constant_result
    def chunk(name):
        with open("sizes.json") as file:
            return json.load(file)[name]

The helper runs where it did, so that what it reads may be set at any time before the first call.

When it is not safe: the helper no longer runs in compiled code. What it reads later (another variable, another file) is not seen until
something else makes Dynamo compile again, and nothing guards it; that changes behaviour, which the title says. It is not offered for a
helper that has operations in a graph, takes or makes tensors, gives nothing, writes or prints, or asks for what differs from call to call
(clocks, random numbers, processes, counters), or is given what its caller read from a tensor.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from . import regions
from .disable_helper import is_plain_function
from .edits import finished, indentation, insertion, torch_name
from .effects import acts
from .imports import resolved
from .model import FixContext
from .names import local_names
from .syntax import Place, dotted, first_line, locate, own_nodes
from .values import Facts, facts_of

_OF_TENSORS = frozenset({"shape", "size", "numel", "ndim", "dim", "item", "tolist", "stride"})
_CACHES = frozenset({"lru_cache", "cache", "staticmethod"})


def constant_result(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Decorate the helper that holds the break."""
    place = regions.compiled_place(diagnostic, context)
    function = place.function if place is not None else None
    if place is None or not isinstance(function, ast.FunctionDef) or regions.is_branch(diagnostic):
        return None
    if (
        not is_inner_helper(place, function, diagnostic, context)
        or not _gives_a_constant(place, function)
        or _is_given_sizes(function, diagnostic, context)
    ):
        return None
    torch = torch_name(place.source, first_line(place.top))
    if torch is None:
        return None
    line = function.lineno - 1
    text = f"{indentation(place.source.line(line))}@{torch[0]}.compiler.assume_constant_result{place.source.newline}"
    title = f"Take what `{function.name}` gives for a constant when compiling (assume_constant_result)"
    fix = finished(title, place.source, (*torch[1], insertion(line, text)), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch.compiler.assume_constant_result",)) if fix is not None else None


def is_inner_helper(place: Place, function: ast.FunctionDef, diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether a function is a plain one of the module or a class, called by compiled code and not compiled by itself."""
    if len(place.functions) != 1 or not is_plain_function(function) or function.name.startswith("__"):
        return False
    if any(_last(decorator) not in _CACHES for decorator in function.decorator_list):
        return False
    marked = regions.is_marked(function, diagnostic.path, context) or regions.is_entry(function, diagnostic)
    return not marked and not regions.captures(diagnostic.path, function, context) and not regions.calls_captured(place, function, context)


def _last(decorator: ast.expr) -> str:
    return dotted(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]


def _gives_a_constant(place: Place, function: ast.FunctionDef) -> bool:
    """Whether nothing in a function says that what it gives may be another thing the next time, or that it does more than to give it."""
    nodes = list(own_nodes(function))
    gives = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    tensors = facts_of(function, Facts()).tensors
    annotated = {dotted(node.annotation).rpartition(".")[2] for node in function.args.args if node.annotation is not None}
    if not gives or tensors or annotated & {"Tensor", "Module"}:
        return False
    local = local_names(place.source, function) or frozenset()
    return not any(acts(place, node, local) or _makes_tensors(place, node) for node in nodes)


def _is_given_sizes(function: ast.FunctionDef, diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether a call on the way to the break passes the function what it read from a tensor: that is no constant of the program."""
    places = [locate(context.sources[f.path], f.span) for f in diagnostic.stack if f.span is not None and f.path in context.sources]
    calls = [node for place in places if place is not None for node in ast.walk(place.node) if isinstance(node, ast.Call)]
    passed = [part for call in calls if _last(call) == function.name for argument in call.args for part in ast.walk(argument)]
    return any(isinstance(part, ast.Attribute) and part.attr in _OF_TENSORS for part in passed)


def _makes_tensors(place: Place, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and resolved(place, dotted(node.func)).startswith("torch.")
