"""What an exception of the user's own code says: values that cannot be taken apart, attributes and keys that are not there, wrong types."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator
from typing import Any

import torch

from .. import dynamo
from . import conditions, names
from .annotations import module
from .changes import Changes
from .conditions import paths_of, statement_at
from .reading import Uses, tree_of
from .values import Group, Made, Mapped, Path, Proposal, Tensor, Text, Value


def repairs(changes: Changes) -> Iterator[Proposal]:
    """Changed proposals for an exception, by its type and by the statement that it came from."""
    error, frames = changes.failure.error, changes.failure.frames
    own = [step for step in frames if not dynamo.in_torch(step.tb_frame.f_code.co_filename)]
    if not frames or not own:
        return
    if own[-1] is not frames[-1]:
        yield from _in_a_layer(changes, frames)
    step = own[-1]
    yield from _left_out(changes, step)
    yield from conditions.repairs(changes, step)
    statement = statement_at(step)
    if statement is None:
        return
    repair = next((repair for kind, repair in _BY_TYPE if isinstance(error, kind)), None)
    if repair is not None:
        yield from repair(changes, step, statement)


def other_values(changes: Changes) -> Iterator[Proposal]:
    """Where nothing else helps: other values for the arguments that the failed statement speaks of."""
    own = [step for step in changes.failure.frames if not dynamo.in_torch(step.tb_frame.f_code.co_filename)]
    statement = statement_at(own[-1]) if own else None
    if statement is not None:
        yield from _other_values(changes, own[-1], statement)


def _left_out(changes: Changes, step: types.TracebackType) -> Iterator[Proposal]:
    """An argument that was left out because it may be None, where the statement, or a condition around it, speaks of what is None."""
    statement = statement_at(step)
    tree = tree_of(step.tb_frame.f_code.co_filename)
    around = [
        node.test
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.If) and node.lineno <= step.tb_lineno <= (node.end_lineno or 0)
    ]
    parts = [part for whole in (statement, *around) if whole is not None for part in ast.walk(whole)]
    missing = {part.id for part in parts if isinstance(part, ast.Name) and step.tb_frame.f_locals.get(part.id, 0) is None}
    for path, value in changes.proposal.walk():
        if isinstance(value, Made):
            for name in [argument.name for argument in value.arguments if argument.left_out and argument.name in missing]:
                yield changes.proposal.put(path, value.with_left_out(name))


def _in_a_layer(changes: Changes, frames: list[types.TracebackType]) -> Iterator[Proposal]:
    """A check that a layer of torch makes in Python: `Expected 16, got 7`, `expected 4D input (got 2D input)`."""
    text = str(changes.failure.error)
    tensors = [
        value
        for step in reversed(frames)
        if dynamo.in_torch(step.tb_frame.f_code.co_filename)
        for name in ("input", "x", "query", "src", "hx", "tgt", "key")
        if isinstance(value := step.tb_frame.f_locals.get(name), torch.Tensor) and changes.sources(value)
    ]
    ranks = [int(digit) for digit in re.findall(r"\b(\d) ?-?D\b", re.split(r"\bgot\b|\(got", text)[0])]
    numbers = re.search(
        r"[Ee]xpected(?: hidden\[?\d?\]? size \()?\D{0,12}(\d+)\D.*got \D{0,3}(\d+)|dimension of (\d+), but got (\d+)", text
    )
    swapped = re.search(r"got (\d+), expected (\d+)", text)
    for tensor in tensors[:2]:
        for rank in sorted(set(ranks), reverse=True):
            yield from changes.rank(tensor, rank)
        if swapped or numbers:
            wanted = int(swapped[2]) if swapped else int((numbers and (numbers[1] or numbers[3])) or 0)
            yield from changes.size(tensor, -1, wanted)
    if "equal to d_model" in text:
        for step in frames:
            layer = step.tb_frame.f_locals.get("self")
            width = getattr(layer, "d_model", None)
            for tensor in tensors if isinstance(width, int) else ():
                yield from changes.size(tensor, -1, int(width or 0))


def _unpacking(changes: Changes, step: types.TracebackType, statement: ast.stmt) -> Iterator[Proposal]:
    """`B, C, H, W = x.shape`, `a, b = x`, `a, b, c = x.chunk(3, -1)`, `for a, b in pairs`."""
    match = re.search(r"expected (?:at least )?(\d+)", str(changes.failure.error))
    wanted = int(match[1]) if match else 0
    for node in ast.walk(statement):
        value = node.value if isinstance(node, ast.Assign) else node.iter if isinstance(node, (ast.For, ast.comprehension)) else None
        if value is None or not wanted:
            continue
        tensor = _shape_owner(changes, step.tb_frame, value)
        if tensor is not None:
            yield from changes.rank(tensor, wanted)
            continue
        split = _split_owner(changes, step.tb_frame, value)
        if split is not None:
            yield from changes.size(*split, wanted)
            yield from changes.size(*split, wanted * 8)
        for path in paths_of(changes, step.tb_frame, value):
            old = changes.proposal.at(path)
            item = old if isinstance(old, Tensor) else old.items[0] if isinstance(old, Group) and old.items else Tensor(("batch", "dim"))
            if isinstance(node, ast.Assign):
                yield from changes.value(path, Group((item,) * wanted, "()"))
                if isinstance(old, Tensor) and old.dims:
                    yield from changes.value(path, Tensor((wanted, *old.dims[1:]), old.kind, old.high))
            else:
                yield from changes.value(path, Group((Group((item,) * wanted, "()"),) * 2))


def _shape_owner(changes: Changes, frame: types.FrameType, node: ast.expr) -> torch.Tensor | None:
    """The tensor whose shape an expression takes apart."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args:
        node = node.func
    if not isinstance(node, ast.Attribute) or node.attr not in ("shape", "size"):
        return None
    value = _evaluated(frame, node.value)
    return value if isinstance(value, torch.Tensor) and changes.sources(value) else None


def _split_owner(changes: Changes, frame: types.FrameType, node: ast.expr) -> tuple[torch.Tensor, int] | None:
    """The tensor, and its dimension, that `chunk`, `unbind` or `split` takes apart."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in ("chunk", "unbind", "split", "unbind_copy")
    ):
        return None
    inside_torch = ast.unparse(node.func.value) == "torch"
    owner = node.args[0] if inside_torch and node.args else node.func.value
    value = _evaluated(frame, owner)
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    rest = node.args[1 if inside_torch else 0 :]
    axis_node = given.get("dim") or (rest[0] if node.func.attr == "unbind" and rest else rest[1] if len(rest) > 1 else None)
    axis = _evaluated(frame, axis_node) if axis_node is not None else 0
    return (value, axis) if isinstance(value, torch.Tensor) and isinstance(axis, int) and changes.sources(value) else None


def _evaluated(frame: types.FrameType, node: ast.expr) -> Any:
    try:
        return eval(compile(ast.Expression(node), "<expression>", "eval"), frame.f_globals, dict(frame.f_locals))
    except Exception:
        return None


def _missing_attribute(changes: Changes, step: types.TracebackType, statement: ast.stmt) -> Iterator[Proposal]:
    """An attribute that a value does not have: a namespace gets it; a tensor becomes a namespace; a number becomes a tensor."""
    error = changes.failure.error
    name, owner = getattr(error, "name", None), getattr(error, "obj", None)
    match = re.search(r"has no attribute '(\w+)'", str(error))
    name = name or (match[1] if match else None)
    if not name:
        return
    for path in _paths_of_object(changes, step.tb_frame, owner, statement, name):
        old = changes.proposal.at(path)
        if isinstance(old, Made) and old.open:
            yield from changes.value(path, old.with_part(name, _attribute(changes, name)))
        elif isinstance(old, Tensor) and not hasattr(torch.Tensor, name):
            from .building import namespace_with

            if name in ("items", "keys", "values", "get", "pop"):
                yield from changes.value(path, Mapped((("x", old), ("y", old))))
            elif name in ("append", "extend", "copy"):
                yield from changes.value(path, Group((old, old)))
            else:
                yield from changes.value(path, namespace_with({name: _attribute(changes, name)}))
        elif hasattr(torch.Tensor, name):
            yield from changes.value(path, names.tensor(path[-1]) or Tensor(("batch", "dim")), Tensor(()))


def _attribute(changes: Changes, name: str) -> Value:
    argument = changes.builder.by_use(name, Uses())
    return argument if not isinstance(argument, Tensor) or names.tensor(name) else names.whole(name)


def _paths_of_object(changes: Changes, frame: types.FrameType, owner: object, statement: ast.stmt, attribute: str) -> Iterator[Path]:
    watch = changes.failure.watch
    if isinstance(owner, torch.Tensor):
        yield from (path for path, _ in changes.sources(owner))
    elif id(owner) in watch.objects:
        yield watch.objects[id(owner)]
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr == attribute:
            yield from paths_of(changes, frame, node.value)


def _missing_key(changes: Changes, step: types.TracebackType, statement: ast.stmt) -> Iterator[Proposal]:
    """A dictionary gets the key that was asked for; a list more items; a shape more dimensions."""
    key = changes.failure.error.args[0] if changes.failure.error.args else None
    for node in ast.walk(statement):
        if not isinstance(node, ast.Subscript):
            continue
        tensor = _shape_owner(changes, step.tb_frame, node)
        at = _evaluated(step.tb_frame, node.slice)
        if tensor is not None and isinstance(at, int):
            yield from changes.rank(tensor, at + 1 if at >= 0 else -at)
        for path in paths_of(changes, step.tb_frame, node.value):
            old = changes.proposal.at(path)
            if isinstance(old, Mapped) and isinstance(key, str):
                yield from changes.value(path, old.with_part(key, changes.builder.by_use(key, Uses())))
            elif isinstance(old, Group) and isinstance(at, int) and old.items:
                yield from changes.value(path, Group((old.items[0],) * (at + 1 if at >= 0 else -at), old.brackets))
            elif isinstance(at, str):
                yield from changes.value(path, Mapped(((at, changes.builder.by_use(at, Uses())),)))


def _wrong_type(changes: Changes, step: types.TracebackType, statement: ast.stmt) -> Iterator[Proposal]:
    """`'Tensor' object is not callable`, `cannot be interpreted as an integer`, `not subscriptable`, an operand of a wrong type."""
    text = str(changes.failure.error)
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and "not callable" in text:
            for path in paths_of(changes, step.tb_frame, node.func):
                yield from changes.value(path, module(), Text("lambda *args: args[0]"))
        if isinstance(node, ast.Subscript) and re.search(r"subscriptable|indices must be|not supported", text):
            at = _evaluated(step.tb_frame, node.slice)
            for path in paths_of(changes, step.tb_frame, node.value):
                if isinstance(at, str):
                    yield from changes.value(path, Mapped(((at, changes.builder.by_use(at, Uses())),)))
                else:
                    yield from changes.value(path, Tensor(("batch", "dim")))
        if isinstance(node, ast.For) and "iter" in text:
            for path in paths_of(changes, step.tb_frame, node.iter):
                yield from changes.value(path, Group((Tensor(("batch", "dim")),) * 2))
    if re.search(r"integer|must be int|int\(\)|expected int|'int'|an index", text):
        for path in paths_of(changes, step.tb_frame, statement):
            if isinstance(changes.proposal.at(path), (Tensor, Text)):
                yield from changes.value(path, names.whole(path[-1]))


def _other_values(changes: Changes, step: types.TracebackType, statement: ast.stmt) -> Iterator[Proposal]:
    for path in dict.fromkeys(paths_of(changes, step.tb_frame, _head(statement))):
        old = changes.proposal.at(path)
        if isinstance(old, Tensor) and not old.sure:
            yield from changes.value(path, names.whole(path[-1]), Text(names.number(path[-1])), Group((old, old)), Tensor(()))
        elif not isinstance(old, (Tensor, Made, Group)):
            yield from changes.value(path, names.tensor(path[-1]) or Tensor(("batch", "dim")), Tensor(()))


def _head(statement: ast.stmt) -> ast.AST:
    """A statement without the block that it holds."""
    if isinstance(statement, (ast.If, ast.While)):
        return statement.test
    if isinstance(statement, ast.For):
        return statement.iter
    return ast.Module([], []) if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.With, ast.Try)) else statement


_BY_TYPE: tuple[tuple[type[BaseException], Any], ...] = (
    (AttributeError, _missing_attribute),
    (KeyError, _missing_key),
    (IndexError, _missing_key),
    (ValueError, _unpacking),
    (TypeError, _wrong_type),
)
