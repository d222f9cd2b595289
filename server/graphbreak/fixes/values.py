"""What can be said of an expression's value from its text alone: whether it is a tensor, and of which shape and type beside others.

A shape is the set of the names whose shapes are broadcast to it: broadcasting is associative and does not mind the order, so two
expressions over the same names have the same shape. A type is the set of names that it is promoted from, and a `lift`: 0 for
their common type, 1 where arithmetic with a whole number makes numbers of truth values, 2 where the result is floating.
Where nothing is known for sure the answer is None, and who asks must be content with that.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .operations import BOUNDED, COMPARED, COUNTED, PAIRED, REDUCED, ROUNDING, STEADY, STEEP, TESTED, may_switch_gradients, operation
from .syntax import Function, dotted, own_nodes

_LINEAR = (ast.Add, ast.Sub)
_REARRANGING = frozenset({"flip", "roll"})
"""Of the operand's shape and type, whatever the dimensions."""
_KEEP_TYPE = frozenset({"softmax", "log_softmax", "softmin"})
_CLAMPS = frozenset({"clamp", "clip", "clamp_min", "clamp_max"})
_FLOATING_ONLY = (
    BOUNDED | STEEP | _KEEP_TYPE | {"mean", "std", "var", "norm", "dropout", "layer_norm", "linear", "sigmoid", "float", "rand", "randn"}
)
_MADE_FLOATING = frozenset({"rand", "randn", "rand_like", "randn_like", "linear", "layer_norm", "float"})
_TENSOR_ONLY = (
    STEADY | BOUNDED | STEEP | TESTED | {"detach", "zeros_like", "ones_like", "clamp", "softmax", "argmax", "argmin", "unsqueeze"}
)
_TENSOR_ONLY |= {
    "squeeze",
    "flatten",
    "reshape",
    "view",
    "permute",
    "transpose",
    "masked_fill",
    "nonzero",
    "matmul",
    "item",
    "requires_grad_",
}
_TENSOR_ONLY |= {"mean", "std", "var", "norm", "any", "all", "amax", "amin", "relu", "where", "numel"}
_TENSOR_ONLY -= {"round", "abs", "clone", "exp", "log", "sqrt", "sign"}


@dataclass(frozen=True)
class Value:
    """`smooth` is 2 where the slope is finite everywhere, 1 where it is for finite operands, else 0; `leaves` get a gradient."""

    shape: frozenset[str]
    kind: frozenset[str]
    lift: int = 0
    tensor: bool = False
    smooth: int = 2
    leaves: frozenset[str] = frozenset()
    number: float | None = None


@dataclass(frozen=True)
class Facts:
    """The names that hold tensors wherever they are read, and those that hold floating ones."""

    tensors: frozenset[str] = frozenset()
    floating: frozenset[str] = frozenset()
    known: Mapping[str, Value] = field(default_factory=dict)
    """Names with one certain value: numbers, and what is assigned once from others."""


_NUMBER = Value(frozenset(), frozenset())
_AUTOCAST = frozenset({"autocast?"})
"""In the type of what `torch.autocast` computes in another type; no name is spelt so."""
_TRUTH = frozenset({"?"})
"""The type of a comparison: no name is spelt so."""


def alike(one: Value | None, other: Value | None, facts: Facts) -> bool:
    """Whether two values are tensors of the same shape and type, through which the same names have gradients, whatever is put in."""
    if one is None or other is None or not (one.tensor and other.tensor):
        return False
    if one.shape != other.shape or one.leaves != other.leaves or not one.kind:
        return False
    floating = one.kind <= facts.floating
    return one.kind == other.kind and (one.lift == other.lift or floating)


def value_of(node: ast.expr, facts: Facts) -> Value | None:
    """What is known of an expression's value."""
    name = dotted(node)
    if name in facts.known:
        return facts.known[name]
    if dotted(getattr(node, "value", node)) == "" and isinstance(node, ast.Attribute) and _is_finfo(node.value):
        return replace(_NUMBER, lift=2)
    if ".config." in f".{name}":
        return replace(_NUMBER, lift=2)  # a setting, never a tensor
    if name:
        return Value(frozenset({name}), frozenset({name}), tensor=name in facts.tensors, leaves=frozenset({name}))
    if isinstance(node, ast.Constant):
        is_number = isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
        return replace(_NUMBER, lift=1 + isinstance(node.value, float), number=float(node.value)) if is_number else None  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = value_of(node.operand, facts)
        return replace(value, number=None if value.number is None else -value.number) if value else None
    if isinstance(node, ast.BinOp):
        return _binary(node, facts)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Is, ast.IsNot)):
        return _truth(_both(value_of(node.left, facts), value_of(node.comparators[0], facts)))
    return _called(node, facts) if isinstance(node, ast.Call) else None


def facts_of(function: Function, given: Facts) -> Facts:
    """What a function's own code shows of its names, beside what is given of them (its arguments, as they were in the traced call)."""
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    assigned = _assigned(function)
    facts = Facts(given.tensors | _used_as_tensors(function) | _annotated(function), frozenset(), _numbers(function, assigned, parameters))
    unknown = {name for name, values in assigned.items() if None in values}
    for _ in range(4):
        for name, values in assigned.items():
            if name in unknown:
                continue
            found = [value_of(value, facts) for value in values if value is not None]
            if name in parameters:
                found.append(Value(frozenset(), frozenset({name}), tensor=name in facts.tensors))
            if all(value is not None and value.tensor for value in found):
                facts = replace(facts, tensors=facts.tensors | {name})
                known = name not in parameters or name in given.floating
                if known and all(value is not None and _is_floating(value, facts, name) for value in found):
                    facts = replace(facts, floating=facts.floating | {name})
        facts = replace(facts, floating=facts.floating | (given.floating - set(assigned)))
    return facts


def with_known(facts: Facts, function: Function, branch: ast.AST) -> Facts:
    """The facts with the values of the names that are assigned once, the assignments inside the branch itself left out.

    What is assigned where gradients may be switched off is not looked into: it has no slope though its parts have.
    """
    inside = {id(node) for node in ast.walk(branch) if isinstance(node, ast.expr)}
    values = _assigned(function)
    outside = {name: [v for v in found if v is None or id(getattr(v, "right", v)) not in inside] for name, found in values.items()}
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    scoped = _assigned_under_scopes(function)
    once = {name: found[0] for name, found in outside.items() if len(found) == 1 and name not in parameters | scoped}
    known = dict(facts.known)
    for _ in range(4):
        facts = replace(facts, known=known)
        for name, expression in once.items():
            value = value_of(expression, facts) if expression is not None else None
            if value is not None and name not in value.shape | value.kind | value.leaves and not _mentions(value) & set(values):
                known = {**known, name: replace(value, number=None)}
    return replace(facts, known=known)


def _assigned_under_scopes(function: Function) -> set[str]:
    """The names that a function assigns inside a `with` that may switch gradients off."""
    scopes = [node for node in own_nodes(function) if isinstance(node, (ast.With, ast.AsyncWith))]
    switching = [scope for scope in scopes if any(may_switch_gradients(item.context_expr) for item in scope.items)]
    parts = (part for scope in switching for part in ast.walk(scope))
    return {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}


def _mentions(value: Value) -> set[str]:
    return {name.split(".")[0] for name in value.shape | value.kind | value.leaves}


def _numbers(function: Function, assigned: Mapping[str, Sequence[ast.expr | None]], parameters: set[str]) -> dict[str, Value]:
    """The names that only ever hold numbers of Python."""
    known = {name: replace(_NUMBER, lift=1) for name in _counters(function) if len(assigned.get(name, ())) == 1}
    for _ in range(3):
        for name, values in assigned.items():
            found = [value_of(value, Facts(known=known)) for value in values if value is not None]
            if name not in parameters and None not in values and all(v is not None and not (v.tensor or v.kind or v.shape) for v in found):
                known = {**known, name: replace(_NUMBER, lift=max(value.lift for value in found if value is not None))}
    return known


def _counters(function: Function) -> set[str]:
    """The names that loops over `range` give whole numbers."""
    loops = [node for node in own_nodes(function) if isinstance(node, ast.For) and isinstance(node.target, ast.Name)]
    return {node.target.id for node in loops if isinstance(node.iter, ast.Call) and dotted(node.iter.func) == "range"}  # type: ignore[attr-defined]


def _is_finfo(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in ("finfo", "iinfo")


def _is_floating(value: Value, facts: Facts, name: str) -> bool:
    """Whether a value is floating, given that the name it is assigned to was so before."""
    return value.lift == 2 or bool(value.kind & facts.floating) or value.kind == {name}


def _binary(node: ast.BinOp, facts: Facts) -> Value | None:
    left, right = value_of(node.left, facts), value_of(node.right, facts)
    both = _both(left, right)
    if both is None or left is None or right is None:
        return None
    if isinstance(node.op, _LINEAR):
        return both
    if isinstance(node.op, ast.Mult):
        return replace(both, smooth=both.smooth if left.number is not None or right.number is not None else min(both.smooth, 1))
    if isinstance(node.op, ast.Div):
        return replace(both, lift=2, smooth=both.smooth if right.number else 0)
    if isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return replace(both, leaves=frozenset())
    if isinstance(node.op, ast.Pow) and right.number is not None and right.number >= 1:
        return replace(both, kind=both.kind | _AUTOCAST, smooth=min(both.smooth, 1))
    return replace(both, smooth=0) if isinstance(node.op, (ast.Pow, ast.FloorDiv, ast.Mod)) else None


def _both(one: Value | None, other: Value | None) -> Value | None:
    if one is None or other is None:
        return None
    return Value(
        one.shape | other.shape,
        one.kind | other.kind,
        max(one.lift, other.lift),
        one.tensor or other.tensor,
        min(one.smooth, other.smooth),
        one.leaves | other.leaves,
    )


def _truth(value: Value | None) -> Value | None:
    return Value(value.shape, _TRUTH, tensor=value.tensor) if value is not None else None


def _called(node: ast.Call, facts: Facts) -> Value | None:
    found = operation(node)
    if found is None or not found[1]:
        return None
    name, operands = found
    first = value_of(operands[0], facts)
    if name in _CLAMPS:
        return _clamped(node, operands, first, facts)
    if first is None or any(keyword.arg not in ("dim", "approximate") for keyword in node.keywords):
        return None
    is_tensor = replace(first, tensor=True)
    if name in _KEEP_TYPE:
        return replace(is_tensor, kind=first.kind | _AUTOCAST, smooth=min(first.smooth, 1))
    if name in _REARRANGING:
        return is_tensor
    if name in PAIRED and len(operands) == 2:
        both = _both(is_tensor, other := value_of(operands[1], facts))
        scaled = name not in ("mul", "multiply") or (other is not None and other.number is not None)
        return both if both is None or scaled else replace(both, smooth=min(both.smooth, 1))
    if name in COMPARED and len(operands) == 2:
        return _truth(_both(is_tensor, value_of(operands[1], facts)))
    if len(operands) > 1 or node.keywords:
        return None
    return _of_one(name, is_tensor, facts)


def _of_one(name: str, value: Value, facts: Facts) -> Value | None:
    """The value of an operation on one operand."""
    if name in STEADY:
        return replace(value, smooth=min(value.smooth, 1)) if name == "abs" else value
    if name in BOUNDED:
        return replace(value, lift=2, smooth=min(value.smooth, 1))
    if name in STEEP:
        return replace(value, lift=2, smooth=0)
    if name in ROUNDING:
        return replace(value, leaves=frozenset(), smooth=2)
    if name in TESTED:
        return _truth(value)
    if name in COUNTED:
        return Value(frozenset(), _TRUTH, tensor=True)
    if name in REDUCED:
        steep = name in ("std", "norm", "var", "prod", "logsumexp")
        kind = value.kind if value.kind <= facts.floating or name in ("max", "min", "amax", "amin") else value.kind | {"sum?"}
        return replace(value, shape=frozenset(), kind=kind, smooth=0 if steep else min(value.smooth, 1))
    if name == "float":
        return replace(value, kind=frozenset({"float32?"}), lift=2)
    return None


def _clamped(node: ast.Call, operands: tuple[ast.expr, ...], first: Value | None, facts: Facts) -> Value | None:
    """`clamp` with numbers for its borders."""
    borders = [*operands[1:], *(keyword.value for keyword in node.keywords if keyword.arg in ("min", "max"))]
    if first is None or len(operands) - 1 + len(node.keywords) != len(borders):
        return None
    values = [value_of(border, facts) for border in borders if not (isinstance(border, ast.Constant) and border.value is None)]
    if any(value is None or value.tensor or value.shape or value.kind for value in values):
        return None  # a border that may be a tensor
    return replace(first, tensor=True, lift=max([first.lift, *(value.lift for value in values if value is not None)]))


def _assigned(function: Function) -> dict[str, list[ast.expr | None]]:
    """What each name of a function is assigned, None for what cannot be followed (a loop's target, unpacking, an augmented assignment)."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in own_nodes(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            again = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            found.setdefault(node.target.id, []).append(again)
    simple = {
        id(part) for node in own_nodes(function) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) for part in _targets(node)
    }
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)) and id(node) not in simple:
            found.setdefault(node.id, []).append(None)
    return found


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    targets: list[ast.expr] = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    return targets if len(targets) == 1 and isinstance(targets[0], ast.Name) else []


def _used_as_tensors(function: Function) -> frozenset[str]:
    """The names on which an operation is called that nothing but a tensor has."""
    found = set()
    for node in own_nodes(function):
        called = operation(node) if isinstance(node, ast.Call) else None
        if called is not None and called[0] in _TENSOR_ONLY and called[1] and isinstance(called[1][0], ast.Name):
            found.add(called[1][0].id)
    return frozenset(found)


def _annotated(function: Function) -> frozenset[str]:
    """The parameters that the code itself calls tensors."""
    arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg) and node.annotation is not None]
    return frozenset(node.arg for node in arguments if dotted(node.annotation or node).rpartition(".")[2] in ("Tensor", "FloatTensor"))
