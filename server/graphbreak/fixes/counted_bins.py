"""Count values into a known number of bins with a sum of `one_hot`, whose size is fixed; that of `bincount` grows with the values.

Before:

    load = torch.bincount(chosen, minlength=self.experts)

After:

    load = torch.nn.functional.one_hot(chosen, self.experts).sum(0)

When it is not safe: where a value is not below the number of bins, `bincount` gives more bins and `one_hot` raises (on a GPU it may do
worse); and a table of all values by all bins is made on the way. That changes behaviour. It is not offered for weights.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished, torch_name
from .imports import resolved
from .model import FixContext
from .operations import operation
from .regions import compiled_place
from .syntax import Place, first_line


def counted_bins(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the `bincount` that broke."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, first_line(place.top)) if place is not None else None
    found = _values_and_bins(place.node) if place is not None else None
    if place is None or torch is None or found is None:
        return None
    values, bins = (place.source.slice(node_span(place.source, node)) for node in found)
    functional = _functional(place) or f"{torch[0]}.nn.functional"
    edit = Edit(node_span(place.source, place.node), f"{functional}.one_hot({values}, {bins}).sum(0)")
    title = f"Count into `{bins}` bins with `one_hot`, which raises where a value has no bin"
    return finished(title, place.source, (*torch[1], edit), Safety.CHANGES_BEHAVIOUR)


def _values_and_bins(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """What is counted, and the least number of bins, of `torch.bincount(v, minlength=n)` or `v.bincount(minlength=n)`."""
    found = operation(node) if isinstance(node, ast.Call) else None
    if found is None or found[0] != "bincount" or len(found[1]) != 1 or not isinstance(node, ast.Call):
        return None
    bins = [keyword.value for keyword in node.keywords if keyword.arg == "minlength"]
    return (found[1][0], bins[0]) if len(bins) == len(node.keywords) == 1 else None


def _functional(place: Place) -> str:
    """What the file calls `torch.nn.functional`, if it has imported it."""
    return next((name for name in ("F", "functional") if resolved(place, name) == "torch.nn.functional"), "")
