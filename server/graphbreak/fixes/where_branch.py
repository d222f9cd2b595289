"""Compute both sides of an `if` and choose by the condition: `torch.where`.

Before:

    if y.sum() > 0:
        y = y * 2
    else:
        y = y - 1

After:

    y = torch.where(y.sum() > 0, y * 2, y - 1)

An `elif` becomes a `torch.where` in the other's place; without `else` a name keeps its value; several names get a line each, and the
condition a name of its own. In `if setting and y.sum() > 0:` the setting stays a question of Python.

When it is not safe: both sides are computed now. It is called safe only where the text shows that they are tensors of one shape and
type, over the same operands, by operations with finite slopes (else a side that is not taken could give its operands a gradient that is
not a number, or one where there was none), and that the condition has one element. Slopes are finite for finite operands; where the
function asks for infinities or NaN they must be so for all. An `elif` is asked always now, so it may only ask known tensors.

A name that kept its value held a tensor that others may hold too, and holds a copy now: it is not offered where that tensor is written to
later in the function, by whatever name, and not safe where it is passed to a function or module that may do so. What is returned may be
such a copy as well: a caller in the same file must not write to it, of others it is taken for granted that they do not.

Else it changes behaviour. It is not offered where a side does more than assign the function's own names, or where a side or an `elif`
draws random numbers, calls the user's own code or does much work.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from .branches import Branch, branch_at
from .choices import Unfit, chosen, comments_in
from .conditions import settings_of
from .edits import finished, indent_unit, indentation, shortened
from .model import FixContext
from .syntax import first_line, last_line


def where_branch(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace an `if` that only assigns names."""
    branch = branch_at(diagnostic, context)
    if branch is None or not isinstance(branch.node, ast.If):
        return None
    try:
        return _replaced(branch, branch.node)
    except Unfit:
        return None


def _replaced(branch: Branch, node: ast.If) -> Fix | None:
    source = branch.place.source
    settings = settings_of(source, node.test) if not node.orelse else ("", node.test)
    if settings is None:
        raise Unfit
    setting, test = settings
    choice = chosen(branch, node, test)
    start = node_span(source, node).start
    if source.line(start.line)[: start.column].strip():
        raise Unfit  # it shares its line with another statement
    indent, is_elif = indentation(source.line(start.line)), source.slice(Span(start, Position(start.line, start.column + 4))) == "elif"
    if is_elif and setting:
        raise Unfit
    head = {True: "else:", False: f"if {setting}:"}[is_elif] if is_elif or setting else ""
    inner = indent + indent_unit_of(branch, indent) if head else indent
    lines = [indent + head] if head else []
    lines += [inner + comment for comment in comments_in(source, node)]
    lines += [inner + line for line in choice.lines]
    span = Span(Position(start.line, 0), Position(last_line(node), len(source.line(last_line(node)))))
    title = f"Compute both sides and choose by `{shortened(source.slice(node_span(source, test)), 30)}` ({branch.torch}.where)"
    safety = Safety.SAFE if choice.safe else Safety.CHANGES_BEHAVIOUR
    return finished(title, source, (*branch.imports, Edit(span, source.newline.join(lines))), safety)


def indent_unit_of(branch: Branch, indent: str) -> str:
    """One more level than the branch itself, as its own body shows it."""
    node = branch.node
    if isinstance(node, ast.If) and first_line(node.body[0]) > node.lineno - 1:
        own = indentation(branch.place.source.line(first_line(node.body[0])))
        return own[len(indent) :] or "    "
    return indent_unit(branch.place.top, branch.place.source)
