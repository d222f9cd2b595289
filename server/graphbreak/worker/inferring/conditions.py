"""Asserts, and conditions that raise: what they ask for, read from the source and from the values that the frame had."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

import torch

from .changes import Changes
from .reading import tree_of
from .values import Group, Mapped, Proposal, Tensor, Text

_EQUAL, _LESS, _MORE = (ast.Eq, ast.Is), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)


def statement_at(step: types.TracebackType) -> ast.stmt | None:
    """The innermost statement that a step of a traceback stands in."""
    tree = tree_of(step.tb_frame.f_code.co_filename)
    line = step.tb_lineno
    found = [
        node for node in (ast.walk(tree) if tree else ()) if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(found, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)


def repairs(changes: Changes, step: types.TracebackType) -> Iterator[Proposal]:
    """Changed proposals for a step that stands at an assert, or at a `raise` under a condition."""
    statement = statement_at(step)
    solver = _Solver(changes, step.tb_frame)
    if isinstance(statement, ast.Assert):
        yield from solver.solve(statement.test, True)
    elif isinstance(statement, ast.Raise):
        tree = tree_of(step.tb_frame.f_code.co_filename)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.If) and statement in node.body:
                yield from solver.solve(node.test, False)
            elif isinstance(node, ast.If) and statement in node.orelse:
                yield from solver.solve(node.test, True)


class _Solver:
    def __init__(self, changes: Changes, frame: types.FrameType) -> None:
        self._changes, self._frame = changes, frame

    def value(self, node: ast.expr) -> Any:
        """What an expression is worth in the frame; None where that cannot be told."""
        try:
            code = compile(ast.Expression(node), "<condition>", "eval")
            return eval(code, self._frame.f_globals, dict(self._frame.f_locals))
        except Exception:
            return None

    def solve(self, test: ast.expr, wanted: bool) -> Iterator[Proposal]:
        """Proposals under which a condition may be as wanted."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield from self.solve(test.operand, not wanted)
        elif isinstance(test, ast.BoolOp):
            for part in test.values:
                value = self.value(part)
                if value is None or bool(value) != wanted:
                    yield from self.solve(part, wanted)
        elif isinstance(test, ast.Compare):
            left = test.left
            for op, right in zip(test.ops, test.comparators):
                yield from self._compare(left, op, right, wanted)
                left = right
        elif isinstance(test, ast.Call):
            yield from self._call(test, wanted)
        elif isinstance(test, ast.Name):
            yield from self._other_kind(test, Text("True") if wanted else Text("None"))

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr, wanted: bool) -> Iterator[Proposal]:
        equal = isinstance(op, _EQUAL) if wanted else isinstance(op, (ast.NotEq, ast.IsNot))
        one, other = self.value(left), self.value(right)
        if equal and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
            yield from self._divisible(left)
        elif (equal or isinstance(op, ast.In)) and isinstance(other, (int, tuple, list, torch.Size)) and not isinstance(other, bool):
            for value in [other] if isinstance(other, int) or not isinstance(op, ast.In) else list(other)[::-1]:
                yield from self._equal(left, one, value, right)
        elif equal and isinstance(other, torch.dtype):
            for tensor in self._tensors(left):
                yield from self._changes.kind(tensor, _KIND_OF.get(other, "float"), "classes")
        elif isinstance(op, (ast.Is, ast.IsNot)) and other is None and isinstance(left, ast.Name):
            present = isinstance(op, ast.IsNot) is wanted
            yield from self._other_kind(left, Tensor(("batch", "dim")) if present else Text("None"))
        elif isinstance(one, int) and isinstance(other, int):
            yield from self._ordered(left, one, op, right, other, wanted)

    def _equal(self, left: ast.expr, one: Any, other: Any, right: ast.expr) -> Iterator[Proposal]:
        changes = self._changes
        for node, wanted in ((left, other), (right, one)):
            tensors = list(self._tensors(node))
            if _is_rank(node) and isinstance(wanted, int):
                for tensor in tensors:
                    yield from changes.rank(tensor, wanted)
            elif (axis := _axis(node)) is not None and isinstance(wanted, int):
                for tensor in tensors:
                    if tensor.ndim <= (axis if axis >= 0 else -axis - 1):
                        yield from changes.rank(tensor, axis + 1 if axis >= 0 else -axis)
                    else:
                        yield from changes.size(tensor, axis, wanted)
            elif isinstance(wanted, (tuple, list, torch.Size)) and tensors:
                yield from self._shape(tensors[0], tuple(wanted))
        if isinstance(one, int) and isinstance(other, int):
            yield from changes.anything(one, other)
            yield from changes.anything(other, one)

    def _shape(self, tensor: torch.Tensor, wanted: tuple[Any, ...]) -> Iterator[Proposal]:
        if not all(isinstance(size, int) for size in wanted):
            return
        if tensor.ndim != len(wanted):
            yield from self._changes.rank(tensor, len(wanted))
            return
        for axis, size in enumerate(wanted):
            if tensor.shape[axis] != size:
                yield from self._changes.size(tensor, axis, size)

    def _divisible(self, node: ast.BinOp) -> Iterator[Proposal]:
        """`a % b == 0`: a becomes the next multiple of b, or b a divisor of a."""
        one, other = self.value(node.left), self.value(node.right)
        if isinstance(one, int) and isinstance(other, int) and other > 0:
            yield from self._equal(node.left, one, (one // other + 1) * other, node.right)
            for divisor in (4, 2, 1):
                if one % divisor == 0:
                    yield from self._changes.number(other, divisor)

    def _ordered(self, left: ast.expr, one: int, op: ast.cmpop, right: ast.expr, other: int, wanted: bool) -> Iterator[Proposal]:
        less = isinstance(op, _LESS) if wanted else isinstance(op, _MORE)
        strict = 1 if isinstance(op, (ast.Lt, ast.Gt)) is wanted else 0
        small, large = (left, right) if less else (right, left)
        low, high = (one, other) if less else (other, one)
        yield from self._equal(small, low, high - strict, small)
        yield from self._equal(large, high, low + strict, large)

    def _call(self, test: ast.Call, wanted: bool) -> Iterator[Proposal]:
        name = ast.unparse(test.func)
        if name == "isinstance" and len(test.args) == 2 and wanted:
            for kind in test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]:
                made = _OF_TYPE.get(ast.unparse(kind).rpartition(".")[2])
                cls = self.value(kind)
                made = made or (self._changes.builder.instance(cls) if isinstance(cls, type) else None)
                yield from self._other_kind(test.args[0], made) if made is not None else ()
        elif name.endswith(("is_floating_point", "is_tensor")):
            for tensor in self._tensors(test):
                yield from self._changes.kind(tensor, "float" if wanted else "long", "classes")
        elif name.rpartition(".")[2] in ("all", "any"):
            for tensor in self._tensors(test):
                yield from self._changes.kind(tensor, "unit")

    def _other_kind(self, node: ast.expr, value: Any) -> Iterator[Proposal]:
        for path in paths_of(self._changes, self._frame, node):
            yield from self._changes.value(path, value)

    def _tensors(self, node: ast.AST) -> Iterator[torch.Tensor]:
        """The tensors that an expression speaks of, in any of its parts."""
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Attribute)):
                value = self.value(part)
                if isinstance(value, torch.Tensor) and self._changes.sources(value):
                    yield value


def paths_of(changes: Changes, frame: types.FrameType, node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The parts of the proposal that an expression is made of: by what its names are bound to, or by what they are called."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Name):
            continue
        value = frame.f_locals.get(part.id)
        watch = changes.failure.watch
        if isinstance(value, torch.Tensor):
            yield from (path for path, _ in changes.sources(value))
        elif id(value) in watch.objects:
            yield watch.objects[id(value)]
        else:
            yield from (path for path, _ in changes.proposal.walk() if path and path[-1] == part.id)


_KIND_OF = {
    torch.int64: "long",
    torch.bool: "bool",
    torch.uint8: "uint8",
    torch.float64: "double",
    torch.float16: "half",
    torch.bfloat16: "bfloat16",
}
_PLAIN = Tensor(("batch", "dim"))
_OF_TYPE = {
    "Tensor": _PLAIN, "list": Group((_PLAIN, _PLAIN)), "tuple": Group((_PLAIN, _PLAIN), "()"), "dict": Mapped((("x", _PLAIN),)),
    "int": Text("2"), "float": Text("0.5"), "str": Text("'a'"), "bool": Text("True"),
}  # fmt: skip


def _is_rank(node: ast.expr) -> bool:
    """`x.ndim`, `x.dim()`, `len(x.shape)`, `len(x.size())`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "ndim"
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    return name.endswith(".dim") or (name == "len" and bool(node.args) and "shape" in ast.unparse(node.args[0]))


def _axis(node: ast.expr) -> int | None:
    """The dimension that `x.shape[1]` or `x.size(1)` speaks of."""
    index: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        index = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size" and len(node.args) == 1:
        index = node.args[0]
    try:
        value = ast.literal_eval(index) if index is not None else None
    except ValueError:
        return None
    return value if isinstance(value, int) else None
