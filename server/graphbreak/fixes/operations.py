"""What is known of torch's operations without importing torch: which are cheap, keep a shape, or have a finite slope.

A name stands for the function (`torch.f`, `F.f`) and for the method of a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from .syntax import dotted

STEADY = frozenset({"abs", "neg", "negative", "relu", "positive", "contiguous", "clone", "triu", "tril"})
"""Elementwise, of the operand's type, with a finite slope wherever the operand is finite."""
BOUNDED = frozenset({"sin", "cos", "tanh", "sigmoid", "gelu", "silu", "softsign", "erf", "atan", "arctan", "logsigmoid", "elu", "selu"})
"""Elementwise and of a floating type, with a finite slope wherever the operand is finite."""
STEEP = frozenset(
    {"exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "tan", "asin", "acos", "sinh", "cosh", "erfinv"}
)
"""Elementwise and of a floating type, with a slope that can be infinite."""
ROUNDING = frozenset({"floor", "ceil", "round", "trunc", "sign", "detach", "zeros_like", "ones_like"})
"""Of the operand's shape and type, without a slope."""
PAIRED = frozenset({"maximum", "minimum", "add", "sub", "mul", "multiply", "subtract", "fmax", "fmin"})
"""Elementwise of two operands, of their common type."""
COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "greater", "less", "isclose"})
TESTED = frozenset({"isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not", "signbit"})
"""Of the operand's shape, and true or false."""
REDUCED = frozenset({"sum", "mean", "max", "min", "prod", "std", "var", "norm", "amax", "amin", "median", "nansum", "nanmean", "logsumexp"})
COUNTED = frozenset({"any", "all", "argmax", "argmin", "count_nonzero", "equal"})
"""One value for the whole operand when called without a dimension; without a slope."""
SHAPED = frozenset(
    {"view", "reshape", "transpose", "permute", "flatten", "squeeze", "unsqueeze", "expand", "expand_as", "chunk", "t", "movedim", "flip"}
    | {"roll", "repeat", "cat", "stack", "cumsum", "gather", "index_select", "masked_fill", "where", "softmax", "log_softmax", "lerp"}
    | {"clamp", "clip", "clamp_min", "clamp_max", "nan_to_num", "float", "half", "bfloat16", "double", "to", "type_as", "long", "int"}
    | {"pow", "div", "true_divide", "floor_divide", "remainder", "bool", "full_like", "leaky_relu", "normalize", "layer_norm", "square"}
    | {"broadcast_to", "select", "narrow", "diff", "cumprod", "sort", "topk", "outer", "dot", "addcmul", "addcdiv", "hardtanh", "softplus"}
    | {
        "zeros",
        "ones",
        "full",
        "tensor",
        "arange",
        "eye",
        "new_zeros",
        "new_ones",
        "new_full",
        "new_tensor",
        "item",
        "size",
        "dim",
        "numel",
    }
    | {
        "softmin",
        "glu",
        "relu6",
        "hardswish",
        "hardsigmoid",
        "mish",
        "masked_scatter",
        "diagonal",
        "diag",
        "trace",
        "view_as",
        "reshape_as",
    }
)
HEAVY = frozenset(
    {"matmul", "mm", "bmm", "linear", "conv1d", "conv2d", "conv3d", "einsum", "baddbmm", "addmm", "scaled_dot_product_attention"}
)
"""Pure, but not worth computing for nothing."""
CHEAP = STEADY | BOUNDED | STEEP | ROUNDING | PAIRED | COMPARED | TESTED | REDUCED | COUNTED | SHAPED
_PLAIN = frozenset({"len", "abs", "float", "int", "bool", "min", "max", "sum", "isinstance", "tuple", "list", "getattr", "range", "round"})
_MODULES = frozenset({"torch", "th", "F", "nn.functional", "torch.nn.functional", "functional"})
OWNERS = ("self", "cls")
_GRAD_MODES = frozenset({"no_grad", "inference_mode", "set_grad_enabled", "enable_grad"})
_HARMLESS_SCOPES = frozenset({"autocast", "record_function", "profile", "device", "stream"})
_NO_TENSORS = frozenset(
    {"math", "np", "numpy", "os", "sys", "time", "random", "torch", "logger", "logging", "warnings", "copy", "itertools"}
)


def operation(call: ast.Call) -> tuple[str, tuple[ast.expr, ...]] | None:
    """The name of a torch operation and its operands, of a method the object first; None for any other call."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return None
    root = dotted(function.value)
    if root in _MODULES:
        return function.attr, tuple(call.args)
    if root.split(".")[0] in _NO_TENSORS:
        return None
    return function.attr, (function.value, *call.args)


def is_pure(node: ast.expr, allowed: Callable[[ast.Call], bool]) -> bool:
    """Whether computing an expression leaves nothing behind, its calls judged by `allowed`."""
    for part in ast.walk(node):
        if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda, ast.Starred)):
            return False
        if isinstance(part, ast.Call) and not allowed(part):
            return False
    return True


def is_grad_mode(node: ast.expr) -> bool:
    """Whether a decorator or context manager is one of torch's that switch gradients off or on."""
    return _last_name(node) in _GRAD_MODES


def may_switch_gradients(manager: ast.expr) -> bool:
    """Whether a context manager may do that: all but a few that are known not to."""
    return _last_name(manager) not in _HARMLESS_SCOPES


def _last_name(node: ast.expr) -> str:
    return dotted(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]


def is_cheap_call(call: ast.Call) -> bool:
    """Whether a call is one of the cheap, pure operations; none that writes to its operand (`add_`, `out=`) or draws numbers."""
    if any(keyword.arg in (None, "out", "inplace") for keyword in call.keywords):
        return False
    if isinstance(call.func, ast.Name):
        return call.func.id in _PLAIN
    found = operation(call)
    if isinstance(call.func, ast.Attribute) and dotted(call.func.value) in OWNERS:
        return False  # a module or method that only has the name of an operation
    if found is None:
        return dotted(call.func) in ("torch.finfo", "torch.iinfo") or dotted(call.func).startswith("math.")
    return found[0] in CHEAP or found[0] in ("finfo", "iinfo")


def is_known(call: ast.Call) -> bool:
    """Whether a call is certainly or by its name one of torch's operations; `self.relu(x)` is a call of a module."""
    if not isinstance(call.func, ast.Attribute) or dotted(call.func.value) in OWNERS:
        return False
    return dotted(call.func.value) in _MODULES or call.func.attr in CHEAP | HEAVY


def is_cheap(node: ast.expr) -> bool:
    """Whether an expression can as well be computed for nothing."""
    heavy = any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult) for part in ast.walk(node))
    return not heavy and is_pure(node, is_cheap_call)
