"""Whether what is shown only when the graph has ended is then what it was: nothing may change it in place until then."""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Safety
from .operations import (
    BOUNDED,
    COMPARED,
    COUNTED,
    HEAVY,
    PAIRED,
    REDUCED,
    STEADY,
    STEEP,
    TESTED,
    is_cheap_call,
    is_grad_mode,
    operation,
)
from .output import written_by
from .regions import is_entry
from .syntax import Function, Place, dotted, last_line, names_a_write
from .uses import loads_of

DESCRIPTIONS = frozenset({"shape", "dtype", "device", "ndim", "layout"})
"""Attributes of a tensor that no operation in place changes."""
_MADE_ANEW = (STEADY - {"positive", "contiguous"}) | BOUNDED | STEEP | PAIRED | COMPARED | TESTED | REDUCED | COUNTED | HEAVY
"""Operations whose result is no view of what they are given."""
_PLAIN = frozenset(
    {"item", "tolist", "size", "dim", "numel", "format", "join", "len", "str", "repr", "float", "int", "bool", "round", "type"}
)
"""Calls that give a number or a text."""

_MODULES = (
    (STEADY | BOUNDED | HEAVY) - {"abs", "neg", "clone", "matmul", "mm", "bmm", "baddbmm", "addmm"}
    | {
        "norm",
        "softmax",
        "log_softmax",
        "layer_norm",
        "leaky_relu",
        "normalize",
        "flatten",
        "softplus",
        "hardtanh",
        "softmin",
        "glu",
        "relu6",
    }
    | {"hardswish", "hardsigmoid", "mish"}
)
"""Operations that modules are named after."""


def writes_itself(place: Place, diagnostic: Diagnostic) -> bool:
    """Whether the statement stands in the function that Dynamo compiles here, and not in one that it takes into another's graph: what
    such a function puts off until the graph has ended, Dynamo never writes (2.13)."""
    lines = range(place.statement.lineno - 1, last_line(place.statement) + 1)
    return is_entry(place.functions[-1], diagnostic) and diagnostic.stack[0].line in lines


def waits(place: Place, statement: ast.stmt, shown: list[ast.AST]) -> Safety | None:
    """How safe it is to show some names, elements and attributes of a function later than a statement of it, which comes again in a loop:
    not at all where the function itself changes something in place; where it calls what may, that changes behaviour."""
    if not shown:
        return Safety.SAFE
    function = place.functions[-1]
    later = [node for node in ast.walk(function) if place.in_loop or getattr(node, "lineno", 0) >= statement.lineno]
    if any(_mutates(node) for node in later):
        return None
    unknown = {id(node) for node in later if isinstance(node, ast.Call) and not _is_harmless(node)} - _of_output(place, function)
    if not unknown or all(isinstance(node, ast.Name) and _is_kept(function, node.id, unknown) for node in shown):
        return Safety.SAFE
    return Safety.CHANGES_BEHAVIOUR


def shown_in(node: ast.AST) -> list[ast.AST]:
    """The names, elements and attributes in an argument whose own value is shown: no descriptions, and no results that are new."""
    if isinstance(node, ast.Constant) or _is_new(node):
        return []
    if isinstance(node, ast.Attribute):
        return [] if node.attr in DESCRIPTIONS else [node]
    if isinstance(node, ast.Call):
        return _shown_of_call(node)
    if isinstance(node, ast.Subscript):
        return shown_in(node.value)
    if isinstance(node, ast.Name):
        return [node]
    return [found for child in ast.iter_child_nodes(node) for found in shown_in(child)]


def _shown_of_call(call: ast.Call) -> list[ast.AST]:
    """The same of a call: what a view is of, nothing of what only describes, and the result itself of a call that is not known."""
    if dotted(call.func).rpartition(".")[2] in _PLAIN or (isinstance(call.func, ast.Attribute) and call.func.attr in _PLAIN):
        return []
    found = operation(call)
    if found is None or not _is_harmless(call):
        return [call]
    return [node for operand in found[1] for node in shown_in(operand)]


def _mutates(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call):
        return False
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return names_a_write(method) or any(keyword.arg == "out" for keyword in node.keywords)


def _is_harmless(call: ast.Call) -> bool:
    """Whether a call is known to change nothing in place."""
    found = operation(call)
    if found is not None and _may_be_module(call):
        return False
    heavy = found is not None and found[0] in HEAVY and not any(keyword.arg in (None, "out") for keyword in call.keywords)
    return heavy or is_cheap_call(call) or is_grad_mode(call)


def _may_be_module(call: ast.Call) -> bool:
    """Whether what looks like an operation may be the call of a module that is named after one: `self.norm(x)`, `block.relu(x)`."""
    operands = (operation(call) or ("", ()))[1]
    if not isinstance(call.func, ast.Attribute) or not operands or operands[0] is not call.func.value:
        return False
    name = dotted(call.func.value)
    passed = [arg for arg in call.args if not isinstance(arg, (ast.Constant, ast.UnaryOp))]
    return name in ("self", "cls") or (bool(name) and bool(passed) and call.func.attr in _MODULES)


def _of_output(place: Place, function: Function) -> set[int]:
    """The calls of a function that write for people to read."""
    found = (written_by(place, node) for node in ast.walk(function) if isinstance(node, ast.Expr))
    return {id(output.call) for output in found if output is not None}


def _is_kept(function: Function, name: str, unknown: set[int]) -> bool:
    """Whether a name is bound to nothing but new values, that no unknown call and no other name gets hold of."""
    stores = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)]
    bound = [
        node.targets[0] for node in ast.walk(function) if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_new(node.value)
    ]
    loads = loads_of(function, name)
    return (
        loads is not None and bool(stores) and all(store in bound for store in stores) and not any(_leaks(load, unknown) for load in loads)
    )


def _is_new(node: ast.AST) -> bool:
    """Whether an expression makes a new tensor."""
    if isinstance(node, ast.Call):
        found = operation(node)
        return found is not None and found[0] in _MADE_ANEW and _is_harmless(node)
    return isinstance(node, (ast.BinOp, ast.Compare)) or (isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd))


def _leaks(chain: tuple[ast.AST, ...], unknown: set[int]) -> bool:
    """Whether what a name at the end of a chain of nodes stands for may be had by another way afterwards."""
    for node in reversed(chain[:-1]):
        if _is_new(node) or isinstance(node, (ast.Return, ast.Expr, ast.If, ast.Assert)):
            return False
        if isinstance(node, ast.Attribute) and node.attr in DESCRIPTIONS:
            return False
        if isinstance(node, ast.Call) and id(node) not in unknown and not shown_in(node):
            return False
        if id(node) in unknown or isinstance(node, ast.stmt):
            return True
    return True
