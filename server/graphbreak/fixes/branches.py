"""The branch that a break stands in: what it asks, as a tensor, and what is known of the values on its sides."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import pairwise

from ..core.findings import Diagnostic
from ..core.source import Edit
from .conditions import Asked
from .edits import torch_name
from .model import FixContext
from .operations import COUNTED, REDUCED, TESTED, operation
from .regions import compiled_place
from .syntax import Function, Place, first_line, own_nodes
from .values import Facts, facts_of, with_known

_CODES = frozenset({"GB0170", "GB0124", "GB0033", "GB0034", "GB0035"})
_TENSOR = re.compile(r"(?:^|, )(\w+): (?:[a-z]+\d+|bool)\[")
_FLOATING = re.compile(r"(?:^|, )(\w+): b?f\d+\[")


@dataclass(frozen=True)
class Branch:
    """An `if`, `while` or conditional expression whose test broke. `imports` are the edits that make `torch` known by its name."""

    place: Place
    node: ast.If | ast.IfExp | ast.While
    function: Function
    asked: Asked
    imports: tuple[Edit, ...]

    @property
    def torch(self) -> str:
        """What the file calls torch."""
        return self.asked.torch

    @property
    def facts(self) -> Facts:
        """What is known of the function's names."""
        return self.asked.facts


def branch_at(diagnostic: Diagnostic, context: FixContext) -> Branch | None:
    """The innermost branch in whose test the break stands."""
    place = compiled_place(diagnostic, context) if diagnostic.code in _CODES else None
    if place is None or place.function is None:
        return None
    node = next(
        (a for a, b in reversed(list(pairwise(place.inside))) if isinstance(a, (ast.If, ast.IfExp, ast.While)) and b is a.test), None
    )
    torch = torch_name(place.source, first_line(place.top))
    if node is None or torch is None:
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, place.node, context), place.function, node)
    return Branch(place, node, place.function, Asked(place, torch[0], facts), torch[1])


def known_facts(function: Function, path: str, broken: ast.AST, context: FixContext) -> Facts:
    """What the code, the traced inputs and the break itself show of a function's names."""
    calls = context.inputs.get((path, function.lineno - 1), frozenset())
    tensors, floating = (_in_all(pattern, calls) for pattern in (_TENSOR, _FLOATING))
    return facts_of(function, Facts(tensors | _receivers(broken), floating))


def is_fresh(function: Function, name: str) -> bool:
    """Whether a name holds only what the function computed itself, so that nobody else sees it written to."""
    if any(node.arg == name for node in ast.walk(function.args) if isinstance(node, ast.arg)):
        return False
    values = [node.value for node in own_nodes(function) if isinstance(node, ast.Assign) and _assigns(node, name)]
    others = [node for node in own_nodes(function) if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)]
    augmented = [node for node in own_nodes(function) if isinstance(node, ast.AugAssign) and _is(node.target, name)]
    return len(values) + len(augmented) == len(others) and all(_is_new(value) for value in values)


def is_written_to(function: Function, name: str, besides: ast.AST) -> bool:
    """Whether a function changes in place what a name holds, anywhere but under one node."""
    inside = set(map(id, ast.walk(besides)))
    for node in own_nodes(function):
        if id(node) in inside:
            continue
        if isinstance(node, ast.AugAssign) and name in (_root(node.target)):
            return True
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)) and name in _root(node):
            return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr.endswith("_")
            and name in _root(node.func.value)
        ):
            return True
    return False


def writes_in_place(function: Function) -> bool:
    """Whether a function may change in place what some name holds."""
    return any(is_written_to(function, node.id, ast.Pass()) for node in own_nodes(function) if isinstance(node, ast.Name))


def _in_all(pattern: re.Pattern[str], calls: frozenset[str]) -> frozenset[str]:
    found = [frozenset(pattern.findall(call)) for call in calls]
    return frozenset.intersection(*found) if found else frozenset()


def _receivers(broken: ast.AST) -> frozenset[str]:
    """The names whose methods made what broke: since it depends on data they are tensors."""
    calls = [operation(node) for node in ast.walk(broken) if isinstance(node, ast.Call)]
    known = COUNTED | REDUCED | TESTED
    return frozenset(call[1][0].id for call in calls if call and call[0] in known and call[1] and isinstance(call[1][0], ast.Name))


def _assigns(node: ast.Assign, name: str) -> bool:
    return len(node.targets) == 1 and _is(node.targets[0], name)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_new(value: ast.expr) -> bool:
    """Whether an expression's value is nothing that existed before."""
    if isinstance(value, ast.Call):
        found = operation(value)
        return found is not None and found[0] in REDUCED | TESTED | {
            "relu",
            "sin",
            "cos",
            "tanh",
            "sigmoid",
            "exp",
            "clone",
            "softmax",
            "zeros_like",
        }
    return isinstance(value, (ast.BinOp, ast.Constant))


def _root(node: ast.AST) -> set[str]:
    """The name that a target is a part of."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()
