"""From what an `if` asks to a tensor of one truth value: `a and not b` becomes `torch.logical_and(a, ~b)`, `s.item() > 0` `s > 0`."""

from __future__ import annotations

import ast
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.parsing import parse_expression
from ..core.places import node_span
from ..core.source import SourceFile, Span
from .certainty import is_harmless
from .operations import COMPARED, COUNTED, REDUCED, TESTED, is_cheap, operation
from .syntax import Place, dotted, own_nodes
from .values import Facts, value_of

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_STATIC = frozenset({"shape", "dtype", "device", "ndim", "training", "is_cuda", "requires_grad", "config"})
_STATIC_CALLS = frozenset(
    {"isinstance", "len", "hasattr", "size", "dim", "numel", "is_tracing", "is_compiling", "is_grad_enabled", "callable"}
)

_ASKING_FOR_LIMITS = frozenset({"isfinite", "isnan", "isinf", "isposinf", "isneginf"})
_LIMITS = frozenset({"inf", "-inf", "nan", "infinity", "NINF", "finfo", "max_value"})
_LARGE = 1000
_PYTHON_TRUTHS = frozenset({"equal", "allclose", "is_nonzero", "is_floating_point", "is_complex"})
"""Operations that give a truth value of Python, no tensor."""


@dataclass(frozen=True)
class Condition:
    """`text` is the tensor; `negated` says that it is true where the code asked for false; `scalar` that it certainly has no dimensions;
    `exact` that it is certainly true for the same values (a comparison of a Python number with a short float may round), and that
    no part of it that was not always asked does more than answer."""

    text: str
    negated: bool = False
    scalar: bool = True
    exact: bool = True


@dataclass(frozen=True)
class Asked:
    """What a test is read with, where the break stands: the part of it that broke is a tensor for certain."""

    place: Place
    torch: str
    facts: Facts

    @property
    def source(self) -> SourceFile:
        """The file."""
        return self.place.source

    @property
    def broken(self) -> ast.AST:
        """The part that broke."""
        return self.place.node


def condition_of(asked: Asked, test: ast.expr) -> Condition | None:
    """The tensor that says what a test asks; None where a part of it is no tensor, or is not to be computed for nothing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = condition_of(asked, test.operand)
        return replace(inner, negated=not inner.negated) if inner is not None else None
    if isinstance(test, ast.BoolOp):
        parts = [condition_of(asked, test.values[0]), *(_asked_too(asked, value) for value in test.values[1:])]
        return _joined("logical_and" if isinstance(test.op, ast.And) else "logical_or", asked.torch, parts)
    if isinstance(test, ast.Compare) and len(test.ops) > 1:
        return _chain(asked, test)
    if is_static(test) or not _is_tensor(asked, test):
        return None
    return _single(asked, test)


def positive(condition: Condition) -> str:
    """The text of a condition as it was asked."""
    if not condition.negated:
        return condition.text
    return f"~{condition.text}" if is_primary(condition.text) else f"~({condition.text})"


def opposite(condition: Condition) -> str:
    """The text of a condition that is true where it was false."""
    return positive(replace(condition, negated=not condition.negated))


def is_static(test: ast.expr) -> bool:
    """Whether a test is plainly about types, shapes or settings and not about values."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_static(test.operand)
    if isinstance(test, ast.BoolOp):
        return all(is_static(value) for value in test.values)
    if isinstance(test, ast.Compare):
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
            return True
        dynamic = any(isinstance(part, ast.Call) and (_is_tensor_call(part) or without_item(part)) for part in ast.walk(test))
        return not dynamic and any(is_static(part) for part in (test.left, *test.comparators))
    if isinstance(test, ast.Call):
        return dotted(test.func).rpartition(".")[2] in _STATIC_CALLS
    if isinstance(test, ast.Subscript):
        return is_static(test.value)
    return isinstance(test, ast.Attribute) and (test.attr in _STATIC or is_static(test.value))


def settings_of(source: SourceFile, test: ast.expr) -> tuple[str, ast.expr] | None:
    """The part of an `and` that is no question of data, as text, and the part that is; None where they cannot be told apart."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And) or not is_static(test.values[0]):
        return "", test
    count = next((i for i, value in enumerate(test.values) if not is_static(value)), len(test.values))
    static, rest = test.values[:count], test.values[count:]
    text = source.slice(Span(node_span(source, static[0]).start, node_span(source, static[-1]).end))
    if not rest or text.count("(") != text.count(")"):
        return None
    if len(rest) == 1:
        return text, rest[0]
    dynamic = ast.copy_location(ast.BoolOp(ast.And(), rest), rest[0])
    dynamic.end_lineno, dynamic.end_col_offset = rest[-1].end_lineno, rest[-1].end_col_offset
    return text, dynamic


def without_item(node: ast.expr) -> ast.expr | None:
    """The tensor under `t.item()` or `bool(t)`; None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        return node.func.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("bool", "any", "all") and len(node.args) == 1:
        return None if isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp, ast.Starred)) else node.args[0]
    return None


def is_short(number: float) -> bool:
    """Whether every floating type holds a number exactly, so that it compares alike in all of them."""
    try:
        return struct.unpack("e", struct.pack("e", number))[0] == number and (int(number * 1024) % 8 == 0 or abs(number) < 1)
    except (OverflowError, ValueError):
        return False


def asks_for_limits(function: ast.AST, test: ast.AST) -> bool:
    """Whether a function asks for values that are not finite, or a test of it for very large ones, so that a side may be for values at
    which the other side has no slope. What only checks and raises asks for nothing."""
    nodes = list(own_nodes(function))
    checks = [
        node.test for node in nodes if isinstance(node, ast.Assert) or (isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise))
    ]
    checked = {id(part) for check in checks for part in ast.walk(check)}
    if any(id(node) not in checked and _asks_for_limit(node) for node in nodes):
        return True
    numbers = (
        part.value for node in ast.walk(test) if isinstance(node, ast.Compare) for part in ast.walk(node) if isinstance(part, ast.Constant)
    )
    return any(isinstance(number, (int, float)) and abs(number) >= _LARGE for number in numbers)


def _asks_for_limit(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return (dotted(node.func) or getattr(node.func, "attr", "")).rpartition(".")[2] in _ASKING_FOR_LIMITS
    if not isinstance(node, ast.Compare):
        return False
    sides = [ast.dump(side) for side in (node.left, *node.comparators)]
    words = {
        word
        for part in ast.walk(node)
        for word in (getattr(part, "attr", ""), getattr(part, "id", ""), getattr(part, "value", ""))
        if isinstance(word, str)
    }
    return len(set(sides)) < len(sides) or not words.isdisjoint(_LIMITS)


def _asked_too(asked: Asked, test: ast.expr) -> Condition | None:
    """The tensor of what was asked only after something else."""
    condition = condition_of(asked, test) if is_cheap(test) else None
    return condition if condition is None or is_harmless(asked.place, asked.facts, test) else replace(condition, exact=False)


def _is_tensor(asked: Asked, test: ast.expr) -> bool:
    value = value_of(test, asked.facts)
    if (value is not None and value.tensor) or without_item(test) is not None:
        return True
    return any(part is asked.broken or (isinstance(part, ast.Call) and _is_tensor_call(part)) for part in ast.walk(test))


def _is_tensor_call(call: ast.Call) -> bool:
    found = operation(call)
    return found is not None and found[0] in COMPARED | COUNTED | REDUCED | TESTED and found[0] not in _PYTHON_TRUTHS


def _joined(name: str, torch: str, parts: Sequence[Condition | None]) -> Condition | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    text = positive(known[0])
    for part in known[1:]:
        text = f"{torch}.{name}({text}, {positive(part)})"
    return Condition(text, scalar=all(part.scalar for part in known), exact=all(part.exact for part in known))


def _chain(asked: Asked, test: ast.Compare) -> Condition | None:
    """`a < b < c`, whose middle is written twice."""
    operands = [test.left, *test.comparators]
    parts: list[Condition | None] = []
    for left, operator, right in zip(operands, test.ops, operands[1:], strict=False):
        pair = ast.copy_location(ast.Compare(left, [operator], [right]), left)
        pair.end_lineno, pair.end_col_offset = right.end_lineno, right.end_col_offset
        found = _comparison(asked, pair) if is_cheap(pair) else None
        is_first = left is test.left
        parts.append(found if found is None or is_first or is_harmless(asked.place, asked.facts, pair) else replace(found, exact=False))
    return _joined("logical_and", asked.torch, parts)


def _single(asked: Asked, test: ast.expr) -> Condition | None:
    inner, source = without_item(test), asked.source
    if inner is not None and isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in ("any", "all"):
        text = source.slice(node_span(source, inner))
        return Condition(f"{text if is_primary(text) else f'({text})'}.{test.func.id}()")
    if inner is not None:
        return _single(asked, inner)
    if isinstance(test, ast.Compare):
        return _comparison(asked, test) or _membership(asked, test)
    text = source.slice(node_span(source, test))
    value, scalar = value_of(test, asked.facts), _is_scalar(test, asked.facts)
    if isinstance(test, ast.Call) and (operation(test) or ("",))[0] in _PYTHON_TRUTHS:
        return _python_truth(asked, test)
    if _is_truth(test, value is not None and value.kind == frozenset({"?"})):
        return Condition(text, scalar=scalar)
    if isinstance(test, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return Condition(f"{text} != 0", scalar=scalar)
    return None


def _python_truth(asked: Asked, test: ast.Call) -> Condition | None:
    """`torch.allclose(a, b)`, `torch.equal(a, b)` or `torch.is_nonzero(a)` as a tensor."""
    name, operands = operation(test) or ("", ())
    source, texts = asked.source, [asked.source.slice(node_span(asked.source, part)) for part in operands]
    if not isinstance(test.func, ast.Attribute):
        return None
    if name == "allclose":
        arguments = source.slice(Span(node_span(source, test.func).end, node_span(source, test).end))
        return Condition(f"{source.slice(node_span(source, test.func.value))}.isclose{arguments}.all()")
    if name == "equal" and len(texts) == 2:
        texts = [text if is_primary(text) else f"({text})" for text in texts]
        shapes = [value.shape if (value := value_of(part, asked.facts)) is not None else None for part in operands]
        return Condition(f"({texts[0]} == {texts[1]}).all()", exact=shapes[0] is not None and shapes[0] == shapes[1])
    return (
        Condition(f"{texts[0]} != 0", scalar=_is_scalar(operands[0], asked.facts))
        if name == "is_nonzero" and is_primary(texts[0])
        else None
    )


def _comparison(asked: Asked, test: ast.Compare) -> Condition | None:
    source = asked.source
    if not isinstance(test.ops[0], _ORDER):
        return None
    span = node_span(source, test)
    text, exact, start = source.slice(span), True, source.offset(span.start)
    sides = (test.left, test.comparators[0])
    for side in reversed(sides):
        tensor = _as_tensor(source, side)
        if tensor is not None:
            whole = node_span(source, side)
            text = text[: source.offset(whole.start) - start] + tensor + text[source.offset(whole.end) - start :]
            exact = all(other is side or _is_short_number(other) for other in sides)
    return Condition(text, scalar=all(_is_scalar(side, asked.facts) for side in sides), exact=exact)


def _membership(asked: Asked, test: ast.Compare) -> Condition | None:
    """`value in tensor`, if that is what broke."""
    if test is not asked.broken or not isinstance(test.ops[0], (ast.In, ast.NotIn)):
        return None
    value, tensor = (asked.source.slice(node_span(asked.source, part)) for part in (test.left, test.comparators[0]))
    if not isinstance(test.left, (ast.Constant, ast.Name, ast.Attribute)) or not is_primary(tensor):
        return None
    return Condition(f"({tensor} == {value}).any()", isinstance(test.ops[0], ast.NotIn))


def _as_tensor(source: SourceFile, side: ast.expr) -> str | None:
    """The tensor of a number that is read from one: `t.item()`, `float(t)` or, rounded, `int(t)`."""
    if isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id in ("int", "float") and len(side.args) == 1:
        text = source.slice(node_span(source, side.args[0]))
        if side.func.id == "int":
            return f"{text if is_primary(text) else f'({text})'}.long()"
        return text if is_primary(text) else f"({text})"
    inner = without_item(side)
    return None if inner is None or isinstance(getattr(side, "func", None), ast.Name) else source.slice(node_span(source, inner))


def _is_short_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_short_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and is_short(node.value)


def _is_scalar(node: ast.expr, facts: Facts) -> bool:
    """Whether a value certainly has no dimensions."""
    if without_item(node) is not None or (isinstance(node, ast.Call) and dotted(node.func) in ("int", "float")):
        return True
    if isinstance(node, ast.Compare):
        return all(_is_scalar(part, facts) for part in (node.left, *node.comparators))
    if isinstance(node, ast.Call):
        found = operation(node)
        if found is not None and found[0] in COUNTED | REDUCED and len(found[1]) == 1 and not node.keywords:
            return True
    value = value_of(node, facts)
    return value is not None and not value.shape


def _is_truth(node: ast.expr, known: bool) -> bool:
    if isinstance(node, ast.Call):
        found = operation(node)
        if found is not None and found[0] in {"any", "all"} | TESTED | COMPARED:
            return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        return (_is_truth(node.left, False) and _is_truth(node.right, False)) or isinstance(node.left, ast.Compare)
    return known


def is_primary(text: str) -> bool:
    """Whether a text can take `.any()` or `~` as it is."""
    try:
        return isinstance(parse_expression(text.strip()).body, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    except SyntaxError:
        return False
