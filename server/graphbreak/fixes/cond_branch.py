"""Put both sides of a branch into the graph and run one: `torch.cond`.

Before:

    if x.mean() > 0:
        y = self.wide(x)
    else:
        y = self.narrow(x)

After:

    y = torch.cond(x.mean() > 0, lambda: self.wide(x), lambda: self.narrow(x))

It is for sides that are too much work to compute for nothing; a side that keeps what a name held gives a copy, since no result may be the
same tensor as an operand. Conditional expressions and pairs of `return`s likewise.

When it is not safe: both sides must give tensors of one shape and type (tracing finds out), and what only the other side uses gets a
gradient of zeros in place of none; outside of a compiled function `torch.cond` compiles itself. So it changes behaviour. It is not offered
where a side does anything but compute values: statements other than plain assignments, writing in place, printing, appending.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, SourceFile, Span
from .aliases import Aliases, Writing, declared, is_private, written
from .branches import Branch, branch_at, is_written_to
from .certainty import is_bound_before
from .choices import Unfit, asked, comments_in
from .conditions import settings_of
from .edits import finished, indentation, shortened
from .extraction import is_written
from .model import FixContext
from .operations import is_pure
from .syntax import dotted, first_line, last_line, names_a_write
from .where_branch import indent_unit_of

_IMPURE = frozenset(
    {"print", "append", "extend", "insert", "pop", "update", "setattr", "delattr", "setdefault", "clear", "remove", "open", "input", "next"}
    | {"register_buffer", "backward", "step", "zero_grad", "write", "warn", "info", "debug", "warning", "error", "log_metrics", "super"}
)


def cond_branch(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace an `if` or a conditional expression by a call that takes both sides as functions."""
    branch = branch_at(diagnostic, context)
    if branch is None or isinstance(branch.node, ast.While):
        return None
    try:
        edits = _of_expression(branch, branch.node) if isinstance(branch.node, ast.IfExp) else _of_statement(branch, branch.node)
    except Unfit:
        return None
    source = branch.place.source
    title = f"Choose by `{shortened(source.slice(node_span(source, branch.node.test)), 30)}` in the graph ({branch.torch}.cond)"
    fix = finished(title, source, (*branch.imports, *edits), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch.cond",)) if fix is not None else None


def _of_expression(branch: Branch, node: ast.IfExp) -> list[Edit]:
    source = branch.place.source
    _check_kept(branch, frozenset(), [node.body, node.orelse])
    return [Edit(node_span(source, node), _call(branch, node.test, [_side(branch, node.body)], [_side(branch, node.orelse)]))]


def _of_statement(branch: Branch, node: ast.If) -> list[Edit]:
    source, span = branch.place.source, node_span(branch.place.source, node)
    settings = settings_of(source, node.test) if not node.orelse else ("", node.test)
    if settings is None or source.line(span.start.line)[: span.start.column].strip() or source.slice(span)[:4] == "elif":
        raise Unfit
    returned = _returned(branch, node)
    if returned is not None:
        if settings[0]:
            raise Unfit
        end, text = returned
    else:
        end, text = node, _assigned(branch, node, settings[1])
    indent = indentation(source.line(span.start.line))
    inner = indent + indent_unit_of(branch, indent) if settings[0] else indent
    lines = [f"{indent}if {settings[0]}:"] if settings[0] else []
    lines += [*(inner + comment for comment in comments_in(source, node)), inner + text]
    whole = Span(Position(first_line(node), 0), _end(source, end))
    return [Edit(whole, source.newline.join(lines))]


def _end(source: SourceFile, statement: ast.stmt) -> Position:
    end = node_span(source, statement).end
    return end if isinstance(statement, ast.Return) else Position(last_line(statement), len(source.line(last_line(statement))))


def _assigned(branch: Branch, node: ast.If, test: ast.expr) -> str:
    """The assignment of all names that the two sides give values."""
    if_true, if_false = (_values(branch, block) for block in (node.body, node.orelse))
    names = list(dict.fromkeys([*if_true, *if_false]))
    outer = declared(branch.function)
    if not names or any(name in outer or is_written_to(branch.function, name, node) for name in names):
        raise Unfit
    kept = frozenset(names) - if_true.keys() | frozenset(names) - if_false.keys()
    _check_kept(branch, kept, [*if_true.values(), *if_false.values()], names[0] if len(names) == 1 else "")
    sides = [[_side(branch, values[name]) if name in values else _kept(branch, name) for name in names] for values in (if_true, if_false)]
    return f"{', '.join(names)} = {_call(branch, test, *sides)}"


def _check_kept(branch: Branch, kept: frozenset[str], values: Sequence[ast.expr], name: str = "") -> None:
    """Raises `Unfit` where a tensor that is handed on, and is a copy now, is written to later."""
    seen = kept | Aliases(branch.place, branch.function).shared(*values)
    if not seen or (seen == {name} and is_private(branch.place, branch.function, name, branch.node)):
        return
    if written(branch.place, branch.function, seen, branch.node) is Writing.CERTAIN:
        raise Unfit


def _values(branch: Branch, block: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """What a side gives each name; none of it may use another one of them."""
    found: dict[str, ast.expr] = {}
    for statement in block:
        if isinstance(statement, ast.Pass):
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
            raise Unfit
        used = {part.id for part in ast.walk(statement.value) if isinstance(part, ast.Name)}
        if statement.targets[0].id in found or used & set(found):
            raise Unfit
        found[statement.targets[0].id] = statement.value
    return found


def _returned(branch: Branch, node: ast.If) -> tuple[ast.stmt, str] | None:
    """The last statement and the text of two returns, of the `if` and of what follows it; None where it returns nothing."""
    if not isinstance(node.body[-1], ast.Return):
        return None
    block: Sequence[ast.stmt] = node.orelse
    if not block:
        outer = next(
            getattr(part, field)
            for part in branch.place.chain
            for field in ("body", "orelse")
            if node in (getattr(part, field, None) or ())
        )
        block = outer[outer.index(node) + 1 :]
    values = [side[0].value for side in (node.body, block) if len(side) == 1 and isinstance(side[0], ast.Return)]
    if len(values) != 2 or values[0] is None or values[1] is None:
        raise Unfit
    one, two = ([*value.elts] if isinstance(value, ast.Tuple) else [value] for value in values if value is not None)
    if len(one) != len(two):
        raise Unfit
    _check_kept(branch, frozenset(), [*one, *two])
    text = _call(branch, node.test, [_side(branch, value) for value in one], [_side(branch, value) for value in two])
    return (node if node.orelse else block[0]), f"return {text}"


def _call(branch: Branch, test: ast.expr, if_true: Sequence[str], if_false: Sequence[str]) -> str:
    condition = asked(branch, test)
    one, two = (_function(values) for values in ((if_false, if_true) if condition.negated else (if_true, if_false)))
    return f"{branch.torch}.cond({condition.text}, {one}, {two})"


def _function(values: Sequence[str]) -> str:
    return f"lambda: {values[0]}" if len(values) == 1 else f"lambda: ({', '.join(values)})"


def _side(branch: Branch, value: ast.expr) -> str:
    """The text of a value as the result of a side. Raises `Unfit` where it may leave something behind, or cannot be a tensor."""
    source = branch.place.source
    text = source.slice(node_span(source, value))
    if (
        not is_pure(value, _may_be_pure)
        or not is_written(source, value)
        or isinstance(value, (ast.Constant, ast.List, ast.Dict, ast.IfExp))
    ):
        raise Unfit
    if "\n" in text and "(" not in text:
        raise Unfit
    return f"{text}.clone()" if isinstance(value, (ast.Name, ast.Attribute)) else text


def _kept(branch: Branch, name: str) -> str:
    if not is_bound_before(branch.place, branch.node, name):
        raise Unfit
    return f"{name}.clone()"


def _may_be_pure(call: ast.Call) -> bool:
    """Whether nothing about a call says that it does more than compute a value."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
    writes = names_a_write(name)
    return bool(name) and not writes and name not in _IMPURE and all(keyword.arg != "out" for keyword in call.keywords)
