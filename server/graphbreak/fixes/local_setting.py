"""Let more into the graphs of one compiled function: an option of `torch._dynamo.config` that holds only while it is called.

Before:

    @torch.compile
    def f(x):
        return x / x.abs().sum().item()

    net = torch.compile(Net())
    net(torch.randn(4))

After:

    @torch._dynamo.config.patch(capture_scalar_outputs=True)
    @torch.compile
    def f(x):
        return x / x.abs().sum().item()

    net = torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)(torch.compile(Net()))
    net(torch.randn(4))

Where a compiled module is used for more than calls (`net.parameters()`), the calls are put into a `with` of the same words. The option
is set in the thread of the call, until it returns, so all else compiles as before. (In code that is being compiled a `with` of it comes too
late: how a graph treats numbers and sizes is settled where it begins.)

When it is not safe: an `assert` of the number becomes a check in the graph, which raises a `RuntimeError`; that changes behaviour, which
the title says. Operators take for granted that a size that depends on data is not 1 where it meets another size, and have the graph
raise where it is; so it is refused where the graph asks for such an equality. It is not offered for marks that are used in ways that cannot
be followed, for `fullgraph=True`, which lets all of this into the graph by itself, and where torch's settings are not those of a thread.
What is done with the number or the size may ask for more than a symbol says, and then only moves the break: hence it is tried with a
compiler behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from ..core.findings import Diagnostic, Fix, Kind, Safety
from ..core.nodes import tree_of
from ..core.places import node_span
from ..core.source import Edit, SourceFile, Span
from .edits import finished, indentation, insertion, torch_name
from .extraction import Unmovable
from .imports import resolved
from .mark_options import mark_node
from .model import FixContext
from .statements import under_header
from .syntax import COMPREHENSIONS, DEFINITIONS, Place, dotted, first_line, locate, own_nodes

_NUMBERS = ("capture_scalar_outputs", "Let numbers read from tensors into the graphs")
_SIZES = ("capture_dynamic_output_shape_ops", "Let results of unknown size into the graphs")
OPTIONS = {
    "GB0014": ("allow_rnn", "Let recurrent layers into the graphs"),
    "GB0033": _NUMBERS,
    "GB0036": _SIZES,
    "GB0075": ("enable_trace_load_build_class", "Let class definitions be traced in the graphs"),
    "GB0124": _NUMBERS,
    "GB0123": ("trace_autograd_ops", "Let gradients be taken in the graphs"),
    "GB0263": ("enable_trace_contextlib", "Let contextlib be traced in the graphs"),
    "GB9186": ("trace_autograd_ops", "Let gradients be taken in the graphs"),
}
"""For each code: the option that lets what broke into the graph, and what it does in a title's words."""
_PATCH = "_dynamo.config.patch"
OF_A_THREAD = "torch.utils._config_module.ContextVar"
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)


def local_setting(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option while the marked functions that a break reaches are called."""
    marks = {context.marks[name] for name in diagnostic.functions if name in context.marks}
    if diagnostic.code not in OPTIONS or diagnostic.kind not in (Kind.BREAK, Kind.SKIPPED) or len(marks) != 1:
        return None
    option, words = OPTIONS[diagnostic.code]
    path, span = marks.pop()
    source = context.sources.get(path)
    torch = torch_name(source, span.start.line) if source is not None else None
    if source is None or torch is None:
        return None
    try:
        edits = set_at(source, span, torch[0], f"{option}=True", context)
    except Unmovable:
        return None
    title, safety = f"{words} of `{diagnostic.functions[0]}` ({option})", Safety.SAFE
    if is_asserted(diagnostic, context):
        title, safety = f"{title}, where `assert` raises RuntimeError", Safety.CHANGES_BEHAVIOUR
    fix = finished(title, source, (*torch[1], *edits), safety)
    return replace(fix, needs=(f"torch._dynamo.config.{option}", OF_A_THREAD), admits=True) if fix is not None else None


def is_asserted(diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether what broke, or the name that it is assigned to, is a part of what an `assert` of its function asks."""
    source = context.sources.get(diagnostic.path)
    place = locate(source, diagnostic.span) if source is not None else None
    if place is None or place.function is None:
        return False
    asserts = [node for node in own_nodes(place.function) if isinstance(node, ast.Assert)]
    targets = [*getattr(place.statement, "targets", []), getattr(place.statement, "target", None)]
    names = {part.id for target in targets if target is not None for part in ast.walk(target) if isinstance(part, ast.Name)}
    asked = [part for node in asserts for part in ast.walk(node.test)]
    return any(part is place.node or (isinstance(part, ast.Name) and part.id in names) for part in asked)


def set_at(source: SourceFile, span: Span, torch: str, setting: str, context: FixContext) -> tuple[Edit, ...]:
    """The edits that set an option for a mark. Raises `Unmovable` where none can."""
    place, mark = locate(source, span), mark_node(source, span)
    if place is None or mark is None or _is_whole(mark):
        raise Unmovable
    patch = f"{torch}.{_PATCH}({setting})"
    outer = place.chain[-2]
    decorators = getattr(outer, "decorator_list", [])
    if mark in decorators and not isinstance(outer, ast.FunctionDef):
        raise Unmovable  # a class would become a function, and a coroutine runs later
    if mark in decorators:
        before = decorators[: decorators.index(mark)]
        if before and _is_patch(before[-1]):
            return (_extended(source, before[-1], setting),)
        line = span.start.line
        return (insertion(line, f"{indentation(source.line(line))}@{patch}{source.newline}"),)
    if not isinstance(mark, ast.Call):
        raise Unmovable
    if isinstance(outer, ast.Call) and _is_patch(outer.func):
        return (_extended(source, outer.func, setting),)
    compiled = resolved(place, dotted(mark.func)) == "torch.compile"
    if compiled and isinstance(outer, ast.Call) and outer.func is mark:
        return (Edit(span, f"{patch}({source.slice(span)})"),)
    uses = list(_uses(place, _bound_name(outer) if compiled else _compiled_name(mark), context))
    calls = [chain for chain in uses if isinstance(chain[-2], ast.Call)]
    if compiled and len(calls) == len(uses):
        return (Edit(span, f"{patch}({source.slice(span)})"),)
    if not calls:
        raise Unmovable
    return tuple(dict.fromkeys(edit for chain in calls for edit in _call_under(Place(source, chain), patch, setting)))


def _bound_name(statement: ast.AST) -> str:
    """The name that `net = torch.compile(...)` binds. Raises `Unmovable` for anything else."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        raise Unmovable
    return targets[0].id


def _compiled_name(mark: ast.Call) -> str:
    """The name of what `net.compile()` compiles in place. Raises `Unmovable` for anything else."""
    owner = mark.func.value if isinstance(mark.func, ast.Attribute) and mark.func.attr == "compile" else None
    if not isinstance(owner, ast.Name):
        raise Unmovable
    return owner.id


def _is_whole(mark: ast.expr) -> bool:
    """Whether a mark has `fullgraph`, or may have it."""
    return isinstance(mark, ast.Call) and any(keyword.arg in ("fullgraph", None) for keyword in mark.keywords)


def _is_patch(node: ast.AST) -> bool:
    """Whether an expression is a call that sets options by keywords."""
    return isinstance(node, ast.Call) and dotted(node.func).endswith(_PATCH) and bool(node.keywords) and not node.args


def _extended(source: SourceFile, patch: ast.AST, setting: str) -> Edit:
    """One more option for such a call. Raises `Unmovable` where it has that one."""
    keywords = getattr(patch, "keywords", [])
    if any(keyword.arg in (None, setting.partition("=")[0]) for keyword in keywords):
        raise Unmovable
    end = node_span(source, keywords[-1].value).end
    return Edit(Span(end, end), f", {setting}")


def _uses(place: Place, name: str, context: FixContext) -> Iterator[tuple[ast.AST, ...]]:
    """Where a compiled callable is called, or asked for an attribute, as chains of nodes. Raises `Unmovable` where it goes elsewhere,
    and where its name is bound more than once."""
    scope: ast.AST = place.function or place.module
    if isinstance(place.inside[0], ast.ClassDef) or (scope is place.module and _is_known_elsewhere(place, name, context)):
        raise Unmovable
    bound = 0
    for chain in _chains(place.chain[: place.chain.index(scope) + 1], name):
        node, outer = chain[-1], chain[-2]
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not bound and isinstance(outer, ast.Assign):
            bound += 1
            continue
        called = isinstance(outer, ast.Call) and outer.func is node
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or not (called or isinstance(outer, ast.Attribute)):
            raise Unmovable
        yield chain


def _chains(chain: tuple[ast.AST, ...], name: str) -> Iterator[tuple[ast.AST, ...]]:
    """Each place under the last node of a chain that reads, writes, declares or defines a name."""
    for child in ast.iter_child_nodes(chain[-1]):
        below = (*chain, child)
        names = (getattr(child, "id", ""), getattr(child, "arg", ""), getattr(child, "name", ""), *getattr(child, "names", ()))
        names = (*names, getattr(child, "asname", ""))
        if name in names and not isinstance(child, ast.keyword):
            yield below
        if not isinstance(child, (*DEFINITIONS, ast.Lambda)) or not _has_its_own(child, name):
            yield from _chains(below, name)


def _has_its_own(definition: ast.AST, name: str) -> bool:
    """Whether a function or class calls something of its own so."""
    inside = [node for node in own_nodes(definition) if not isinstance(node, ast.keyword)]
    declared = any(name in getattr(node, "names", ()) for node in inside)
    stored = (node for node in inside if not isinstance(getattr(node, "ctx", None), ast.Load))
    return not declared and any(name in (getattr(node, "arg", ""), getattr(node, "id", "")) for node in stored)


def _is_known_elsewhere(place: Place, name: str, context: FixContext) -> bool:
    """Whether another file of the workspace may use what the module calls so: it imports the module, and has the name or takes all."""
    own = PurePath(place.source.path).stem
    for path, source in context.sources.items():
        nodes = list(ast.walk(tree_of(source) or ast.Module([], []))) if path != place.source.path else []
        modules = [getattr(node, "module", "") or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        names = {getattr(node, "attr", "") or getattr(node, "name", "") for node in nodes}
        if {name, "*"} & names and any(module.rpartition(".")[2] == own for module in (*modules, *names)):
            return True
    return False


def _call_under(place: Place, patch: str, setting: str) -> tuple[Edit, ...]:
    """The edits that put the statement of a call under a `with`. Raises `Unmovable` where the call may come later than its statement."""
    scopes = [node for node in place.inside if isinstance(node, ast.With)]
    patches = [item.context_expr for node in scopes for item in node.items if _is_patch(item.context_expr)]
    if patches:
        return (_extended(place.source, patches[-1], setting),)
    statement = place.statement
    later = (*(kind for kind in COMPREHENSIONS if kind is ast.GeneratorExp), ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, *DEFINITIONS)
    if not isinstance(statement, _SIMPLE) or any(isinstance(node, later) for node in ast.walk(statement)):
        raise Unmovable
    first = first_line(statement)
    if place.source.line(first).lstrip()[:1] == "@":
        raise Unmovable
    return under_header(place, statement, f"with {patch}:")
