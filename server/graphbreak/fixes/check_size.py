"""Take for granted what a branch asks of a number or size that depends on data: `torch._check`, which raises where it does not hold.

Before:

    count = keep.sum().item()
    if count > 2:
        return x * count
    return x

After:

    count = keep.sum().item()
    torch._check(count > 2)
    if count > 2:
        return x * count
    return x

When it is not safe: other inputs, for which the other side was meant, raise a `RuntimeError` afterwards, in eager mode too; so it changes
behaviour. It is for comparisons of numbers that are in the graph already, where PyTorch says that it could not decide one, and takes for
granted the side that ran: the body of the `if` if its operations are in a graph, else the opposite. It is not offered for an `elif`, nor
where the comparison calls anything but what gives a size.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from .edits import finished, shortened, torch_name
from .extraction import Unmovable
from .model import FixContext
from .operations import is_pure
from .regions import captures, compiled_place
from .statements import lines_before
from .syntax import Place, dotted, first_line, last_line

_NUMBER = "SymNodeVariable"
"""What PyTorch's debug context calls a number that depends on data."""
_UNDECIDED = "Could not guard on data-dependent expression"
_SIZES = frozenset({"size", "numel", "dim", "len"})
_OPPOSITES: dict[type[ast.cmpop], str] = {ast.Gt: "<=", ast.GtE: "<", ast.Lt: ">=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "=="}


def check_size(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Put the check in before the branch."""
    undecided = _NUMBER in diagnostic.context or _UNDECIDED in diagnostic.gb_type
    place = compiled_place(diagnostic, context) if undecided else None
    branch = place.statement if place is not None else None
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    if place is None or torch is None or not isinstance(branch, ast.If):
        return None
    if place.source.line(first_line(branch)).lstrip().startswith("elif"):
        return None
    text = _granted(place, branch, any(captures(place.source.path, statement, context) for statement in branch.body))
    if not text:
        return None
    try:
        edit = lines_before(place, branch, (f"{torch[0]}._check({text})",))
    except Unmovable:
        return None
    title = f"Take for granted that `{shortened(text)}` (torch._check, which raises where it does not hold)"
    return finished(title, place.source, (*torch[1], edit), Safety.CHANGES_BEHAVIOUR)


def _granted(place: Place, branch: ast.If, holds: bool) -> str:
    """What the branch asks, or its opposite; nothing where that is no plain comparison."""
    test = branch.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not is_pure(test, _gives_size):
        return ""
    left, right = (place.source.slice(node_span(place.source, part)) for part in (test.left, test.comparators[0]))
    if first_line(test) != last_line(test):
        return ""
    opposite = _OPPOSITES.get(type(test.ops[0]), "")
    if not opposite:
        return ""
    return place.source.slice(node_span(place.source, test)) if holds else f"{left} {opposite} {right}"


def _gives_size(call: ast.Call) -> bool:
    return dotted(call.func).rpartition(".")[2] in _SIZES
