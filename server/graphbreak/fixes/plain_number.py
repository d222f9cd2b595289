"""Compute a number with Python's `math` in place of NumPy, whose numbers are tensors to Dynamo.

Before:

    def chunk(config):
        return np.lcm(config.local_length, config.hashed_length)

    if x.shape[1] % chunk(self.config) != 0:
        x = pad(x)

After:

    def chunk(config):
        return math.lcm(config.local_length, config.hashed_length)

It is looked for in what broke, in what its names are assigned, and in the functions of the module that are called there.

When it is not safe: the last digit of a root or a logarithm may be another one, and what was a number of NumPy is one of Python; that
changes behaviour. It is called safe for common multiples and divisors, which are the same whole numbers either way. What is computed from
the number alone and from other numbers leaves the graph, where it had no business.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Span
from .edits import finished, module_name, shortened
from .imports import resolved
from .model import FixContext
from .names import module_binders
from .regions import compiled_place
from .syntax import Place, dotted, first_line, own_nodes, walk

_EXACT = {"numpy.lcm": "lcm", "numpy.gcd": "gcd"}
_ROUNDED = {f"numpy.{name}": name for name in ("sqrt", "log", "log2", "log10", "exp", "prod", "sin", "cos", "tan", "hypot", "power")}
_ROUNDED["numpy.power"] = "pow"
_FURTHEST = 3


def plain_number(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace NumPy's functions that the broken number comes from."""
    place = compiled_place(diagnostic, context)
    if place is None or place.function is None:
        return None
    known = _EXACT | _ROUNDED
    calls = {id(call): call for call in _calls(place, place.node, 0) if _named(place, call) in known and _is_of_numbers(call)}
    module = module_name(place.source, "math", min((_top_line(place, call) for call in calls.values()), default=0))
    if not calls or module is None:
        return None
    found, source = list(calls.values()), place.source
    edits = [Edit(node_span(source, call.func), f"{module[0]}.{known[_named(place, call)]}") for call in found]
    safe = all(_named(place, call) in _EXACT for call in found)
    title = f"Compute `{shortened(source.slice(node_span(source, found[0])), 30)}` with Python's `math`"
    fix = finished(title, source, (*module[1], *edits), Safety.SAFE if safe else Safety.CHANGES_BEHAVIOUR)
    return replace(fix, freed=tuple(_arithmetic(place, found))) if fix is not None else None


def _arithmetic(place: Place, calls: list[ast.Call]) -> Iterator[tuple[str, Span]]:
    """What the function computes, without calls, from the names that are assigned what the calls give."""
    assert place.function is not None
    inside = {id(node) for call in calls for node in walk(call)}
    helpers = {top.name for top in place.module.body if isinstance(top, ast.FunctionDef) and any(id(n) in inside for n in walk(top))}
    nodes = list(own_nodes(place.function))
    given = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    numbers = [node for node in given if id(node.value) in inside or dotted(getattr(node.value, "func", node)) in helpers]
    names = {dotted(target) for node in numbers for target in node.targets}
    for statement in nodes:
        value = getattr(statement, "test", None) or getattr(statement, "value", None)
        if not isinstance(statement, ast.stmt) or not isinstance(value, ast.expr):
            continue
        parts = list(walk(value))
        if not any(isinstance(part, ast.Call) for part in parts) and names & {part.id for part in parts if isinstance(part, ast.Name)}:
            yield place.source.path, node_span(place.source, value)


def _calls(place: Place, node: ast.AST, depth: int) -> Iterator[ast.Call]:
    """The calls in a node, in what its names are assigned in the function, and in the functions of the module that it calls."""
    parts = [node, *walk(node)]
    yield from (part for part in parts if isinstance(part, ast.Call))
    if depth >= _FURTHEST or place.function is None:
        return
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    for statement in own_nodes(place.function):
        if isinstance(statement, ast.Assign) and names & {dotted(target) for target in statement.targets}:
            yield from _calls(place, statement.value, depth + 1)
    for binder in (binder for name in sorted(names) for binder in module_binders(place.module, name)):
        if isinstance(binder, ast.FunctionDef):
            yield from (part for part in own_nodes(binder) if isinstance(part, ast.Call))


def _named(place: Place, call: ast.Call) -> str:
    """What a call calls, as the module's imports name it."""
    return resolved(Place(place.source, place.chain[:2]), dotted(call.func))


def _top_line(place: Place, call: ast.Call) -> int:
    """The line of the module's statement that a call stands in."""
    return next(first_line(top) for top in place.module.body if any(node is call for node in walk(top)))


def _is_of_numbers(call: ast.Call) -> bool:
    """Whether nothing about the operands says that they are arrays or tensors."""
    plain = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Load, ast.operator, ast.unaryop)
    plain_all = all(isinstance(part, (*plain, ast.List, ast.Tuple)) for argument in call.args for part in walk(argument))
    return bool(call.args) and not call.keywords and plain_all
