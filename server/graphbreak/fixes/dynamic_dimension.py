"""Say before the call which dimension varies: `torch._dynamo.mark_dynamic(x, 0)`.

Before:

    for x in batches:
        step(x)

After:

    for x in batches:
        torch._dynamo.mark_dynamic(x, 0)
        step(x)

When it is not safe: the code that is compiled is another one, for all sizes of that dimension; that changes behaviour, though not what is
computed. It is not offered where a call cannot be seen, or is given something else than a name.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.nodes import tree_of
from ..core.places import node_span
from ..core.source import Edit, SourceFile
from .edits import finished, torch_name
from .extraction import Unmovable
from .model import FixContext
from .statements import lines_before
from .syntax import Place, dotted, locate

_SIZE = re.compile(r"guard `tensor '(?:L\[')?(\w+)(?:'\])?' size mismatch at index (\d+)\.")


def dynamic_dimension(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Mark the dimension in front of every call of the function that was compiled again."""
    match = _SIZE.search(diagnostic.message)
    source = context.sources.get(diagnostic.path)
    if match is None or source is None or len(diagnostic.functions) != 1:
        return None
    parameter, dimension = match[1], match[2]
    function = _function(source, diagnostic)
    torch = torch_name(source, 0) or torch_name(source, len(source.lines))
    if function is None or torch is None or torch[1]:
        return None
    names = [argument.arg for argument in function.args.args]
    line = f"{torch[0]}._dynamo.mark_dynamic({{}}, {dimension})"
    try:
        edits = [_edit(place, call, names, parameter, line) for place, call in _calls(source, function.name)] if parameter in names else []
    except Unmovable:
        return None
    if not edits:
        return None
    title = f"Say that dimension {dimension} of `{parameter}` varies (`mark_dynamic`)"
    fix = finished(title, source, tuple(dict.fromkeys(edits)), Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch._dynamo.mark_dynamic",)) if fix is not None else None


def _function(source: SourceFile, diagnostic: Diagnostic) -> ast.FunctionDef | None:
    """The function of the module whose name the diagnostic stands on."""
    tree = tree_of(source)
    line = diagnostic.span.start.line + 1
    found = [node for node in (tree.body if tree is not None else ()) if isinstance(node, ast.FunctionDef) and node.lineno == line]
    return found[0] if found else None


def _calls(source: SourceFile, name: str) -> list[tuple[Place, ast.Call]]:
    tree = tree_of(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and dotted(node.func) == name] if tree is not None else []
    places = [(locate(source, node_span(source, call)), call) for call in calls]
    return [(place, call) for place, call in places if place is not None]


def _edit(place: Place, call: ast.Call, names: list[str], parameter: str, line: str) -> Edit:
    """The line before one call. Raises `Unmovable` where it is given no name, or stands where no line can be put."""
    index = names.index(parameter)
    value = call.args[index] if index < len(call.args) else next((k.value for k in call.keywords if k.arg == parameter), None)
    if not isinstance(value, ast.Name) or hasattr(place.statement, "body"):
        raise Unmovable
    return lines_before(place, place.statement, (line.format(value.id),))
