"""Go through a loop to its end, and keep what it computes as it is from where it would have stopped.

Before:

    for i in range(5):
        if x.norm() < 1:
            break
        x = x / 2

    step = 0
    while step < 5 and x.norm() > 1:
        x = x / 2
        step += 1

After (one fix each):

    for i in range(5):
        x = torch.where(x.norm() < 1, x, x / 2)

    for step in range(5):
        x = torch.where(x.norm() > 1, x / 2, x)

The condition is asked of what the loop changes, and that no longer changes once it has stopped: so it goes on giving the same answer.

When it is not safe: all rounds are computed now; whether the values are certainly the same is as for an `if`, see `where_branch`. It is not
offered where the loop has no bound in its text, its condition asks for the number of the round, that number is read behind it, or the
loop does more than assign names.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, SourceFile, Span
from .aliases import declared
from .branches import Branch, branch_at
from .certainty import is_harmless
from .choices import Choice, Unfit, chosen, comments_in
from .edits import finished, indentation, shortened
from .model import FixContext
from .operations import is_cheap
from .syntax import dotted, first_line, last_line, own_nodes

_JUMPS = (ast.Break, ast.Continue, ast.Return)


def frozen_loop(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the early end of a loop by a choice of values in each round."""
    branch = branch_at(diagnostic, context)
    if branch is None:
        return None
    try:
        if isinstance(branch.node, ast.While):
            return _of_while(branch, branch.node)
        return _of_break(branch, branch.node) if isinstance(branch.node, ast.If) else None
    except Unfit:
        return None


def _of_break(branch: Branch, node: ast.If) -> Fix | None:
    """`if condition: break` at the start of a loop over a range."""
    source = branch.place.source
    loop = next((a for a, b in pairwise(branch.place.chain) if b is node and isinstance(a, ast.For)), None)
    stops = len(node.body) == 1 and isinstance(node.body[0], ast.Break) and not node.orelse
    if loop is None or not stops or loop.orelse or loop.body[0] is not node or len(loop.body) == 1 or not _is_range(loop.iter):
        raise Unfit
    rest = loop.body[1:]
    _check(branch, loop, rest, node.test, dotted(loop.target))
    choice = _kept(branch, node.test, rest, negated=True)
    edit = _lines(source, node, rest, indentation(source.line(first_line(node))), choice)
    return _finished(branch, node.test, choice, [edit])


def _of_while(branch: Branch, loop: ast.While) -> Fix | None:
    """`while step < bound and condition:` whose last statement counts."""
    source, test = branch.place.source, loop.test
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And) or len(test.values) != 2 or loop.orelse or len(loop.body) < 2:
        raise Unfit
    counted = next((value for value in test.values if _counter(value)), None)
    start = _statement_before(branch, loop)
    if counted is None or start is None:
        raise Unfit
    condition = next(value for value in test.values if value is not counted)
    name, bound = _counter(counted), counted.comparators[0]  # type: ignore[attr-defined]
    if not _is_zero(start, name) or not _counts(loop.body[-1], name) or _is_read_behind(branch, loop, name):
        raise Unfit
    rest = loop.body[:-1]
    _check(branch, loop, rest, condition, name)
    choice = _kept(branch, condition, rest, negated=False)
    head = f"for {name} in range({source.slice(node_span(source, bound))})"
    header = Edit(Span(node_span(source, loop).start, node_span(source, test).end), head)
    inner = _lines(source, rest[0], [*rest[1:], loop.body[-1]], indentation(source.line(first_line(rest[0]))), choice)
    alone = source.line(first_line(start)).strip() == source.slice(node_span(source, start))
    counter = [Edit(Span(Position(first_line(start), 0), Position(last_line(start) + 1, 0)), "")] if alone else []
    return _finished(branch, condition, choice, [*counter, header, inner])


def _kept(branch: Branch, test: ast.expr, body: list[ast.stmt], negated: bool) -> Choice:
    """The lines that give each name its new value, or from some round on its old one."""
    question = ast.copy_location(ast.If(test, [] if negated else body, body if negated else []), branch.node)
    choice = chosen(branch, question, test)
    return replace(choice, safe=choice.safe and is_harmless(branch.place, branch.facts, test))


def _lines(source: SourceFile, first: ast.stmt, others: list[ast.stmt], indent: str, choice: Choice) -> Edit:
    comments = [comment for statement in (first, *others) for comment in comments_in(source, statement)]
    end = last_line(others[-1] if others else first)
    span = Span(Position(first_line(first), 0), Position(end, len(source.line(end))))
    return Edit(span, source.newline.join(indent + line for line in (*comments, *choice.lines)))


def _finished(branch: Branch, test: ast.expr, choice: Choice, edits: list[Edit]) -> Fix | None:
    source = branch.place.source
    title = f"Do all rounds and choose by `{shortened(source.slice(node_span(source, test)), 30)}` ({branch.torch}.where)"
    safety = Safety.SAFE if choice.safe else Safety.CHANGES_BEHAVIOUR
    return finished(title, source, (*branch.imports, *edits), safety)


def _check(branch: Branch, loop: ast.For | ast.While, body: list[ast.stmt], test: ast.expr, counter: str) -> None:
    """Raises `Unfit` where the condition may change its answer, or the loop ends in another way too."""
    jumps = [node for statement in body for node in ast.walk(statement) if isinstance(node, _JUMPS)]
    asked = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    if jumps or not counter.isidentifier() or counter in asked | declared(branch.function) or not is_cheap(test):
        raise Unfit
    if _is_read_behind(branch, loop, counter):
        raise Unfit
    if any(not isinstance(statement, (ast.Assign, ast.AugAssign)) for statement in body):
        raise Unfit


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == "range"


def _counter(node: ast.expr) -> str:
    """The name in `name < bound`, where the bound is a number of Python."""
    if (
        not isinstance(node, ast.Compare)
        or len(node.ops) != 1
        or not isinstance(node.ops[0], ast.Lt)
        or not isinstance(node.left, ast.Name)
    ):
        return ""
    bound = node.comparators[0]
    plain = isinstance(bound, ast.Constant) or dotted(bound).startswith("self.") or dotted(bound).isupper()
    return node.left.id if plain else ""


def _statement_before(branch: Branch, loop: ast.While) -> ast.stmt | None:
    outer = next(a for a, b in pairwise(branch.place.chain) if b is loop)
    block = next((block for field in ("body", "orelse") if loop in (block := getattr(outer, field, None) or ())), ())
    index = block.index(loop) if loop in block else 0
    return block[index - 1] if index else None


def _is_zero(statement: ast.stmt, name: str) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    own = isinstance(statement, ast.Assign) and [dotted(target) for target in statement.targets] == [name]
    return own and isinstance(value, ast.Constant) and value.value == 0


def _counts(statement: ast.stmt, name: str) -> bool:
    """Whether a statement is `name += 1`."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add) or dotted(statement.target) != name:
        return False
    return isinstance(statement.value, ast.Constant) and statement.value.value == 1


def _is_read_behind(branch: Branch, loop: ast.stmt, name: str) -> bool:
    later = (node for node in own_nodes(branch.function) if getattr(node, "lineno", 0) > last_line(loop) + 1)
    inside_other = any(isinstance(node, (ast.For, ast.While)) for node in branch.place.inside if node is not loop)
    return inside_other or any(isinstance(node, ast.Name) and node.id == name for node in later)
