"""Hold a clean function to one graph: `fullgraph=True` at its mark.

Before:

    @torch.compile
    def f(x):
        return x * 2

After:

    @torch.compile(fullgraph=True)
    def f(x):
        return x * 2

From then on a graph break is an error where it was a slow path, so that none comes in unseen.

When it is not safe: other inputs than those that were traced may lead to a break, which then raises. It is offered only where the
function was traced, compiled, and has no break, not even an intended one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.findings import Diagnostic, Fix, FunctionResult, Kind, Outcome, Safety
from ..core.source import SourceFile, Span
from ..fixes.edits import finished
from ..fixes.mark_options import with_option

_BREAKS = frozenset({Kind.BREAK, Kind.SKIPPED, Kind.INTENDED, Kind.RAISED})


def fullgraph(source: SourceFile, mark: Span, functions: Sequence[FunctionResult], diagnostics: Sequence[Diagnostic]) -> Fix | None:
    """Set the option at a mark. `functions` are all that it compiles, `diagnostics` all that the traces said, the ignored included."""
    names = {function.name for function in functions}
    if not functions or not all(_is_clean(function) for function in functions):
        return None
    if any(diagnostic.kind in _BREAKS and names.intersection(diagnostic.functions) for diagnostic in diagnostics):
        return None
    edit = with_option(source, mark, "fullgraph", "True")
    return finished("Allow no graph break here (`fullgraph=True`)", source, (edit,), Safety.CHANGES_BEHAVIOUR) if edit is not None else None


def _is_clean(function: FunctionResult) -> bool:
    traced = function.outcome is Outcome.TRACED and function.graphs > 0 and not function.fullgraph
    return traced and not function.breaks and not function.skipped and not any(graph.ended_by for graph in function.graph_list)
