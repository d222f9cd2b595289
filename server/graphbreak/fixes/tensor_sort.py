"""Sort tensors by numbers that depend on data in the graph: `argsort` in place of `sorted`.

Before:

    ranked = sorted(heads, key=lambda head: head.abs().mean())

After:

    ranked = list(torch.stack(heads)[torch.stack([head.abs().mean() for head in heads]).argsort(stable=True)])

`reverse=True` becomes `descending=True`; both sorts leave equal ones in their order.

When it is not safe: the tensors must have one shape and type, what is sorted are copies of them, and one that is not a number is sorted
elsewhere; that changes behaviour. It is not offered where the list is no plain name.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished, shortened, torch_name
from .extraction import is_written
from .imports import is_local
from .model import FixContext
from .names import module_binders
from .operations import is_cheap
from .regions import compiled_place
from .syntax import Place, dotted, first_line


def tensor_sort(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the call of `sorted` that broke."""
    place = compiled_place(diagnostic, context)
    call = place.node if place is not None else None
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    if place is None or torch is None or not isinstance(call, ast.Call) or not _sorts(place, call):
        return None
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    key, reverse = options.get("key"), options.get("reverse")
    descending = isinstance(reverse, ast.Constant) and reverse.value is True
    if not isinstance(key, ast.Lambda) or set(options) - {"key", "reverse"} or (reverse is not None and not descending):
        return None
    item, source = _parameter(key), place.source
    if not item or not is_cheap(key.body) or not is_written(source, key.body):
        return None
    items, body = dotted(call.args[0]), source.slice(node_span(source, key.body))
    order = f"{torch[0]}.stack([{body} for {item} in {items}]).argsort({'descending=True, ' if descending else ''}stable=True)"
    edit = Edit(node_span(source, call), f"list({torch[0]}.stack({items})[{order}])")
    title = f"Sort by `{shortened(body, 30)}` in the graph ({torch[0]}.argsort)"
    return finished(title, source, (*torch[1], edit), Safety.CHANGES_BEHAVIOUR)


def _sorts(place: Place, call: ast.Call) -> bool:
    """Whether a call is Python's `sorted` of a plain name."""
    own = dotted(call.func) == "sorted" and not is_local(place, "sorted") and not module_binders(place.module, "sorted")
    return own and len(call.args) == 1 and isinstance(call.args[0], ast.Name)


def _parameter(key: ast.Lambda) -> str:
    """The only parameter of a key."""
    arguments = key.args
    plain = len(arguments.args) == 1 and not (arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg)
    return arguments.args[0].arg if plain and not arguments.defaults else ""
