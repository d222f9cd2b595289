"""Which names of a function may hold one tensor, and what writes to it in place.

A choice of two values is a tensor of its own, where a branch that keeps a name's value hands on the one that was there. Nobody can tell
them apart, unless one of the names that hold the old one is written to in place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from .imports import imported, resolved
from .names import module_binders
from .operations import BOUNDED, COMPARED, COUNTED, HEAVY, OWNERS, PAIRED, REDUCED, STEEP, TESTED, is_known, operation
from .syntax import DEFINITIONS, Function, Place, dotted, first_line, last_line, names_a_write, own_nodes, remembered

_NEW = BOUNDED | STEEP | PAIRED | COMPARED | TESTED | REDUCED | COUNTED | HEAVY
_NEW |= {"clone", "abs", "neg", "negative", "relu", "triu", "tril", "floor", "ceil", "round", "trunc", "sign", "zeros_like", "ones_like"}
_NEW |= {"flip", "roll", "repeat", "cat", "stack", "cumsum", "gather", "index_select", "masked_fill", "where", "softmax", "log_softmax"}
_NEW |= {"lerp", "clamp", "clip", "clamp_min", "clamp_max", "nan_to_num", "pow", "div", "true_divide", "floor_divide", "remainder", "outer"}
_NEW |= {
    "full_like",
    "leaky_relu",
    "normalize",
    "layer_norm",
    "square",
    "diff",
    "cumprod",
    "dot",
    "addcmul",
    "addcdiv",
    "softplus",
    "trace",
}
_NEW |= {"zeros", "ones", "full", "tensor", "arange", "eye", "new_zeros", "new_ones", "new_full", "new_tensor", "item", "size", "dim"}
_NEW |= {"numel", "softmin", "glu", "mish", "masked_scatter", "tolist"}
"""Operations whose result is nothing that existed before."""
_PLAIN = frozenset({"len", "abs", "float", "int", "bool", "min", "max", "sum", "isinstance", "range", "round", "hasattr", "type", "str"})
_PLAIN |= {"print", "repr", "format", "id", "any", "all", "callable"}
"""Functions of Python that neither write to their operands nor hand them on."""
_HANDING_ON = frozenset({"tuple", "list", "zip", "reversed", "getattr", "enumerate", "sorted", "dict", "iter", "next"})
_KEEPING = frozenset({"append", "extend", "insert", "setdefault", "update", "add", "register_buffer", "setattr"})
"""What puts its operands into what it is called on."""
_DESCRIPTIONS = frozenset({"shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda", "training"})
_HARMLESS = ("math.", "numpy.", "logging.", "torch.nn.functional.")
_FRESH = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.JoinedStr)
_HANDING_MODULES = frozenset({"Identity", "Flatten", "Unflatten", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"})
"""Modules of torch that may give their input back."""
_CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "Module", "ParameterList", "ParameterDict", "DataParallel"})


class Writing(IntEnum):
    """How sure it is that a tensor is written to."""

    NONE = 0
    POSSIBLE = 1
    CERTAIN = 2


@dataclass(frozen=True)
class Aliases:
    """Reads one function. `wide` takes what the user's own functions give for what they were given, which it may be."""

    place: Place
    function: Function | ast.Module
    wide: bool = False

    def shared(self, *nodes: ast.AST | None) -> frozenset[str]:
        """The names (`x`, `self.buffer`) that hold the very tensor that one of the expressions gives, or one that it is a view of."""
        return frozenset().union(*map(self._shared, nodes))

    def _shared(self, node: ast.AST | None) -> frozenset[str]:
        if node is None or isinstance(node, _FRESH):
            return frozenset()
        if isinstance(node, ast.Name):
            return frozenset({node.id})
        if isinstance(node, ast.Attribute):
            if node.attr in _DESCRIPTIONS:
                return frozenset()
            return frozenset({dotted(node)}) if dotted(node.value) in OWNERS else self._shared(node.value)
        if isinstance(node, ast.Subscript):
            return self._shared(node.value)
        if isinstance(node, ast.IfExp):
            return self.shared(node.body, node.orelse)
        if isinstance(node, ast.Call):
            return self._handed_on(node)
        return self.shared(*ast.iter_child_nodes(node))

    def _handed_on(self, call: ast.Call) -> frozenset[str]:
        """What a call may give back of its operands."""
        if self.is_unknown(call):
            return (self.operands(call) or frozenset({"?"})) if self.wide else frozenset()
        if isinstance(call.func, ast.Name):
            return frozenset() if call.func.id in _PLAIN else self.operands(call)
        if _is_own_method(call):
            kinds = _modules_of(self.place, dotted(call.func))
            return self.operands(call) if kinds & _HANDING_MODULES else frozenset()
        name = (operation(call) or ("",))[0]
        return frozenset() if name in _NEW and not in_place(call) else self.operands(call)

    def operands(self, call: ast.Call) -> frozenset[str]:
        """What the operands of a call hold, the receiver's among them."""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) and not _is_own_method(call) else None
        return self.shared(receiver, *call.args, *(keyword.value for keyword in call.keywords))

    def is_unknown(self, call: ast.Call) -> bool:
        """Whether a call may do anything with its operands: one of the user's own functions, methods or modules."""
        name, found = dotted(call.func), operation(call)
        if isinstance(call.func, ast.Name) and call.func.id in _PLAIN | _HANDING_ON:
            return False
        if _is_own_method(call):
            return not _modules_of(self.place, name)
        if found is not None and (is_known(call) or found[0] in _NEW | _KEEPING):
            return False
        binders = module_binders(self.place.module, name.partition(".")[0])
        is_imported = any(isinstance(binder, (ast.Import, ast.ImportFrom)) for binder in binders)
        return not (is_imported and resolved(self.place, name).startswith(_HARMLESS))

    def held_with(self, names: frozenset[str]) -> frozenset[str]:
        """All names that may hold what some of them hold."""
        pairs = remembered(self.function, f"_graphbreak_pairs_{self.wide}", lambda: tuple(self.pairs(own_nodes(self.function))))
        held, known = set(names), -1
        while len(held) > known:
            known = len(held)
            for one, other in pairs:
                if one and other and not held.isdisjoint(one | other):
                    held |= one | other
        return frozenset(held)

    def pairs(self, nodes: Iterable[ast.AST]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        """For each assignment the names that are given something, and those that hold it already."""
        for node in nodes:
            if isinstance(node, ast.Assign):
                if _are_parallel(node):
                    yield from ((self.shared(one), self.shared(other)) for one, other in _parallel(node))
                else:
                    yield self.shared(*node.targets), self.shared(node.value)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                yield self.shared(node.target), self.shared(node.value)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                yield self.shared(node.target), self.shared(node.iter)
            elif isinstance(node, ast.withitem):
                yield self.shared(node.optional_vars), self.shared(node.context_expr)
            elif isinstance(node, ast.Call) and _last_name(node) in _KEEPING:
                names = self.operands(node) | ({dotted(node.func.value)} if _is_own_method(node) else set())  # type: ignore[attr-defined]
                yield names, names

    def writes(self, node: ast.AST, names: frozenset[str]) -> Writing:
        """Whether a single node writes to what the names hold."""
        if isinstance(node, ast.AugAssign):
            return Writing.CERTAIN if self.shared(node.target) & names else Writing.NONE
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and dotted(node.value) not in OWNERS):
            return Writing.CERTAIN if not isinstance(node.ctx, ast.Load) and self.shared(node.value) & names else Writing.NONE
        if isinstance(node, (*DEFINITIONS, ast.Lambda)):
            return Writing.POSSIBLE if _read(node) & names else Writing.NONE
        if not isinstance(node, ast.Call):
            return Writing.NONE
        if _is_own_method(node) and any("." in name for name in names) and self.is_unknown(node):
            return Writing.POSSIBLE
        if not self.operands(node) & names:
            return Writing.NONE
        if in_place(node):
            return Writing.CERTAIN
        return Writing.POSSIBLE if self.is_unknown(node) else Writing.NONE


def written(place: Place, function: Function, names: Iterable[str], behind: ast.AST) -> Writing:
    """Whether what one of these names holds at a statement is written to in place from there on, by this or another name for it."""
    found, given = Writing.NONE, frozenset(names)
    nodes = list(_run_behind(place, function, behind))
    for wide, most in ((False, Writing.CERTAIN), (True, Writing.POSSIBLE)):
        aliases = Aliases(place, function, wide)
        held = aliases.held_with(given)
        found = max([found, *(min(most, aliases.writes(node, held)) for node in nodes), min(most, _by_callers(aliases, held))])
    return found


def is_private(place: Place, function: Function, name: str, before: ast.AST) -> bool:
    """Whether a name holds, when a statement is reached, a tensor that the function made and no other name has."""
    if name in declared(function) or "." in name or any(name in _read(node) for node in _inner(function)):
        return False
    aliases = Aliases(place, function, wide=True)
    made = _made_anew(aliases, name, before)
    if made is None and any(node.arg == name for node in ast.walk(function.args) if isinstance(node, ast.arg)):
        return False
    nodes = [node for node in _run_before(place, function, before) if made is None or getattr(node, "lineno", 0) > made]
    if any(isinstance(node, ast.Call) and aliases.is_unknown(node) and name in aliases.operands(node) for node in nodes):
        return False
    return not any(one and other and name in one | other and not one == other == {name} for one, other in aliases.pairs(nodes))


def _made_anew(aliases: Aliases, name: str, before: ast.AST) -> int | None:
    """The last line, if any, on which a name is certainly given a tensor of its own before a statement is reached."""
    inside = aliases.place.inside
    blocks = [getattr(outer, field, None) for outer in aliases.place.chain for field in ("body", "orelse")]
    found = None
    for block in blocks:
        inner = next((node for node in block if node in inside), None) if isinstance(block, list) else None
        for statement in block[: block.index(inner)] if inner is not None and isinstance(block, list) else ():
            is_it = isinstance(statement, ast.Assign) and [dotted(target) for target in statement.targets] == [name]
            if is_it and not aliases.shared(statement.value) and first_line(statement) < first_line(before):
                found = max(found or 0, int(statement.end_lineno))
    return found


def declared(function: Function) -> frozenset[str]:
    """The names that are not a function's own though it may assign them: `global` and `nonlocal`."""
    return frozenset(name for node in own_nodes(function) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names)


def in_place(call: ast.Call) -> bool:
    """Whether a call writes to an operand: `add_`, `inplace=True`, `out=`, also as the last argument in `F.relu(x, True)`."""
    name = _last_name(call)
    if names_a_write(name):
        return True
    for keyword in call.keywords:
        if keyword.arg in ("out", "inplace") and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value):
            return True
    functional = dotted(call.func).rpartition(".")[0].rpartition(".")[2] in ("F", "functional")
    return functional and any(isinstance(arg, ast.Constant) and arg.value is True for arg in call.args[1:])


def _are_parallel(node: ast.Assign) -> bool:
    """Whether it is `a, b = c, d`."""
    parts = [*node.targets, node.value]
    tuples = [part for part in parts if isinstance(part, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in part.elts)]
    return len(tuples) == len(parts) and len({len(part.elts) for part in tuples}) == 1


def _parallel(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        yield from zip(target.elts, node.value.elts, strict=True)  # type: ignore[attr-defined]


def _is_own_method(call: ast.Call) -> bool:
    """`self.relu(x)`, which only looks like an operation."""
    return isinstance(call.func, ast.Attribute) and dotted(call.func.value) in OWNERS


def _modules_of(place: Place, name: str) -> frozenset[str]:
    """The kinds of torch's own modules that the class around says `self.name` to be; none where it may be anything else, or writes to its
    input."""
    owner = next((node for node in reversed(place.chain) if isinstance(node, ast.ClassDef)), None)
    values = [
        node.value
        for node in (ast.walk(owner) if owner is not None else ())
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        and name in map(dotted, node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    kinds = [_module_made(place, value) for value in values]
    return frozenset(kinds) if "" not in kinds else frozenset()


def _module_made(place: Place, value: ast.expr | None) -> str:
    """The kind of module that an expression makes; nothing where it is none of torch's, or one that writes to its input."""
    if not isinstance(value, ast.Call):
        return ""
    full = _module_name(place, dotted(value.func))
    flagged = any(isinstance(arg, ast.Constant) and arg.value is True for arg in value.args)
    flagged = flagged or any(keyword.arg in (None, "inplace") for keyword in value.keywords)
    kind = full.rpartition(".")[2]
    return kind if full.startswith("torch.nn.") and kind not in _CONTAINERS and not flagged else ""


def _module_name(place: Place, name: str) -> str:
    """What a name means at the top of the file: the class is made in another function than the place is in."""
    root, _, rest = name.partition(".")
    binders = module_binders(place.module, root)
    target = imported(binders[0], root) if len(binders) == 1 else ""
    return f"{target}.{rest}" if target and rest else target


def _run_behind(place: Place, function: Function, statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that may run after a statement or expression: behind it, in one loop with it, around it; and the functions
    inside, which may be called at any time."""
    loop, own = _outermost_loop(place, statement), set(map(id, ast.walk(statement)))
    within = range(first_line(loop), last_line(loop) + 1) if loop is not None else range(0)
    end = (getattr(statement, "end_lineno", 0), getattr(statement, "end_col_offset", 0))
    for node in own_nodes(function):
        start = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        around = isinstance(node, ast.Call) and isinstance(statement, ast.expr) and any(part is statement for part in ast.walk(node))
        inner = isinstance(node, (*DEFINITIONS, ast.Lambda))
        if id(node) not in own and (start >= end or start[0] - 1 in within or inner or around):
            yield node


def _run_before(place: Place, function: Function, statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes that may have run when a statement is reached."""
    loop, own = _outermost_loop(place, statement), set(map(id, ast.walk(statement)))
    end = last_line(loop) if loop is not None else first_line(statement) - 1
    for node in own_nodes(function):
        line = getattr(node, "lineno", getattr(getattr(node, "target", None), "lineno", 1)) - 1
        if line <= end and id(node) not in own:
            yield node


def _outermost_loop(place: Place, statement: ast.AST) -> ast.AST | None:
    chain = place.inside
    outer = chain[: chain.index(statement)] if statement in chain else chain
    return next((node for node in outer if isinstance(node, (ast.For, ast.AsyncFor, ast.While))), None)


def _inner(function: Function) -> Iterator[ast.AST]:
    return (node for node in own_nodes(function) if isinstance(node, (*DEFINITIONS, ast.Lambda)))


def _read(node: ast.AST) -> set[str]:
    """The names that a function or class inside mentions."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _by_callers(aliases: Aliases, names: frozenset[str]) -> Writing:
    """Whether a function of the same file that calls this one writes to what it gets back, where one of the names may be returned."""
    function = aliases.function
    name = getattr(function, "name", "")
    returned = [node.value for node in own_nodes(function) if isinstance(node, (ast.Return, ast.Yield))]
    if not name or not aliases.shared(*returned) & names:
        return Writing.NONE
    others = (node for node in ast.walk(aliases.place.module) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)))
    found = any(_writes_to_result(Aliases(aliases.place, other), name) for other in others if other is not function)
    return Writing.CERTAIN if found else Writing.NONE


def _writes_to_result(caller: Aliases, name: str) -> bool:
    """Whether a function writes to what its call of another one gives."""

    def calls(node: ast.AST | None) -> bool:
        found = node is not None and any(isinstance(part, ast.Call) and _last_name(part) == name for part in ast.walk(node))
        return found and not isinstance(node, _FRESH)

    nodes = list(own_nodes(caller.function))
    given = [target for node in nodes if isinstance(node, ast.Assign) and calls(node.value) for target in node.targets]
    held = caller.held_with(caller.shared(*given))
    if any(caller.writes(node, held) is Writing.CERTAIN for node in nodes):
        return True
    written = (node for node in nodes if isinstance(node, ast.Call) and in_place(node))
    return any(calls(part) for node in written for part in (getattr(node.func, "value", None), *node.args))


def _last_name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", dotted(call.func)))
