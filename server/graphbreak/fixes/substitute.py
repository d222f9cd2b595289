"""Tell Dynamo in Python what a function written in C does: `torch.compiler.substitute_in_graph` with a form of it that can be traced.

Before:

    import bisect

    @torch.compile
    def f(x, widths):
        return x * bisect.bisect_left(widths, x.shape[0])

After:

    import bisect

    @torch.compiler.substitute_in_graph(bisect.bisect_left)
    def _bisect_left(a, x, lo=0, hi=None, *, key=None):
        ...

    @torch.compile
    def f(x, widths):
        return x * bisect.bisect_left(widths, x.shape[0])

The call stays as it is, and so does what eager code does. Written are only functions of `bisect`, `heapq` and `operator` whose Python form
is known to be exactly the same.

When it is not safe: Dynamo knows it for the whole process, and refuses a second form of one function: where another module registers one
too, or a later torch brings its own, the import fails, and this one has to go. That changes behaviour, which the title says. It is not
offered where a file of the workspace has such a registration already, nor for a function that the module does not import.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from . import regions
from .edits import block_start, definition_above, finished, indent_unit, torch_name
from .imports import resolved
from .model import FixContext
from .names import fresh
from .polyfills import POLYFILLS
from .syntax import Place, dotted

_NEEDED = "torch.compiler.substitute_in_graph"


def substitute(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Register the Python form of the function that the call which broke calls."""
    place = regions.compiled_place(diagnostic, context)
    call = next((node for node in reversed(place.chain) if isinstance(node, ast.Call)), None) if place is not None else None
    target = resolved(place, dotted(call.func)) if place is not None and call is not None else ""
    if place is None or call is None or target not in POLYFILLS or _is_registered(target, context):
        return None
    torch = torch_name(place.source, block_start(place.source, place.top))
    if torch is None:
        return None
    text = _definition(place, dotted(call.func), target, torch[0])
    title = f"Let Dynamo trace `{target}`, in Python (substitute_in_graph, for the whole process)"
    fix = finished(title, place.source, (*torch[1], definition_above(place.source, place.top, text)), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=(_NEEDED,)) if fix is not None else None


def _definition(place: Place, callee: str, target: str, torch: str) -> str:
    """The registration as it is put into the file, in its line ends and indentation, without the last line end."""
    source = place.source
    name = fresh(source, "_" + re.sub(r"(?<!^)(?=[A-Z])", "_", target.rpartition(".")[2]).lower())
    lines = POLYFILLS[target].replace("{name}", name).rstrip("\n").split("\n")
    unit = indent_unit(place.top, source)
    deeper = [unit * ((len(line) - len(line.lstrip(" "))) // 4) + line.lstrip(" ") for line in lines]
    return source.newline.join([f"@{torch}.compiler.substitute_in_graph({callee})", *deeper])


def _is_registered(target: str, context: FixContext) -> bool:
    """Whether a file of the workspace has, as far as its words tell, a form of the function already."""
    name = re.escape(target.rpartition(".")[2])
    return any(re.search(rf"substitute_in_graph\([\w.]*\b{name}\b", source.text) for source in context.sources.values())
