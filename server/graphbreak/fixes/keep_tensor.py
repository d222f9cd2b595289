"""Keep the tensor that a number is read from, where a tensor without dimensions does as well.

Before:

    scale = x.abs().sum().item()
    return x / scale

After:

    scale = x.abs().sum().detach()
    return x / scale

`float(t)` becomes `t.detach()`, `int(t)` `t.long()`, `bool(t)` `t`, `not t` `~t`. The number had no gradient; `detach` keeps it so. What is
asked of the number in the test of an `if` is asked of the tensor afterwards.

When it is not safe: it is called safe only where the number meets tensors that it was computed from, in `+`, `-`, `*` and `/`, so that the
type of the result is theirs either way; arithmetic with other numbers is done in the tensor's own precision afterwards. Nor is it safe
where the tensor is none of its own (`x[0]`, a name) and something is written in place, which a number does not see. It is not offered where
the number is returned, shown, stored, or used as a size or an index.
"""

from __future__ import annotations

import ast
from itertools import pairwise

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts, writes_in_place
from .conditions import is_primary
from .edits import finished, shortened
from .model import FixContext
from .operations import COMPARED, TESTED, operation
from .regions import compiled_place
from .shared import is_new
from .syntax import Function, Place, own_nodes
from .uses import Use, loads_of, use_at
from .values import Facts, Value, value_of, with_known

_CONVERSIONS = frozenset({"int", "float", "bool"})
_COUNTING = frozenset({"argmax", "argmin", "count_nonzero", "long", "int", "numel"})
_TRUTHS = frozenset({"any", "all"}) | COMPARED | TESTED


def keep_tensor(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Drop the conversion, if all that is done with the number can be done with the tensor."""
    place = compiled_place(diagnostic, context)
    if place is None or place.function is None or not isinstance(place.node, (ast.Call, ast.UnaryOp)) or _in_test(place):
        return None
    tensor = _under_conversion(place.node)
    if tensor is None:
        return None
    facts = with_known(known_facts(place.function, diagnostic.path, place.node, context), place.function, place.node)
    uses = uses_of(place, facts)
    if uses is None:
        return None
    source = place.source
    edit = Edit(node_span(source, place.node), _kept(place, place.node, tensor))
    title = f"Keep the tensor of `{shortened(source.slice(node_span(source, place.node)), 30)}`"
    safe = all(use.exact for use in uses) and _is_alike(value_of(tensor, facts), place.node, uses, facts)
    safe = safe and (is_new(tensor) or not writes_in_place(place.functions[-1]))
    return finished(title, source, (edit,), Safety.SAFE if safe else Safety.CHANGES_BEHAVIOUR)


def _under_conversion(call: ast.Call | ast.UnaryOp) -> ast.expr | None:
    """The tensor that a call, or `not`, makes a number of."""
    if isinstance(call, ast.UnaryOp):
        is_truth = isinstance(call.operand, ast.Compare) or _operation(call.operand) in _TRUTHS
        return call.operand if isinstance(call.op, ast.Not) and is_truth else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "item" and not call.args:
        return call.func.value
    if isinstance(call.func, ast.Name) and call.func.id in _CONVERSIONS and len(call.args) == 1 and not call.keywords:
        argument = call.args[0]
        inner = _under_conversion(argument) if isinstance(argument, ast.Call) else None
        return inner if inner is not None else argument
    return None


def uses_of(place: Place, facts: Facts) -> list[Use] | None:
    """What is done with the number; None where something of it needs a number."""
    function, statement = place.functions[-1], place.statement
    if not isinstance(statement, ast.Assign) or statement.value is not place.node:
        use = use_at(place.chain, facts)
        return [use] if use is not None else None
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    name = statement.targets[0].id
    loads = loads_of(function, name)
    if not loads or _stores(function, name) != 1 or any(isinstance(outer, (ast.Global, ast.Nonlocal)) for outer in own_nodes(function)):
        return None
    uses = [use_at(chain, facts) for chain in loads]
    found = [use for use in uses if use is not None]
    return found if len(found) == len(uses) else None


def _stores(function: Function, name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in own_nodes(function))


def _is_alike(value: Value | None, call: ast.Call | ast.UnaryOp, uses: list[Use], facts: Facts) -> bool:
    """Whether all that the number meets has the type of the tensor, whichever it is."""
    if isinstance(call, ast.UnaryOp) or (isinstance(call.func, ast.Name) and call.func.id != "float"):
        return not any(use.partners for use in uses)
    if value is None:
        return False
    partners = [partner for use in uses for partner in use.partners]
    return all(value.kind and value.kind <= facts.floating and value.kind <= partner.kind for partner in partners)


def _operation(node: ast.expr) -> str:
    found = operation(node) if isinstance(node, ast.Call) else None
    return found[0] if found is not None else ""


def _kept(place: Place, call: ast.Call | ast.UnaryOp, tensor: ast.expr) -> str:
    """The text of the tensor, without a gradient."""
    text = place.source.slice(node_span(place.source, tensor))
    primary = text if is_primary(text) else f"({text})"
    name = _operation(tensor)
    if isinstance(call, ast.UnaryOp):
        return f"~{primary}"
    if isinstance(tensor, ast.Compare) or name in _TRUTHS:
        return primary if _is_operand(place) else text
    if isinstance(call.func, ast.Name) and call.func.id == "int":
        return primary if name in _COUNTING else f"{primary}.long()"
    return primary if name in _COUNTING else f"{primary}.detach()"


def _is_operand(place: Place) -> bool:
    return isinstance(place.chain[-2], (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Attribute, ast.Subscript, ast.BoolOp))


def _in_test(place: Place) -> bool:
    """Whether the number is only asked for in a test, through which no gradient flows."""
    return any(inner is getattr(outer, "test", None) for outer, inner in pairwise(place.inside))
