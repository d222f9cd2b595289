"""Compute once, before anything is compiled, what is the same in every call.

Before:

    def width():
        return 16 if platform.machine() == "arm64" else 32

    class Fields(torch.nn.Module):
        def __init__(self, names):
            super().__init__()
            self.names = list(names)

        def forward(self, x):
            rows = torch.tensor([zlib.crc32(name.encode()) % 64 for name in self.names])
            return x[rows]

After (one fix each):

    _WIDTH = 16 if platform.machine() == "arm64" else 32

    def width():
        return _WIDTH

    class Fields(torch.nn.Module):
        def __init__(self, names):
            super().__init__()
            self.names = list(names)
            self._rows = torch.tensor([...])

        def forward(self, x):
            rows = self._rows
            return x[rows]

What is taken out is the largest expression around the break, or around a call that leads to it, that uses no argument of its function
(but `self`, whose attributes `__init__` sets and nothing changes later).

When it is not safe: something is computed at another time, once in place of each call. Where everything in it is known to give the same
every time the fix is safe, else it says that it changes behaviour. Clocks, random numbers, files and whatever is changed later are not
hoisted.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .branches import is_written_to
from .constants import Constancy, constancy_of
from .edits import definition_above, finished, indentation, line_after, shortened
from .model import FixContext
from .names import fresh, is_rebound, module_binders
from .regions import compiled_place
from .syntax import Place, dotted, last_line, locate


@dataclass(frozen=True)
class _Hoistable:
    place: Place
    expression: ast.expr
    constancy: Constancy


def hoisted_value(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Hoist the largest constant expression on the way to the break, the innermost place first."""
    if compiled_place(diagnostic, context) is None:
        return None
    for place in _places(diagnostic, context):
        found = _largest(place)
        fix = (_into_init(found) if found.constancy.of_object else _into_module(found)) if found is not None else None
        if fix is not None:
            return fix
    return None


def _places(diagnostic: Diagnostic, context: FixContext) -> list[Place]:
    spans = [(frame.path, frame.span) for frame in diagnostic.stack if not frame.library and frame.span is not None]
    found = []
    for path, span in [(diagnostic.path, diagnostic.span), *reversed(spans)]:
        source = context.sources.get(path)
        place = locate(source, span) if source is not None else None
        if place is not None and place not in found:
            found.append(place)
    return found


def _largest(place: Place) -> _Hoistable | None:
    """The outermost expression around a place that is the same in every call."""
    if place.function is None or place.in_block:
        return None
    for node in place.inside:
        if isinstance(node, ast.expr) and not isinstance(node, ast.Starred) and not isinstance(getattr(node, "ctx", None), ast.Store):
            constancy = constancy_of(place, node)
            if constancy is not None and any(isinstance(part, ast.Call) for part in ast.walk(node)):
                return None if _is_changed(place, node) else _Hoistable(place, node, constancy)
    return None


def _is_changed(place: Place, node: ast.expr) -> bool:
    """Whether what an expression gives is changed later, or is what a statement is for (and not its value)."""
    statement = place.statement
    if isinstance(statement, ast.Expr) and statement.value is node:
        return True
    names = [target.id for target in getattr(statement, "targets", []) if isinstance(target, ast.Name)]
    if not isinstance(statement, ast.Assign) or statement.value is not node or place.function is None:
        return False
    return len(names) != len(statement.targets) or any(is_written_to(place.function, name, statement) for name in names)


def _into_module(found: _Hoistable) -> Fix | None:
    """A constant of the module, above the statement that the expression stands in."""
    place, source = found.place, found.place.source
    text = source.slice(node_span(source, found.expression))
    for node in ast.walk(found.expression):
        if isinstance(node, ast.Name):
            binders = module_binders(place.module, node.id)
            if is_rebound(source, node.id) or any(last_line(binder) >= place.top.lineno - 1 for binder in binders):
                return None
    name = fresh(source, "_" + (_wish(found) or "constant").upper())
    edits = (definition_above(source, place.top, f"{name} = {text}"), Edit(node_span(source, found.expression), name))
    title = f"Compute `{shortened(text)}` once, when the module is imported"
    return finished(title, source, edits, Safety.SAFE if found.constancy.certain else Safety.CHANGES_BEHAVIOUR)


def _into_init(found: _Hoistable) -> Fix | None:
    """An attribute that `__init__` sets last (a tensor too: a buffer would move and be cast with the module, as the original is not)."""
    place, source = found.place, found.place.source
    owner = next((node for node in reversed(place.chain) if isinstance(node, ast.ClassDef)), None)
    init = next((node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None) if owner else None
    me = found.constancy.of_object
    if owner is None or init is None or not init.args.args or init.args.args[0].arg != me or _leaves_early(init):
        return None
    text, name = source.slice(node_span(source, found.expression)), fresh(source, "_" + (_wish(found) or "constant").lower())
    own, last = indentation(source.line(init.body[-1].lineno - 1)), init.body[-1]
    edits = (line_after(source, last, f"{own}{me}.{name} = {text}"), Edit(node_span(source, found.expression), f"{me}.{name}"))
    title = f"Compute `{shortened(text)}` once, in `__init__`"
    return finished(title, source, edits, Safety.SAFE if found.constancy.certain else Safety.CHANGES_BEHAVIOUR)


def _wish(found: _Hoistable) -> str:
    """A name: the one that the value is assigned to, else that of the function it stands in or of what is called."""
    statement = found.place.statement
    if isinstance(statement, ast.Assign) and statement.value is found.expression and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id.strip("_")
    function = found.place.function
    if isinstance(statement, ast.Return) and statement.value is found.expression and isinstance(function, ast.FunctionDef):
        return function.name.strip("_")
    call = next((node for node in ast.walk(found.expression) if isinstance(node, ast.Call)), None)
    return dotted(call.func).rpartition(".")[2].strip("_") if call is not None else ""


def _leaves_early(init: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(init)) or isinstance(init.body[-1], (ast.Raise, ast.Pass))
