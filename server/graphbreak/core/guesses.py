"""Which expression of a line PyTorch means, by what it says, where there are no columns (Python 3.10).

A guess is never a wrong expression: where two could be meant, or none is found, there is no guess, and the statement is shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

Node = ast.expr | ast.stmt
_BINARY: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "matmul": ast.MatMult,
    "truediv": ast.Div,
    "floordiv": ast.FloorDiv,
    "mod": ast.Mod,
    "pow": ast.Pow,
    "lshift": ast.LShift,
    "rshift": ast.RShift,
    "and": ast.BitAnd,
    "or": ast.BitOr,
    "xor": ast.BitXor,
}
_COMPARED: dict[str, type[ast.cmpop]] = {"gt": ast.Gt, "lt": ast.Lt, "ge": ast.GtE, "le": ast.LtE, "eq": ast.Eq, "ne": ast.NotEq}
_COMPREHENSIONS: dict[str, type[ast.expr]] = {"<listcomp>": ast.ListComp, "<setcomp>": ast.SetComp, "<dictcomp>": ast.DictComp}
_NUMBERS = ("float", "int", "bool")
_NEVER_USERS = ("print", "len", "range", "enumerate", "zip", "isinstance", "getattr", "super", "list", "tuple", "dict", *_NUMBERS)
_METHOD = re.compile(r"call_method \S+ (\w+)")
_QUALIFIED = re.compile(r"qualname: ([\w.]+)")
_OBJECT = re.compile(r"<(?:bound method|function|built-in function|built-in method|class) '?([\w.<>]+?)'?(?: of | at |>)")
_LOGGED = re.compile(r"method: <Logger .*?>\.(\w+)")
_CALLED = re.compile(r"\b([A-Za-z_][\w.]*)\(\)")
_BUILTIN = re.compile(r"builtin (?:operator |function )?`([\w.]+?)\.?`")
_OPERATION = re.compile(r"`?(?:aten|torch(?:\.\w+)*)\.(\w+)(?:\.\w+)?")
_STEP = re.compile(r"\b(gt|lt|ge|le|eq|ne)(?:_\d+)? = \1\(")


def blamed_node(nodes: Sequence[Node], line: int, says: str) -> ast.AST | None:
    """The expression that a break's text means, of the nodes with a part on a 1-based line; None where that is not certain."""
    if "branching" in says or "jump" in says:
        return _the_one(_tests(nodes, line), says)
    if "context manager" in says:
        return _only(item for node in nodes if isinstance(node, (ast.With, ast.AsyncWith)) for item in _entered(node, line))
    for find in (_subscript, _item, _named, _operator, _call):
        found = find(nodes, line, says)
        if found is not None:
            return found
    return None


def calling_node(nodes: Sequence[Node], line: int, callee: str) -> ast.AST | None:
    """The expression that runs a function of that name, of the nodes with a part on a 1-based line; None where that is not certain."""
    kind = _COMPREHENSIONS.get(callee)
    if kind is not None:
        return _only(node for node in nodes if isinstance(node, kind) and node.lineno == line)
    calls = [call for call in _calls(nodes, line) if _name(call) == callee]
    if calls:
        return _only(calls)
    decorators = [decorator for node in nodes for decorator in getattr(node, "decorator_list", [])]
    if named := [decorator for decorator in decorators if _last(decorator) == callee]:
        return _only(named)
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == callee and node.end_lineno == line]
    if attributes:
        return _only(attributes)
    if callee.startswith("__") and (found := _by_operator(nodes, line, callee.strip("_"))):
        return _only(found)
    return _only(call for call in _calls(nodes, line) if _may_be_users(call))


def nodes_of(nodes: Sequence[Node], function: str) -> list[Node]:
    """Of the nodes of a line those that are the code of a function of that name, and not of a lambda or generator written in it."""
    inside: dict[str, set[ast.AST]] = {"<lambda>": set(), "<genexpr>": set()}
    for node in nodes:
        if isinstance(node, ast.Lambda):
            inside["<lambda>"].update(ast.walk(node.body))
        elif isinstance(node, ast.GeneratorExp):
            first = set(ast.walk(node.generators[0].iter))  # runs before the generator begins
            inside["<genexpr>"].update(child for child in ast.walk(node) if child is not node and child not in first)
    if function in inside:
        return [node for node in nodes if node in inside[function]]
    return [node for node in nodes if not any(node in hidden for hidden in inside.values())]


def call_line(call: ast.Call) -> int:
    """The line at which Python says that a call happens: for a method, that of its name."""
    return call.func.end_lineno or call.lineno if isinstance(call.func, ast.Attribute) else call.lineno


def _only(found: Iterable[ast.AST]) -> ast.AST | None:
    several = list(found)
    return several[0] if len(several) == 1 else None


def _calls(nodes: Sequence[Node], line: int) -> list[ast.Call]:
    return [node for node in nodes if isinstance(node, ast.Call) and call_line(node) == line]


def _name(call: ast.Call) -> str:
    return _last(call.func)


def _last(function: ast.expr) -> str:
    """The last part of a dotted name, also of one that is called."""
    if isinstance(function, ast.Call):
        function = function.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def _may_be_users(call: ast.Call) -> bool:
    """Whether a call may lead into the user's code: not the usual builtins, nor torch's own functions."""
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (isinstance(root, ast.Name) and root.id in ("torch", "F", "np", *_NEVER_USERS) and (root is call.func or root.id == "torch"))


# Conditions


def _tests(nodes: Sequence[Node], line: int) -> list[ast.expr]:
    """What the conditions on a line ask: the operands of `and`, `or` and `not`, each by itself."""
    found: list[ast.expr] = []
    for node in nodes:
        conditions: list[ast.expr] = []
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) and line in (node.lineno, node.test.lineno):
            conditions = [node.test]
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            conditions = [test for part in node.generators for test in part.ifs]
        elif isinstance(node, ast.Match):
            conditions = [case.guard for case in node.cases if case.guard is not None]
        elif isinstance(node, ast.BoolOp):
            conditions = node.values[:-1]  # the last one is the value
        found += [operand for condition in conditions for operand in _operands(condition) if operand.lineno == line]
    return list(dict.fromkeys(found))


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    else:
        yield test


def _the_one(tests: list[ast.expr], says: str) -> ast.expr | None:
    """The condition that depends on data: of several, the one that compares as PyTorch says."""
    left = [test for test in tests if not _is_about_python(test)]
    step = _STEP.findall(says)
    if len(left) > 1 and step:
        compares = _COMPARED[step[-1]]
        left = [test for test in left if isinstance(test, ast.Compare) and any(isinstance(op, compares) for op in test.ops)]
    return left[0] if len(left) == 1 else None


def _is_about_python(test: ast.expr) -> bool:
    """Whether a condition cannot depend on data: it compares identities, shapes and constants only."""
    if isinstance(test, ast.Constant) or (isinstance(test, ast.Call) and _name(test) in ("isinstance", "len", "hasattr", "callable")):
        return True
    if not isinstance(test, ast.Compare):
        return False
    if all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
        return True
    return all(_is_plain(side) for side in (test.left, *test.comparators))


def _is_plain(value: ast.expr) -> bool:
    if isinstance(value, ast.Subscript):
        value = value.value
    if isinstance(value, ast.Call):
        return _name(value) in ("len", "size", "dim")
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Attribute) and value.attr in ("shape", "ndim"))


# Everything else


def _entered(node: ast.With | ast.AsyncWith, line: int) -> Iterator[ast.expr]:
    return (item.context_expr for item in node.items if line in (node.lineno, item.context_expr.lineno))


def _subscript(nodes: Sequence[Node], line: int, says: str) -> ast.AST | None:
    """An index with a mask: where PyTorch says that it subscripts, or that something has as many elements as another is not zero."""
    if "BINARY_SUBSCR" not in says and ("nonzero" not in says or "trace CALL" in says):
        return None
    found = [node for node in nodes if isinstance(node, ast.Subscript) and node.lineno == line and isinstance(node.ctx, ast.Load)]
    found = [node for node in found if not isinstance(node.slice, (ast.Constant, ast.UnaryOp))]
    calls = [] if "BINARY_SUBSCR" in says else [call for call in _calls(nodes, line) if _name(call) in ("nonzero", "argwhere", "where")]
    return _only([*found, *calls])


def _item(nodes: Sequence[Node], line: int, says: str) -> ast.AST | None:
    """The `.item()`, or the `float(...)` and the like that asks for one. A number that is made of an `.item()` asks for none."""
    if "Tensor.item()" not in says:
        return None
    calls = _calls(nodes, line)
    found = [call for call in calls if _name(call) == "item"]
    return _only([*found, *(call for call in calls if _asks_for_a_number(call))])


def _asks_for_a_number(call: ast.Call) -> bool:
    if not (isinstance(call.func, ast.Name) and call.func.id in _NUMBERS and len(call.args) == 1):
        return False
    has_it = any(isinstance(node, ast.Call) and _name(node) == "item" for node in ast.walk(call))
    return not has_it and not _is_plain(call.args[0])


def _named(nodes: Sequence[Node], line: int, says: str) -> ast.AST | None:
    """The call of a function or method that the text names: in its debug context, else between quotes."""
    if "Tensor.item()" in says:
        return None
    patterns = (_METHOD, _LOGGED, _QUALIFIED, _OBJECT, _BUILTIN, _CALLED, _OPERATION)
    calls = _calls(nodes, line)
    for pattern in patterns:
        names = {name.rpartition(".")[2] for name in pattern.findall(says)}
        names |= {"tolist"} if "to_list" in names else set()
        found = [call for call in calls if _name(call) in names]
        if found:
            return _only(found)
    return None


def _operator(nodes: Sequence[Node], line: int, says: str) -> ast.AST | None:
    """The operator that the text names as a builtin (`matmul` is `@`)."""
    names = _BUILTIN.findall(says)
    return _only(_by_operator(nodes, line, names[0].removeprefix("_operator.").strip("_"))) if names else None


def _by_operator(nodes: Sequence[Node], line: int, name: str) -> list[ast.AST]:
    plain = name[1:] if name[:1] in ("r", "i") and name[1:] in _BINARY else name  # `__radd__`, `__iadd__`
    here = [node for node in nodes if node.lineno == line]
    if plain in _BINARY:
        operator = _BINARY[plain]
        return [node for node in here if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, operator)]
    if plain in _COMPARED:
        compares = _COMPARED[plain]
        return [node for node in here if isinstance(node, ast.Compare) and any(isinstance(op, compares) for op in node.ops)]
    if plain == "getitem":
        return [node for node in here if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)]
    if plain in ("enter", "exit"):
        return [item for node in nodes if isinstance(node, (ast.With, ast.AsyncWith)) for item in _entered(node, line)]
    if plain in ("iter", "next"):
        return [node.iter for node in nodes if isinstance(node, (ast.For, ast.AsyncFor)) and line in (node.lineno, node.iter.lineno)]
    return []


def _call(nodes: Sequence[Node], line: int, says: str) -> ast.AST | None:
    """The only call of the line, where PyTorch says that it was a call."""
    return _only(_calls(nodes, line)) if "to trace CALL" in says else None
