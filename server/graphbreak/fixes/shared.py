"""Whether a value that is computed once may stand where a new one was made in each call: nothing may change it, and nobody keep it."""

from __future__ import annotations

import ast

from .aliases import declared
from .constants import is_fixed
from .imports import resolved
from .operations import BOUNDED, CHEAP, COMPARED, COUNTED, PAIRED, REDUCED, STEEP, TESTED, operation
from .syntax import Place, dotted, own_nodes
from .uses import loads_of

_MAKERS = frozenset(f"torch.{name}" for name in ("tensor", "arange", "zeros", "ones", "full", "linspace", "eye"))
_SHAPED = frozenset(
    {"view", "reshape", "unsqueeze", "squeeze", "flatten", "transpose", "permute", "t", "to", "long", "float", "int", "bool"}
)
_FROZEN_CALLS = frozenset({"int", "float", "str", "bool", "len", "repr", "ord", "chr", "json.dumps", "zlib.crc32", "zlib.adler32"})
_FROZEN_MODULES = ("math.", "platform.", "os.uname", "os.path.", "os.cpu_count", "torch.finfo", "torch.iinfo")
_FROZEN_METHODS = frozenset(
    {"encode", "hexdigest", "digest", "join", "lower", "upper", "strip", "replace", "format", "startswith", "endswith", "bit_length"}
)
_NEW = (
    BOUNDED | STEEP | PAIRED | COMPARED | TESTED | REDUCED | COUNTED | {"abs", "neg", "negative", "relu", "clone", "floor", "ceil", "sign"}
)
"""Operations whose result shares nothing with what they are given."""
_READERS = frozenset({"len", "sum", "range", "int", "float", "bool", "str", "repr", "isinstance", "round"})
_CONTAINERS = (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp)


def copied(place: Place, node: ast.expr) -> str:
    """The method that makes an equal value that shares nothing with it: `clone`, `copy`; nothing where none is known."""
    if _is_tensor(place, node):
        return "clone"
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return "copy" if isinstance(node, _CONTAINERS) and all(is_frozen(place, part) for part in parts) else ""


def _is_tensor(place: Place, node: ast.expr) -> bool:
    """Whether a value is certainly a tensor of numbers that are no one's parameters."""
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(_is_tensor(place, side) for side in sides) and all(_is_tensor(place, side) or is_frozen(place, side) for side in sides)
    if not isinstance(node, ast.Call) or any(keyword.arg not in ("dtype", "device", "dim") for keyword in node.keywords):
        return False
    shaped = isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED and _is_tensor(place, node.func.value)
    return shaped or resolved(place, dotted(node.func)) in _MAKERS


def is_frozen(place: Place, node: ast.expr) -> bool:
    """Whether a value is certainly one that nothing can change: a number, a text, a tuple of these."""
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or is_frozen(place, node.operand)
    if isinstance(node, (ast.Tuple, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp)):
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr) and part is not getattr(node, "test", None)]
        return all(is_frozen(place, part) for part in parts)
    if isinstance(node, ast.Name):
        return is_fixed(place, node.id)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return is_frozen(place, node.value) or resolved(place, dotted(node)).startswith("math.")
    if not isinstance(node, ast.Call):
        return False
    name, method = resolved(place, dotted(node.func)), getattr(node.func, "attr", "")
    if name in _FROZEN_CALLS or name.startswith(_FROZEN_MODULES):
        return True
    return method in _FROZEN_METHODS and not name.startswith(("torch.", "numpy."))


def is_only_read(place: Place, node: ast.expr) -> bool:
    """Whether all that a function does with a value is to compute other ones from it, by itself or by the one name that it is given."""
    at, function = place.chain[: place.chain.index(node) + 1], place.functions[-1]
    statement = at[-2]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is not node:
        return is_read(at)
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
    loads = loads_of(function, name) if name else None
    named = [part for part in own_nodes(function) if isinstance(part, ast.Name) and part.id == name]
    return (
        bool(loads) and loads is not None and name not in declared(function) and len(named) == len(loads) + 1 and all(map(is_read, loads))
    )


def is_read(chain: tuple[ast.AST, ...]) -> bool:
    """Whether one use of a value makes a new one: as an operand, an index, what an operation is given."""
    node, outer = chain[-1], chain[-2]
    if isinstance(outer, (ast.UnaryOp, ast.Compare)):
        return not isinstance(getattr(outer, "op", None), ast.UAdd)
    if isinstance(outer, ast.BinOp):
        return True
    if isinstance(outer, ast.AugAssign):
        return outer.value is node
    if isinstance(outer, ast.Subscript):
        return outer.slice is node
    if isinstance(outer, ast.Attribute):
        call = chain[-3]
        return isinstance(call, ast.Call) and call.func is outer and _makes_new(call, node)
    if isinstance(outer, ast.Call) and outer.func is not node:
        return dotted(outer.func) in _READERS or dotted(outer.func).startswith("math.") or _makes_new(outer, node)
    return isinstance(outer, (ast.If, ast.FormattedValue)) or (isinstance(outer, ast.IfExp) and outer.test is node)


def is_new(node: ast.expr) -> bool:
    """Whether an expression is computed, so that its value shares nothing with what it is computed from."""
    if isinstance(node, (ast.BinOp, ast.Compare)):
        return True
    found = operation(node) if isinstance(node, ast.Call) else None
    return found is not None and found[0] in _NEW and isinstance(node, ast.Call) and _makes_new(node, node)


def _makes_new(call: ast.Call, node: ast.AST) -> bool:
    """Whether the result of an operation shares nothing with one of its operands. (Those that look at a tensor anew do so at the first.)"""
    found = operation(call)
    if found is None or any(keyword.arg in (None, "out") for keyword in call.keywords):
        return False
    return found[0] in _NEW or (found[0] in CHEAP and bool(found[1]) and found[1][0] is not node)
