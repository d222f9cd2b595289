"""Call a method outside the graph that the class has from elsewhere: bind its disabled form in the class.

Before:

    class Net(Base):
        def forward(self, x):
            y = self.layer(x)
            self.report("mean", y.shape)        # Base is a library's
            return y + 1

    class Other:
        score = staticmethod(lib.score)

After (one fix each):

    class Net(Base):
        _report = torch.compiler.disable(Base.report, reason="Dynamo cannot trace self.report")

        def forward(self, x):
            y = self.layer(x)
            self._report("mean", y.shape)
            return y + 1

    class Other:
        score = staticmethod(torch.compiler.disable(lib.score, reason="Dynamo cannot trace self.score"))

A function that the class binds itself is disabled where it is bound, for all that call it.

When it is not safe, and so not offered: the method's operations may be in a graph; the call is in a loop; the class has several bases,
or one that is written in the workspace (there the method itself is decorated); any class of the workspace overrides the method, or code
sets it on objects.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix
from ..core.nodes import tree_of
from ..core.places import node_span
from ..core.source import Edit, Span
from . import regions
from .call_site import can_be_call
from .edits import block_start, finished, indentation, insertion, torch_name
from .imports import imported
from .model import FixContext
from .names import fresh, module_binders
from .reasons import disabled
from .syntax import DEFINITIONS, Place, dotted, first_line, last_line


def class_disabled(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Disable what the call that broke finds in its class, there."""
    place = regions.broken_place(diagnostic, context)
    if place is None or not isinstance(place.node, ast.Call) or not can_be_call(place, diagnostic, context):
        return None
    owner, name = _owner(place), _method(place, place.node)
    torch = torch_name(place.source, block_start(place.source, place.top))
    if owner is None or not name or torch is None or regions.callee_may_capture(diagnostic, context):
        return None
    if _definitions(name, context) - {id(owner)}:
        return None
    return _bound_here(place, owner, name, torch, diagnostic) or _bound_above(place, owner, name, torch, diagnostic)


def _bound_here(place: Place, owner: ast.ClassDef, name: str, torch: tuple[str, tuple[Edit, ...]], diagnostic: Diagnostic) -> Fix | None:
    """Wrap the value that the class itself gives the name."""
    values = [s.value for s in owner.body if isinstance(s, ast.Assign) and any(dotted(target) == name for target in s.targets)]
    if len(values) != 1:
        return None
    value = values[0]
    free = isinstance(value, ast.Call) and dotted(value.func) == "staticmethod" and len(value.args) == 1 and not value.keywords
    value = value.args[0] if free and isinstance(value, ast.Call) else value
    root = dotted(value).partition(".")[0]
    binders = module_binders(place.module, root) if root else []
    if len(binders) != 1 or not isinstance(binders[0], (ast.Import, ast.ImportFrom)):
        return None
    span = node_span(place.source, value)
    text = disabled(torch[0], diagnostic, place.node, place.source.slice(span))
    return finished(_title(name, owner, torch[0]), place.source, (*torch[1], Edit(span, text)))


def _bound_above(place: Place, owner: ast.ClassDef, name: str, torch: tuple[str, tuple[Edit, ...]], diagnostic: Diagnostic) -> Fix | None:
    """A class attribute in front of the first method, and the call of it."""
    source, base = place.source, _foreign_base(place, owner)
    first = next((statement for statement in owner.body if isinstance(statement, DEFINITIONS)), None)
    if not base or first is None or first_line(first) == first_line(owner) or name in _members(owner):
        return None
    assert isinstance(place.node, ast.Call)
    assert isinstance(place.node.func, ast.Attribute)
    bound = fresh(source, "_" + name.strip("_"))
    line = first_line(first)
    while line > _line_before(owner, first) + 1 and source.line(line - 1).strip().startswith("#"):
        line -= 1
    text = f"{indentation(source.line(first_line(first)))}{bound} = {disabled(torch[0], diagnostic, place.node, f'{base}.{name}')}"
    end = node_span(source, place.node.func).end
    start = source.position(source.offset(end) - len(name))
    edits = (*torch[1], insertion(line, text + source.newline * 2), Edit(Span(start, end), bound))
    return finished(_title(name, owner, torch[0]), source, edits)


def _line_before(owner: ast.ClassDef, statement: ast.stmt) -> int:
    """The 0-based last line of what stands before a statement of a class."""
    index = owner.body.index(statement)
    return last_line(owner.body[index - 1]) if index else owner.lineno - 1


def _owner(place: Place) -> ast.ClassDef | None:
    """The class whose method holds the place, itself of the module."""
    return place.top if isinstance(place.top, ast.ClassDef) and len(place.functions) == 1 and place.chain[2] is place.functions[0] else None


def _method(place: Place, call: ast.Call) -> str:
    """The name of the method that a call of the object's own calls."""
    function = place.functions[0]
    arguments = [*function.args.posonlyargs, *function.args.args]
    head, _, name = dotted(call.func).rpartition(".")
    plain = name.isidentifier() and not name.startswith("__")
    return name if arguments and head == arguments[0].arg and plain else ""


def _foreign_base(place: Place, owner: ast.ClassDef) -> str:
    """The only base of a class, where that is imported from outside of the file."""
    base = dotted(owner.bases[0]) if len(owner.bases) == 1 and not owner.keywords else ""
    root = base.partition(".")[0]
    binders = module_binders(place.module, root) if root else []
    return base if len(binders) == 1 and imported(binders[0], root) else ""


def _members(owner: ast.ClassDef) -> set[str]:
    """The names that a class has or sets by itself."""
    own = {node.name for node in owner.body if isinstance(node, DEFINITIONS)}
    return own | {node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}


def _definitions(name: str, context: FixContext) -> set[int]:
    """The classes of the workspace, as objects of their trees, that have a method or attribute of a name."""
    trees = [tree_of(source) for source in context.sources.values()]
    classes = [node for tree in trees if tree is not None for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {id(node) for node in classes if name in _members(node) | _assigned(node)}


def _assigned(owner: ast.ClassDef) -> set[str]:
    return {dotted(target) for s in owner.body if isinstance(s, ast.Assign) for target in s.targets}


def _title(name: str, owner: ast.ClassDef, torch: str) -> str:
    return f"Call `{name}` of `{owner.name}` outside the graph (bound with {torch}.compiler.disable)"
