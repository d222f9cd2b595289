"""Compute what both ways of a function return and choose by the condition: `torch.where` in one `return`.

Before:

    if x.sum() > 0:
        return x * 2
    y = x.sin()
    return y

After:

    y = x.sin()
    return torch.where(x.sum() > 0, x * 2, y)

Several such questions one behind the other, `elif` and `else` are taken together; a tuple is chosen item by item. Where a name of the
condition is given anew in between, the condition is computed where it was and kept.

When it is not safe: as for an `if` that assigns, see `where_branch`. It is not offered where what stands between the question and the last
`return` does more than assign names, or does much work.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, SourceFile, Span
from .aliases import declared
from .branches import Branch, branch_at
from .choices import Item, Unfit, are_bound, are_exact, asked, comments_in, is_alike, may_be_copied, side, where
from .conditions import Condition
from .edits import finished, indentation, shortened
from .model import FixContext
from .names import fresh
from .operations import is_cheap
from .syntax import first_line, last_line
from .values import value_of

_LONGEST = 160


def where_return(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Join the early `return` of an `if` with the last one."""
    branch = branch_at(diagnostic, context)
    if branch is None or not isinstance(branch.node, ast.If):
        return None
    try:
        return _joined(branch, branch.node)
    except Unfit:
        return None


def _joined(branch: Branch, node: ast.If) -> Fix | None:
    source = branch.place.source
    block = _rest(branch, node)
    kept = [statement for statement in block[1:] if not isinstance(statement, (ast.If, ast.Return))]
    if not all(isinstance(statement, ast.Assign) and is_cheap(statement.value) and _names(statement.targets) for statement in kept):
        raise Unfit
    questions = [statement for statement in block if statement not in kept]
    conditions: list[Condition] = []
    items = _returned(branch, questions, conditions)
    setup = _setup(branch, node, kept, conditions) if kept or len(items) > 1 else ""
    if setup:
        items = _returned(branch, questions, [], setup)
    text = "return " + ", ".join(item.text for item in items)
    if len(text) > _LONGEST or any("\n" in item.text for item in items):
        raise Unfit
    given = frozenset(part.id for statement in kept for part in ast.walk(statement) if isinstance(part, ast.Name) and _is_stored(part))
    if given & declared(branch.function):
        raise Unfit
    harmless = all(isinstance(s, ast.Assign) and value_of(s.value, branch.facts) is not None for s in kept)
    harmless = harmless and all(are_bound(branch, item.names - given) for item in items) and are_exact(conditions)
    alone = [may_be_copied(branch, item) for item in items]
    safe = harmless and all(alone) and all(is_alike(branch, item.values) for item in items)
    test = shortened(source.slice(node_span(source, node.test)), 30)
    title = f"Compute both results and choose by `{test}` ({branch.torch}.where)"
    edits = _edits(source, node, block, kept, f"{setup} = {asked(branch, node.test).text}" if setup else "", text)
    return finished(title, source, (*branch.imports, *edits), Safety.SAFE if safe else Safety.CHANGES_BEHAVIOUR)


def _rest(branch: Branch, node: ast.If) -> list[ast.stmt]:
    """The `if` with what follows it in its block, up to the `return` that ends it."""
    outer = next(outer for outer, inner in pairwise(branch.place.chain) if inner is node)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(outer, field, None)
        if isinstance(block, list) and node in block:
            found = [node] if _ends(node) else block[block.index(node) :]
            is_elif = (
                isinstance(outer, ast.If)
                and field == "orelse"
                and branch.place.source.slice(node_span(branch.place.source, node))[:4] == "elif"
            )
            if is_elif or not (isinstance(found[-1], ast.Return) or _ends(found[-1])):
                raise Unfit
            return found
    raise Unfit


def _ends(statement: ast.stmt) -> bool:
    """Whether a statement returns whatever way it takes."""
    if isinstance(statement, ast.If):
        return bool(statement.orelse) and _ends(statement.body[-1]) and _ends(statement.orelse[-1])
    return isinstance(statement, ast.Return)


def _returned(branch: Branch, block: Sequence[ast.stmt], conditions: list[Condition], kept: str = "") -> list[Item]:
    """What a block of questions returns, item by item. `kept` is the name that the first condition was given."""
    first = block[0] if block else None
    if isinstance(first, ast.Return) and first.value is not None:
        parts = first.value.elts if isinstance(first.value, ast.Tuple) else [first.value]
        return [side(branch, part) for part in parts]
    if not isinstance(first, ast.If):
        raise Unfit
    condition = asked(branch, first.test)
    conditions.append(condition)
    if_true = _returned(branch, first.body, conditions)
    if_false = _returned(branch, first.orelse or block[1:], conditions)
    if len(if_true) != len(if_false) or len(first.body) > 1 or len(first.orelse) > 1:
        raise Unfit
    text = kept or condition.text
    return [where(branch.torch, condition, text, one, two) for one, two in zip(if_true, if_false, strict=True)]


def _setup(branch: Branch, node: ast.If, kept: Sequence[ast.stmt], conditions: Sequence[Condition]) -> str:
    """A name for the condition, where what it is asked of is given anew before the last `return`; nothing where it can wait."""
    given = {part.id for statement in kept for part in ast.walk(statement) if isinstance(part, ast.Name) and _is_stored(part)}
    results = [part for statement in node.body for part in ast.walk(statement) if isinstance(part, ast.Name)]
    if any(part.id in given for part in results) or (given and len(conditions) > 1):
        raise Unfit
    asks = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    return fresh(branch.place.source, "condition") if asks & given or not kept else ""


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _names(targets: Sequence[ast.expr]) -> bool:
    return all(isinstance(part, (ast.Name, ast.Tuple, ast.expr_context)) for target in targets for part in ast.walk(target))


def _edits(source: SourceFile, node: ast.If, block: Sequence[ast.stmt], kept: Sequence[ast.stmt], setup: str, text: str) -> list[Edit]:
    questions = [statement for statement in block if statement not in kept]
    last = questions[-1]
    if any(source.line(first_line(s))[: node_span(source, s).start.column].strip() for s in questions):
        raise Unfit  # it shares its line with another statement
    indent, edits = indentation(source.line(node.lineno - 1)), []
    for statement in questions:
        lines = [indent + comment for comment in comments_in(source, statement)] if isinstance(statement, ast.If) else []
        lines += [indent + setup] if statement is node and setup else []
        lines += [indent + text] if statement is last else []
        end = node_span(source, statement).end if isinstance(statement, ast.Return) else Position(last_line(statement), 10**6)
        edits.append(_replacement(source, Position(first_line(statement), 0), end, lines))
    return edits


def _replacement(source: SourceFile, start: Position, end: Position, lines: Sequence[str]) -> Edit:
    """Whole lines exchanged; taken out with their line end where nothing comes in their place."""
    if lines:
        end = Position(end.line, min(end.column, len(source.line(end.line))))
        return Edit(Span(start, end), source.newline.join(lines))
    return Edit(Span(start, Position(end.line + 1, 0)), "")
