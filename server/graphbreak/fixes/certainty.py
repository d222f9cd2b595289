"""What can be computed although it was not asked for: whether it certainly runs no code of the user's, and does not fail."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from .operations import is_known
from .syntax import Place, dotted, own_nodes
from .values import Facts, value_of

_STATIC = frozenset({"shape", "dtype", "device", "ndim", "is_cuda"})
_TRUTHS = frozenset({"any", "all"})
_NUMBERS = frozenset({"bool", "float", "int"})


def is_harmless(place: Place, facts: Facts, test: ast.expr) -> bool:
    """Whether a question can be asked always that was asked only after another one: of known values, by torch's own operations."""
    if not all(isinstance(part, ast.Constant) or _is_known_value(part, facts) for part in _operands(test)):
        return False
    names = {id(part.func) for part in ast.walk(test) if isinstance(part, ast.Call)}
    return all(id(part) in names or _is_sure(place, facts, part) for part in ast.walk(test))


def may_be_unbound(place: Place, node: ast.AST, name: str) -> bool:
    """Whether a name of the function's own may have no value yet when a statement is reached."""
    nodes = own_nodes(place.functions[-1])
    own = any(isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load) for part in nodes)
    return own and not is_bound_before(place, node, name)


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """What is compared or asked in a test."""
    if isinstance(test, ast.Compare):
        yield from (test.left, *test.comparators)
    elif isinstance(test, ast.BoolOp):
        yield from (part for value in test.values for part in _operands(value))
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    else:
        yield test


def _is_known_value(node: ast.expr, facts: Facts) -> bool:
    """Whether an operand is known, or a number that is read from a known tensor of one element: `float(x.sum())`, `x.sum().item()`."""
    if not isinstance(node, ast.Call) or node.keywords:
        return value_of(node, facts) is not None
    name = dotted(node.func)
    if name in _NUMBERS | _TRUTHS and len(node.args) == 1:
        value = value_of(node.args[0], facts)
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        value = value_of(node.func.value, facts)
    else:
        return value_of(node, facts) is not None
    return value is not None and value.tensor and (not value.shape or name in _TRUTHS)


def _is_sure(place: Place, facts: Facts, part: ast.AST) -> bool:
    """Whether a single node runs nothing of the user's and does not fail."""
    if isinstance(part, ast.Call):
        known = part.func.id in _NUMBERS | _TRUTHS | {"abs"} if isinstance(part.func, ast.Name) else is_known(part)
        return known and _have_one_shape((getattr(part.func, "value", None), *part.args), facts)
    if isinstance(part, ast.Attribute):
        return _is_plain_attribute(place, part)
    if isinstance(part, ast.Name):
        return not may_be_unbound(place, place.statement, part.id)
    if isinstance(part, ast.BinOp):
        of_tensor = any((value := value_of(side, facts)) is not None and value.tensor for side in (part.left, part.right))
        fails = isinstance(part.op, (ast.Div, ast.Mod, ast.FloorDiv, ast.Pow, ast.LShift, ast.RShift))
        return (of_tensor or not fails) and _have_one_shape((part.left, part.right), facts)
    return not isinstance(part, ast.Compare) or _have_one_shape((part.left, *part.comparators), facts)


def _have_one_shape(operands: Iterable[ast.expr | None], facts: Facts) -> bool:
    """Whether operands that may have dimensions certainly have the same."""
    values = [value_of(node, facts) for node in operands if node is not None]
    return len({value.shape for value in values if value is not None and value.shape}) <= 1


def _is_plain_attribute(place: Place, node: ast.Attribute) -> bool:
    """Whether reading an attribute certainly runs nothing of the user's: one that says how a tensor is made, a setting, or one of `self`
    that the class around assigns and does not define."""
    name = dotted(node)
    if node.attr in _STATIC or ".config" in name or name.startswith(("torch.", "math.")):
        return True
    owner = next((outer for outer in reversed(place.chain) if isinstance(outer, ast.ClassDef)), None)
    if owner is None or not name.startswith("self.") or name.count(".") > 1:
        return False
    defined = any(isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and part.name == node.attr for part in ast.walk(owner))
    assigned = (part for part in ast.walk(owner) if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store))
    return not defined and any(dotted(part) == name for part in assigned)


def is_bound_before(place: Place, node: ast.AST, name: str) -> bool:
    """Whether a name certainly has a value in its function when a statement is reached."""
    function = place.functions[-1]
    if any(part.arg == name for part in ast.walk(function.args) if isinstance(part, ast.arg)):
        return True
    chain = list(place.inside)
    for outer, inner in zip((function, *chain), chain, strict=False):
        if _gives(outer, inner, name):
            return True
        for block in (getattr(outer, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and inner in block:
                before = block[: block.index(inner)]
                if any(_binds(statement, name) for statement in before):
                    return True
        if inner is node:
            break
    return False


def _gives(outer: ast.AST, inner: ast.AST, name: str) -> bool:
    """Whether a loop or `with` has given a name a value when what it holds runs."""
    if isinstance(outer, (ast.For, ast.AsyncFor)):
        return inner in outer.body and _stores([outer.target], name)
    return isinstance(outer, (ast.With, ast.AsyncWith)) and inner in outer.body and _stores(outer.items, name)


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether a statement that ran to its end has given a name a value."""
    if isinstance(statement, (ast.If,)):
        return bool(statement.orelse) and all(any(_binds(inner, name) for inner in block) for block in (statement.body, statement.orelse))
    if isinstance(statement, (ast.With,)):
        return any(_binds(inner, name) for inner in statement.body) or _stores(statement.items, name)
    if isinstance(statement, (ast.For, ast.While, ast.Try, ast.FunctionDef, ast.ClassDef)):
        return False
    return _stores([statement], name)


def _stores(nodes: Sequence[ast.AST], name: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
        for node in nodes
        for part in (node, *own_nodes(node))
    )
