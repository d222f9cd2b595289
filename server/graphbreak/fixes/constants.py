"""Which expressions give the same in every call of their function: those that use no argument, and no clock, file or random number."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .imports import is_local, resolved
from .names import is_builtin, is_rebound, module_binders
from .syntax import COMPREHENSIONS, Place, dotted

_CHANGING = (
    *("time.", "random.", "numpy.random.", "uuid.", "secrets.", "datetime.", "threading.", "subprocess.", "socket.", "copy.", "gc."),
    *("torch.rand", "torch.manual_seed", "torch.seed", "torch.empty", "torch.normal", "torch.bernoulli", "torch.multinomial"),
    *("torch.compiler.", "torch._dynamo.", "torch.is_grad_enabled", "torch.get_", "torch.cuda."),
    *("logging.", "warnings.", "sys.", "tempfile.", "inspect.", "tqdm."),
)
_CHANGING_BUILTINS = frozenset(
    {"open", "input", "print", "next", "iter", "id", "hash", "globals", "locals", "vars", "super", "eval", "exec", "setattr", "delattr"}
)
_STEADY = (
    *("math.", "zlib.crc32", "zlib.adler32", "hashlib.", "platform.", "os.uname", "os.path.", "os.cpu_count", "string.", "operator."),
    *("torch.finfo", "torch.iinfo", "torch.tensor", "torch.arange", "torch.zeros", "torch.ones", "torch.full", "torch.linspace"),
    *("torch.eye", "numpy.prod", "numpy.arange", "numpy.array", "numpy.sqrt", "numpy.log", "re.", "itertools.", "json.dumps"),
    *("json.loads", "base64.", "struct."),
)
_STEADY_METHODS = frozenset(
    {"encode", "decode", "hexdigest", "digest", "split", "join", "lower", "upper", "strip", "replace", "format", "startswith", "endswith"}
    | {"keys", "values", "items", "index", "count", "get", "bit_length", "tolist", "item", "sub", "match", "search", "group"}
    | {"view", "reshape", "unsqueeze", "squeeze", "flatten", "transpose", "permute", "t", "to", "long", "float"}
)
_FIXED = (
    *(
        "math.",
        "string.",
        "torch.float",
        "torch.int",
        "torch.uint",
        "torch.bool",
        "torch.half",
        "torch.double",
        "torch.long",
        "torch.short",
    ),
    *("torch.bfloat16", "torch.complex", "torch.pi", "numpy.float", "numpy.int", "numpy.uint", "numpy.bool", "numpy.pi", "sys.maxsize"),
)
"""The values of modules that stay what they are."""
_FROZEN = (ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp)
_PLAIN_VALUES = (ast.Constant, ast.Name, ast.List, ast.Tuple, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Compare)
_PLAIN_CALLS = frozenset(
    {"int", "float", "str", "bool", "list", "tuple", "dict", "set", "len", "max", "min", "sorted", "range", "sum", "round", "abs"}
)


@dataclass(frozen=True)
class Constancy:
    """`of_object` is the name of the object whose attributes are used (`self`), or empty; `certain` says that it is known, not assumed."""

    of_object: str
    certain: bool


def constancy_of(place: Place, node: ast.expr) -> Constancy | None:
    """Why an expression is the same in every call; None where it is not, or where that cannot be said."""
    me, bound = _receiver(place), _bound_inside(node)
    parts = list(ast.walk(node))
    if any(isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)) for part in parts):
        return None
    own = [part for part in parts if isinstance(part, ast.Name) and part.id == me]
    attributes = {part.attr for part in parts if isinstance(part, ast.Attribute) and part.value in own}
    if len(own) > sum(isinstance(part, ast.Attribute) and part.value in own for part in parts):
        return None  # the object itself is handed on
    known = [_name(place, name, called) for name, called in _named(node) if name.partition(".")[0] not in bound | {me}]
    known += [_call(place, part, me, bound) for part in parts if isinstance(part, ast.Call)]
    known += [_attribute(place, attribute, me, 0) for attribute in attributes]
    return None if None in known else Constancy(me if own else "", all(known))


def attributes_of(place: Place, node: ast.expr) -> set[str]:
    """The attributes of its object that an expression in a method reads."""
    me = _receiver(place)
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute) and me and dotted(part.value) == me}


def _named(node: ast.expr) -> list[tuple[str, bool]]:
    """The dotted names in an expression, each as long as it is written, and whether it is called."""
    callees = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    inner = {id(part.value) for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    return [(dotted(part), id(part) in callees) for part in ast.walk(node) if dotted(part) and id(part) not in inner]


def _bound_inside(node: ast.expr) -> set[str]:
    """The names that comprehensions in an expression bind."""
    generators = [generator for part in ast.walk(node) if isinstance(part, COMPREHENSIONS) for generator in part.generators]
    return {name.id for generator in generators for name in ast.walk(generator.target) if isinstance(name, ast.Name)}


def _name(place: Place, name: str, called: bool) -> bool | None:
    """True for a name that stays what it is (or is called, which is judged by itself), False for one that may change, None for a local."""
    root = name.partition(".")[0]
    if is_local(place, root):
        return None
    builtin = is_builtin(root) and not module_binders(place.module, root)
    return called or builtin or is_fixed(place, name) or resolved(place, name).startswith(_FIXED)


def _receiver(place: Place) -> str:
    """What the method around a place calls its object; nothing where it is no method."""
    function = place.functions[0] if len(place.functions) == 1 else None
    owners = [node for node in place.chain if isinstance(node, ast.ClassDef)]
    if not owners or not isinstance(function, ast.FunctionDef) or function not in owners[-1].body or function.name == "__init__":
        return ""
    static = any(dotted(decorator) in ("staticmethod", "classmethod") for decorator in function.decorator_list)
    return function.args.args[0].arg if function.args.args and not static else ""


def is_fixed(place: Place, name: str) -> bool:
    """Whether a name of the module is bound once, to numbers and texts that nothing can change."""
    binders = module_binders(place.module, name)
    value = binders[0].value if len(binders) == 1 and isinstance(binders[0], (ast.Assign, ast.AnnAssign)) else None
    if value is None or is_local(place, name) or is_rebound(place.source, name):
        return False
    parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
    return all(isinstance(part, _FROZEN) or (isinstance(part, ast.Name) and part.id != name and is_fixed(place, part.id)) for part in parts)


def _call(place: Place, call: ast.Call, me: str, bound: set[str]) -> bool | None:
    """True where a call gives the same for the same operands, False where that is only likely, None where not."""
    name = dotted(call.func)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if me and name == f"{me}.{method}":
        return True  # a method of the object, looked at with its attributes
    root = name.split(".")[0]
    if not name or root in bound or (me and root == me):
        return True if method in _STEADY_METHODS else (None if method.endswith("_") else False)
    target = resolved(place, name)
    if "." not in name and is_builtin(name) and not module_binders(place.module, name):
        return None if name in _CHANGING_BUILTINS else True
    if target and target.startswith(_CHANGING):
        return None
    return bool(target and target.startswith(_STEADY)) or _is_cached(place, name)


def _is_cached(place: Place, name: str) -> bool:
    """Whether a function of the module remembers its results."""
    binders = module_binders(place.module, name)
    decorators = binders[0].decorator_list if len(binders) == 1 and isinstance(binders[0], ast.FunctionDef) else []
    return any(dotted(getattr(node, "func", node)).rpartition(".")[2] in ("lru_cache", "cache") for node in decorators)


def _attribute(place: Place, name: str, me: str, depth: int) -> bool | None:
    """True where an attribute is set in `__init__` alone, to plain data; False where nothing is known of it; None where it changes."""
    owner = next(node for node in reversed(place.chain) if isinstance(node, ast.ClassDef))
    method = next((node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == name), None)
    if method is not None:
        return _method(place, method, depth)
    if name == "training":
        return None
    certain: bool | None = False
    for function in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
        for value in _stored(function, name):
            if function.name != "__init__" or value is None or not _is_plain(value):
                return None
            certain = True
    return certain


def _method(place: Place, method: ast.FunctionDef, depth: int) -> bool | None:
    """Whether a method gives the same for the same arguments: it reads plain attributes and sets none."""
    if depth > 2 or not method.args.args:
        return None
    me, certain = method.args.args[0].arg, True
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == me:
            kept = _attribute(place, node.attr, me, depth + 1) if isinstance(node.ctx, ast.Load) else None
            if kept is None:
                return None
            certain = certain and kept
        if isinstance(node, ast.Call):
            target = resolved(place, dotted(node.func))
            if target.startswith(_CHANGING) or dotted(node.func) in _CHANGING_BUILTINS:
                return None
            plain = target.startswith(_STEADY) or target in _PLAIN_CALLS or getattr(node.func, "attr", "") in _STEADY_METHODS
            certain = certain and (plain or dotted(node.func).startswith(me + "."))
        written = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
        if written or isinstance(node, (ast.Global, ast.Nonlocal, ast.Yield, ast.Await)):
            return None
    return certain


def _stored(function: ast.FunctionDef, name: str) -> list[ast.expr | None]:
    """What a method sets an attribute of its object to; None for what cannot be followed."""
    me = function.args.args[0].arg if function.args.args else ""
    stores = [node for node in ast.walk(function) if isinstance(node, ast.Attribute) and dotted(node) == f"{me}.{name}"]
    values: dict[int, ast.expr | None] = {id(node): None for node in stores if not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values.update({id(target): node.value for target in targets if id(target) in values})
    return list(values.values())


def _is_plain(value: ast.expr) -> bool:
    """Whether a value is data that no training changes: numbers, texts, containers, settings."""
    if isinstance(value, ast.Call):
        return dotted(value.func) in _PLAIN_CALLS
    return isinstance(value, _PLAIN_VALUES)
