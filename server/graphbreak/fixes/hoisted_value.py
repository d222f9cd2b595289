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
(but `self`, whose attributes `__init__` sets and nothing changes later). An `if` around it, or one before it that returns, goes with it:

    self._rows = torch.tensor([...]) if self.names is not None else None

A tensor or a list that is returned, kept or handed on, and may be changed there, is copied where it is used (`self._rows.clone()`).

When it is not safe: something is computed at another time, once in place of each call. Where everything in it is known to give the same
every time the fix is safe, else it says that it changes behaviour: also where calls would share a value that cannot be copied, and for
tensors where the workspace sets default devices or types, or builds modules under such. Clocks, random numbers, files and whatever is
changed later are not hoisted, nor what is only reached in a loop, or by tests of what differs from call to call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.nodes import tree_of
from ..core.places import node_span
from ..core.source import Edit
from .branches import is_written_to
from .constants import Constancy, attributes_of, constancy_of
from .edits import definition_above, finished, indentation, line_after, shortened
from .effects import changes_in_place
from .model import FixContext
from .names import fresh, is_rebound, module_binders
from .reached import Guard, guards_of
from .regions import compiled_place
from .shared import copied, is_frozen, is_only_read
from .syntax import Place, dotted, last_line, locate

_OF_TENSORS = frozenset({"GB0033", "GB0109", "GB0124", "GB0170"})
"""The codes of breaks that only the values of tensors lead to."""
_SETS_DEFAULTS = re.compile(r"\bset_default_|\bfrom_pretrained\b|\binit_empty_weights\b|\bwith torch\.device\b|\binference_mode\b")
_SWAPPED = {ast.Is: "is not", ast.IsNot: "is", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in"}


@dataclass(frozen=True)
class _Hoistable:
    """`guards` has the tests by which the expression is reached, `copy` what is called on the value where it is used."""

    place: Place
    expression: ast.expr
    constancy: Constancy
    guards: tuple[Guard, ...] = ()
    copy: str = ""

    @property
    def parts(self) -> list[ast.expr]:
        """All that is computed at another time."""
        return [self.expression, *(test for test, _ in self.guards)]

    @property
    def safety(self) -> Safety:
        """How sure it is that the program does the same."""
        return Safety.SAFE if self.constancy.certain else Safety.CHANGES_BEHAVIOUR


def hoisted_value(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Hoist the largest constant expression on the way to the break, the innermost place first."""
    if compiled_place(diagnostic, context) is None:
        return None
    places = _places(diagnostic, context)
    for index, place in enumerate(places):
        found = _largest(place)
        if found is None or any(guards_of(caller, caller.node) != [] for caller in places[index + 1 :] if caller.functions):
            continue
        found = _judged(found, diagnostic, context)
        fix = _into_init(found) if found.constancy.of_object else _into_module(found)
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
    """The outermost expression around a place that is the same in every call, with the tests around it, if these are too."""
    if place.function is None or place.in_block:
        return None
    for node in place.inside:
        if isinstance(node, ast.expr) and not isinstance(node, ast.Starred) and not isinstance(getattr(node, "ctx", None), ast.Store):
            constancy = constancy_of(place, node)
            if constancy is not None and any(isinstance(part, ast.Call) for part in ast.walk(node)):
                guards = guards_of(place, node)
                known = [constancy_of(place, test) for test, _ in guards or ()]
                if guards is None or None in known or _is_changed(place, node):
                    return None
                known = [constancy, *known]
                of_object = next((one.of_object for one in known if one is not None and one.of_object), "")
                return _Hoistable(place, node, Constancy(of_object, all(one is not None and one.certain for one in known)), tuple(guards))
    return None


def _is_changed(place: Place, node: ast.expr) -> bool:
    """Whether what an expression gives is changed later and cannot be copied, or is what a statement is for (and not its value)."""
    statement = place.statement
    if isinstance(statement, ast.Expr) and statement.value is node:
        return True
    names = [target.id for target in getattr(statement, "targets", []) if isinstance(target, ast.Name)]
    if not isinstance(statement, ast.Assign) or statement.value is not node or place.function is None:
        return False
    written = any(is_written_to(place.function, name, statement) for name in names)
    return len(names) != len(statement.targets) or (written and not copied(place, node) and not is_frozen(place, node))


def _judged(found: _Hoistable, diagnostic: Diagnostic, context: FixContext) -> _Hoistable:
    """With a copy where the value may be changed by who uses it; not certain where calls share it, or where something else may differ."""
    place, node, certain = found.place, found.expression, found.constancy.certain
    attributes = {name for part in found.parts for name in attributes_of(place, part)}
    if any(_changes_attribute(name, context) for name in attributes) or (attributes and diagnostic.code in _OF_TENSORS):
        certain = False
    copy = ""
    if not is_frozen(place, node):
        copy = "" if is_only_read(place, node) else copied(place, node)
        certain = certain and bool(copy or is_only_read(place, node))
        certain = certain and not any(_SETS_DEFAULTS.search(source.text) for source in context.sources.values())
    return replace(found, constancy=Constancy(found.constancy.of_object, certain), copy=copy)


def _changes_attribute(name: str, context: FixContext) -> bool:
    """Whether a file of the workspace changes what an attribute of that name holds, or sets it from outside of its class."""
    trees = [tree for source in context.sources.values() if name in source.text and (tree := tree_of(source)) is not None]
    for node in (node for tree in trees for node in _after_init(tree)):
        outside = isinstance(node, ast.Attribute) and dotted(node.value) not in ("self", "cls") and not isinstance(node.ctx, ast.Load)
        if changes_in_place(node, name) or (outside and getattr(node, "attr", "") == name):
            return True
    return False


def _after_init(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes under one but those of `__init__` methods, which come first."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef) or child.name != "__init__":
            yield child
            yield from _after_init(child)


def _text(found: _Hoistable) -> str:
    """What is computed, under its tests."""
    source = found.place.source
    text = source.slice(node_span(source, found.expression))
    if not found.guards:
        return text
    tests = " and ".join(_test(found, test, answer) for test, answer in found.guards)
    return f"{f'({text})' if isinstance(found.expression, (ast.IfExp, ast.Tuple)) else text} if {tests} else None"


def _test(found: _Hoistable, test: ast.expr, answer: bool) -> str:
    source = found.place.source
    text = source.slice(node_span(source, test))
    simple = isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.Compare, ast.Constant))
    if answer:
        return text if simple else f"({text})"
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _SWAPPED:
        left, right = (source.slice(node_span(source, part)) for part in (test.left, test.comparators[0]))
        return f"{left} {_SWAPPED[type(test.ops[0])]} {right}"
    return f"not {text}" if simple else f"not ({text})"


def _into_module(found: _Hoistable) -> Fix | None:
    """A constant of the module, above the statement that the expression stands in."""
    place, source = found.place, found.place.source
    shown = source.slice(node_span(source, found.expression))
    for node in (node for part in found.parts for node in ast.walk(part)):
        if isinstance(node, ast.Name):
            binders = module_binders(place.module, node.id)
            if is_rebound(source, node.id) or any(last_line(binder) >= place.top.lineno - 1 for binder in binders):
                return None
    name = fresh(source, "_" + (_wish(found) or "constant").upper())
    used = f"{name}.{found.copy}()" if found.copy else name
    edits = (definition_above(source, place.top, f"{name} = {_text(found)}"), Edit(node_span(source, found.expression), used))
    return finished(f"Compute `{shortened(shown)}` once, when the module is imported", source, edits, found.safety)


def _into_init(found: _Hoistable) -> Fix | None:
    """An attribute that `__init__` sets last (a tensor too: a buffer would move and be cast with the module, as the original is not)."""
    place, source = found.place, found.place.source
    owner = next((node for node in reversed(place.chain) if isinstance(node, ast.ClassDef)), None)
    init = next((node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None) if owner else None
    me = found.constancy.of_object
    if owner is None or init is None or not init.args.args or init.args.args[0].arg != me or _leaves_early(init):
        return None
    shown, name = source.slice(node_span(source, found.expression)), fresh(source, "_" + (_wish(found) or "constant").lower())
    own, last = indentation(source.line(init.body[-1].lineno - 1)), init.body[-1]
    used = f"{me}.{name}.{found.copy}()" if found.copy else f"{me}.{name}"
    edits = (line_after(source, last, f"{own}{me}.{name} = {_text(found)}"), Edit(node_span(source, found.expression), used))
    return finished(f"Compute `{shortened(shown)}` once, in `__init__`", source, edits, found.safety)


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
