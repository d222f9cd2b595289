"""Assert a tensor in place of a truth value or a number of Python, which Dynamo puts into the graph as a check.

Before:

    assert not torch.isnan(x).any(), "not a number"
    assert lengths.max().item() <= size

After:

    assert ~torch.isnan(x).any(), "not a number"
    assert lengths.max() <= size

When it is not safe: in compiled code a check in a graph that fails raises a `RuntimeError`, no `AssertionError`, on a GPU later than it
did, and a comparison with a number that is not exact in the tensor's type may round; that changes behaviour, which the title says. (Dynamo
takes no form into a graph that would keep the type.) It is not offered where a part of the test is no tensor.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import known_facts
from .conditions import Asked, condition_of, positive
from .edits import finished, shortened, torch_name
from .model import FixContext
from .regions import compiled_place
from .syntax import first_line


def assert_tensor(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace the test of an `assert` by the tensor that it asks."""
    place = compiled_place(diagnostic, context)
    if place is None or place.function is None or not isinstance(place.statement, ast.Assert) or place.statement.test not in place.chain:
        return None
    torch, test, source = torch_name(place.source, first_line(place.top)), place.statement.test, place.source
    if torch is None:
        return None
    facts = known_facts(place.function, diagnostic.path, place.node, context)
    condition = condition_of(Asked(place, torch[0], facts), test)
    text = positive(condition) if condition is not None else ""
    span = node_span(source, test)
    if condition is None or text == source.slice(span) or "\n" in text:
        return None
    title = f"Assert the tensor `{shortened(text, 30)}` (in the graph, which raises RuntimeError, not AssertionError)"
    return finished(title, source, (*torch[1], Edit(span, text)), Safety.CHANGES_BEHAVIOUR)
