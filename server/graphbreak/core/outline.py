"""One walk over a syntax tree that collects what marks are made of: scopes, definitions, calls and assignments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .scopes import Assigned, Binding, Definition, Function, Imported, Instance, Place, Scope, ScopeKind


@dataclass(frozen=True)
class Site:
    """Where something stands: its scope, whether it may not run at all, and the 0-based line on which its statement begins."""

    scope: Scope
    conditional: bool = False
    line: int = 0


@dataclass
class Outline:
    """The parts of a file that matter for marks, each in no particular order."""

    module: Scope
    definitions: dict[ast.AST, Definition] = field(default_factory=dict)
    calls: list[tuple[ast.Call, Site]] = field(default_factory=list)
    assignments: list[tuple[ast.expr, Site]] = field(default_factory=list)
    """The first target of each assignment."""
    imports_torch: bool = False


Visits = Iterable[tuple[ast.AST, Site]]

_LEAVES = {ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del}


def outline(tree: ast.Module) -> Outline:
    """The outline of a file. It keeps its own stack, so that deep code is no deep recursion."""
    result = Outline(Scope(ScopeKind.MODULE))
    stack: list[tuple[ast.AST, Site]] = [(tree, Site(result.module))]
    while stack:
        node, site = stack.pop()
        if isinstance(node, ast.stmt):
            site = Site(site.scope, site.conditional, node.lineno - 1)
        reader = _READERS.get(type(node))
        stack.extend(reader(result, node, site) if reader else _inside(node, site))
    return result


def _inside(node: ast.AST, site: Site) -> Iterator[tuple[ast.AST, Site]]:
    for name in node._fields:
        value = getattr(node, name, None)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and type(child) not in _LEAVES:
                yield child, site


def _start(node: ast.stmt | ast.expr | ast.arg) -> Place:
    return node.lineno, node.col_offset


def _end(node: ast.stmt | ast.expr) -> Place:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _function(result: Outline, node: Function, site: Site) -> Visits:
    definition = _define(result, node, node.name, site)
    _bind_arguments(node.args, definition.inner, _first_argument(node, site.scope))
    inside = Site(definition.inner)
    return [*_outside(node.args, node.decorator_list, site), *((statement, inside) for statement in node.body)]


def _lambda(result: Outline, node: ast.Lambda, site: Site) -> Visits:
    definition = _define(result, node, "<lambda>", site)
    _bind_arguments(node.args, definition.inner, None)
    return [*_outside(node.args, [], site), (node.body, Site(definition.inner, line=site.line))]


def _class(result: Outline, node: ast.ClassDef, site: Site) -> Visits:
    definition = _define(result, node, node.name, site)
    definition.inner.owner = definition
    inside = Site(definition.inner)
    outside = [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
    return [*((child, site) for child in outside), *((statement, inside) for statement in node.body)]


def _define(result: Outline, node: Function | ast.ClassDef | ast.Lambda, name: str, site: Site) -> Definition:
    qualified = site.scope.prefix + name
    kind = ScopeKind.CLASS if isinstance(node, ast.ClassDef) else ScopeKind.FUNCTION
    definition = Definition(qualified, node, Scope(kind, qualified + ".", site.scope))
    result.definitions[node] = definition
    if not isinstance(node, ast.Lambda):
        site.scope.bind(name, Binding(_start(node), definition, site.conditional))
    return definition


def _outside(arguments: ast.arguments, decorators: list[ast.expr], site: Site) -> Visits:
    defaults = [*arguments.defaults, *arguments.kw_defaults]
    return [(child, site) for child in [*decorators, *defaults] if child is not None]


def _first_argument(node: Function, scope: Scope) -> Instance | Definition | None:
    """What `self` or `cls` stands for in a method."""
    if scope.owner is None:
        return None
    names = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
    if "staticmethod" in names:
        return None
    return scope.owner if "classmethod" in names else Instance(scope.owner)


def _bind_arguments(arguments: ast.arguments, scope: Scope, first: Instance | Definition | None) -> None:
    positional = [*arguments.posonlyargs, *arguments.args]
    others = [*arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for index, argument in enumerate([*positional, *others]):
        if argument is not None:
            scope.bind(argument.arg, Binding(_start(argument), first if index == 0 and positional else None))


def _comprehension(result: Outline, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, site: Site) -> Visits:
    scope = Scope(ScopeKind.COMPREHENSION, site.scope.prefix, site.scope)
    for generator in node.generators:
        # The names are there for the element too, which stands before them.
        _bind_target(generator.target, None, _start(node), Site(scope))
    return _inside(node, Site(scope, line=site.line))


def _import(result: Outline, node: ast.Import, site: Site) -> Visits:
    for alias in node.names:
        imported = Imported(alias.name if alias.asname else alias.name.partition(".")[0], True)
        site.scope.bind(alias.asname or imported.path, Binding(_end(node), imported, site.conditional))
        result.imports_torch |= imported.package.startswith("torch")
    return ()


def _import_from(result: Outline, node: ast.ImportFrom, site: Site) -> Visits:
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        # Of what `from torch import *` brings, only this name is ours to know.
        name = "compile" if alias.name == "*" and module == "torch" else alias.name
        imported = Imported(f"{module}.{name}", False)
        site.scope.bind(alias.asname or name, Binding(_end(node), imported, site.conditional))
        result.imports_torch |= imported.package.startswith("torch")
    return ()


def _assign(result: Outline, node: ast.Assign, site: Site) -> Visits:
    for target in node.targets:
        _bind_target(target, node.value, _end(node), site)
    result.assignments.append((node.targets[0], site))
    return _inside(node, site)


def _annotated(result: Outline, node: ast.AnnAssign, site: Site) -> Visits:
    if node.value is None:
        return ()
    _bind_target(node.target, node.value, _end(node), site)
    result.assignments.append((node.target, site))
    return [(node.value, site)]


def _walrus(result: Outline, node: ast.NamedExpr, site: Site) -> Visits:
    _bind_target(node.target, node.value, _end(node), site)
    return [(node.value, site)]


def _bind_target(target: ast.expr, value: ast.expr | None, at: Place, site: Site) -> None:
    if isinstance(target, ast.Name):
        assigned = Assigned(value, site.scope) if value else None
        site.scope.bind(target.id, Binding(at, assigned, site.conditional))
    elif isinstance(target, ast.Starred):
        _bind_target(target.value, None, at, site)
    elif isinstance(target, (ast.Tuple, ast.List)):
        values: list[Any] = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(values):
            values = value.elts
        for element, one in zip(target.elts, values):
            _bind_target(element, one, at, site)


def _outer_names(result: Outline, node: ast.Global | ast.Nonlocal, site: Site) -> Visits:
    site.scope.outside.update(node.names)
    return ()


def _loop(result: Outline, node: ast.For | ast.AsyncFor, site: Site) -> Visits:
    _bind_target(node.target, None, _end(node.target), site)
    return _maybe(result, node, site)


def _with_item(result: Outline, node: ast.withitem, site: Site) -> Visits:
    if node.optional_vars:
        _bind_target(node.optional_vars, None, _end(node.optional_vars), site)
    return _inside(node, site)


def _maybe(result: Outline, node: ast.AST, site: Site) -> Visits:
    return _inside(node, Site(site.scope, True, site.line))


def _call(result: Outline, node: ast.Call, site: Site) -> Visits:
    result.calls.append((node, site))
    return _inside(node, site)


_READERS: dict[type[ast.AST], Callable[[Outline, Any, Site], Visits]] = {
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.Lambda: _lambda,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.NamedExpr: _walrus,
    ast.Call: _call,
    ast.Global: _outer_names,
    ast.Nonlocal: _outer_names,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.withitem: _with_item,
    ast.If: _maybe,
    ast.While: _maybe,
    ast.Try: _maybe,
    ast.Match: _maybe,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}
if hasattr(ast, "TryStar"):
    _READERS[ast.TryStar] = _maybe
