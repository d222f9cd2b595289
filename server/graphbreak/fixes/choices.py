"""From the assignments on the two sides of an `if` to one `torch.where` for each name."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.places import node_span
from ..core.source import SourceFile
from .aliases import Aliases, Writing, declared, is_private, written
from .branches import Branch, is_fresh, is_written_to
from .certainty import is_bound_before, is_harmless, may_be_unbound
from .conditions import Condition, asks_for_limits, condition_of
from .extraction import is_written
from .names import fresh
from .operations import is_cheap, is_grad_mode, may_switch_gradients
from .syntax import first_line, last_line
from .tokens import line_tokens
from .values import Value, alike, value_of

_MOST_NAMES = 4
_WIDTH = 110


class Unfit(Exception):
    """The branch cannot be written as a choice of values."""


@dataclass(frozen=True)
class Item:
    """What a name is given on a side: its text, and the values that it may come to be. `names` are those that it reads, `kept` those that
    may hold the very tensor that it was, of which a choice is a copy."""

    text: str
    values: tuple[Value | None, ...]
    names: frozenset[str]
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Choice:
    """`lines` of code that take the place of the branch; `safe` where they certainly give the same."""

    lines: tuple[str, ...]
    safe: bool


Assigned = list[tuple[str, Item]]


def chosen(branch: Branch, node: ast.If, test: ast.expr) -> Choice:
    """The lines for an `if`. Raises `Unfit`."""
    conditions: list[Condition] = []
    setup: list[str] = []
    several = len(_targets(node)) > 1
    found = _assigned(branch, node, test, conditions, setup if several else None)
    if not found or len(found) > _MOST_NAMES:
        raise Unfit
    outer = declared(branch.function)
    for name, _ in found:
        if name in outer or (is_written_to(branch.function, name, node) and not is_fresh(branch.function, name)):
            raise Unfit
    alone = [may_be_copied(branch, item, name) for name, item in found]
    lines = tuple(f"{name} = {item.text}" for name, item in found)
    if any("\n" in line or "\r" in line or len(line) > 160 for line in (*setup, *lines)):
        raise Unfit
    given = frozenset(name for name, _ in found)
    bound = all(are_bound(branch, item.names - given) for _, item in found)
    safe = bound and all(alone) and are_exact(conditions) and all(is_alike(branch, item.values) for _, item in found)
    return Choice((*setup, *lines), safe)


def are_exact(conditions: Sequence[Condition]) -> bool:
    """Whether all conditions are certainly truth values without dimensions, true for the same values as what was asked."""
    return all(condition.exact and condition.scalar for condition in conditions)


def are_bound(branch: Branch, names: frozenset[str]) -> bool:
    """Whether names that a side reads certainly have values also where that side was not taken."""
    return not any(may_be_unbound(branch.place, branch.node, name) for name in names)


def may_be_copied(branch: Branch, item: Item, name: str = "") -> bool:
    """Whether nobody can tell that what a name is given is a tensor of its own now, where it was one that others may hold: whether none of
    them is written to later, also by a function that they are passed to. Raises `Unfit` where one certainly is.

    A caller that is handed an argument back may write to it; where that is not seen in the same file it is taken for not done.
    """
    if not item.kept or (item.kept == {name} and is_private(branch.place, branch.function, name, branch.node)):
        return True
    names = item.kept | {name} if name else item.kept
    writing = written(branch.place, branch.function, names, branch.node)
    if writing is Writing.CERTAIN:
        raise Unfit
    return writing is Writing.NONE


def is_alike(branch: Branch, values: Sequence[Value | None]) -> bool:
    """Whether all sides are certainly tensors of one shape and type, with finite slopes over the same operands: for finite ones, or where
    the question asks for others, for all."""
    smooth = 2 if asks_for_limits(branch.function, branch.node) else 1
    return not may_lose_gradients(branch) and all(
        alike(values[0], value, branch.facts) and value is not None and value.smooth >= smooth for value in values
    )


def may_lose_gradients(branch: Branch) -> bool:
    """Whether the branch runs under something that may switch gradients off: there a tensor that is only passed on keeps its gradient,
    and what `where` makes of it does not."""
    inside = branch.place.chain[branch.place.chain.index(branch.function) :]
    managers = [item.context_expr for node in inside if isinstance(node, (ast.With, ast.AsyncWith)) for item in node.items]
    decorators = getattr(branch.function, "decorator_list", ())
    return any(map(may_switch_gradients, managers)) or any(map(is_grad_mode, decorators))


def side(branch: Branch, node: ast.expr) -> Item:
    """An expression as a side. Raises `Unfit` where it is not to be computed for nothing, or is certainly no tensor and no number."""
    source = branch.place.source
    if not is_cheap(node) or not is_written(source, node):
        raise Unfit
    for part in ast.walk(node):
        if isinstance(part, (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.JoinedStr)) and part is node:
            raise Unfit
    if isinstance(node, ast.Constant) and (isinstance(node.value, bool) or not isinstance(node.value, (int, float))):
        raise Unfit
    names = frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return Item(
        one_line(source, node), (value_of(node, branch.facts),), names, Aliases(branch.place, branch.function, wide=True).shared(node)
    )


def where(torch: str, condition: Condition, condition_text: str, if_true: Item, if_false: Item) -> Item:
    """The choice of two sides."""
    one, other = (if_false, if_true) if condition.negated else (if_true, if_false)
    if one.text == other.text:
        return replace(one, kept=frozenset())
    text = f"{torch}.where({condition_text}, {one.text}, {other.text})"
    return Item(text, (*if_true.values, *if_false.values), if_true.names | if_false.names, if_true.kept | if_false.kept)


def asked(branch: Branch, test: ast.expr) -> Condition:
    """The condition as a tensor. One that was asked only after another, and is asked always now, must be cheap, and is exact only if
    asking it does nothing else. Raises `Unfit`."""
    is_first = test is getattr(branch.node, "test", None) or any(part is branch.asked.broken for part in ast.walk(test))
    condition = condition_of(branch.asked, test)
    if condition is None or "\n" in condition.text or not (is_first or is_cheap(test)):
        raise Unfit
    return condition if is_first or is_harmless(branch.place, branch.facts, test) else replace(condition, exact=False)


def comments_in(source: SourceFile, node: ast.stmt) -> list[str]:
    """The comments on the lines of a statement, which stay above what replaces it. Raises `Unfit` where they cannot be read."""
    tokens = line_tokens(source.lines)
    if tokens is None:
        raise Unfit
    return [tokens.comments[line][1] for line in range(first_line(node), last_line(node) + 1) if line in tokens.comments]


def one_line(source: SourceFile, node: ast.expr) -> str:
    """The text of an expression that stands on one line. Raises `Unfit`."""
    text = source.slice(node_span(source, node))
    if "\n" in text or "\r" in text:
        raise Unfit
    return text


def _targets(node: ast.If) -> set[str]:
    return {
        part.id
        for statement in (*node.body, *node.orelse)
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _assigned(branch: Branch, node: ast.If, test: ast.expr, conditions: list[Condition], setup: list[str] | None) -> Assigned:
    condition = asked(branch, test)
    conditions.append(condition)
    text = condition.text
    if setup is not None:
        name = fresh(branch.place.source, "condition" if len(setup) == 0 else f"condition_{len(setup) + 1}")
        setup.append(f"{name} = {text}")
        text = name
    if_true = _block(branch, node.body, conditions, setup)
    if_false = _block(branch, node.orelse, conditions, setup)
    return _paired(branch, condition, text, if_true, if_false)


def _block(branch: Branch, block: Sequence[ast.stmt], conditions: list[Condition], setup: list[str] | None) -> Assigned:
    if len(block) == 1 and isinstance(block[0], ast.If):
        return _assigned(branch, block[0], block[0].test, conditions, setup)
    return [item for statement in block for item in _statement(branch, statement)]


def _statement(branch: Branch, statement: ast.stmt) -> Assigned:
    if isinstance(statement, ast.Pass):
        return []
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return [(statement.targets[0].id, side(branch, statement.value))]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        return [(statement.target.id, _augmented(branch, statement, statement.target.id))]
    raise Unfit


def _augmented(branch: Branch, statement: ast.AugAssign, name: str) -> Item:
    """`y += z` as `y + z`, where nobody else holds the tensor that `+=` would write to."""
    private = is_fresh(branch.function, name) and is_private(branch.place, branch.function, name, branch.node)
    if not private or not is_cheap(statement.value):
        raise Unfit
    source = branch.place.source
    target, value = node_span(source, statement.target), node_span(source, statement.value)
    operator = source.text[source.offset(target.end) : source.offset(value.start)].strip()
    text = one_line(source, statement.value)
    if isinstance(statement.value, (ast.BinOp, ast.Compare, ast.IfExp, ast.BoolOp, ast.Lambda, ast.UnaryOp)):
        text = f"({text})"
    whole = ast.BinOp(ast.Name(name, ast.Load()), statement.op, statement.value)
    names = frozenset({name}) | {part.id for part in ast.walk(statement.value) if isinstance(part, ast.Name)}
    if not operator.endswith("=") or "\\" in operator:
        raise Unfit
    return Item(f"{name} {operator[:-1]} {text}", (value_of(whole, branch.facts),), names)


def _paired(branch: Branch, condition: Condition, text: str, if_true: Assigned, if_false: Assigned) -> Assigned:
    names, others = [name for name, _ in if_true], [name for name, _ in if_false]
    if names == others and len(set(names)) == len(names):
        return [(name, where(branch.torch, condition, text, one, two)) for (name, one), (_, two) in zip(if_true, if_false, strict=True)]
    found = [(name, _one_sided(branch, condition, text, name, item, True)) for name, item in if_true]
    return found + [(name, _one_sided(branch, condition, text, name, item, False)) for name, item in if_false]


def _one_sided(branch: Branch, condition: Condition, text: str, name: str, item: Item, if_true: bool) -> Item:
    """What a name is given that has a value on one side only; a name that nothing behind the branch reads is given it anyhow."""
    if not is_bound_before(branch.place, branch.node, name) and not _is_read(branch, name):
        return replace(item, values=() if None not in item.values else item.values)
    old = _old(branch, name)
    return where(branch.torch, condition, text, item, old) if if_true else where(branch.torch, condition, text, old, item)


def _is_read(branch: Branch, name: str) -> bool:
    inside = set(map(id, ast.walk(branch.node)))
    return any(isinstance(node, ast.Name) and node.id == name and id(node) not in inside for node in ast.walk(branch.function))


def _old(branch: Branch, name: str) -> Item:
    """What a name held before the branch. Raises `Unfit` where it may have held nothing."""
    if not is_bound_before(branch.place, branch.node, name):
        raise Unfit
    return Item(name, (value_of(ast.Name(name, ast.Load()), branch.facts),), frozenset({name}), frozenset({name}))
