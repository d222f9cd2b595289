"""Which names code has: what is local to a function, what the module binds, and new names that collide with nothing."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import symtable
import warnings
from collections.abc import Iterator
from functools import lru_cache

from ..core.source import SourceFile
from .syntax import Function

_BUILTINS = frozenset(dir(builtins))


def local_names(source: SourceFile, function: Function) -> frozenset[str] | None:
    """The names that a function has from its arguments, its own assignments or the functions around it.

    None where two lambdas on one line cannot be told apart.
    """
    name = "lambda" if isinstance(function, ast.Lambda) else function.name
    found = _functions(source).get((name, function.lineno), ())
    return frozenset(s.get_name() for s in found[0].get_symbols() if s.is_local() or s.is_free()) if len(found) == 1 else None


def module_binders(module: ast.Module, name: str) -> list[ast.stmt]:
    """The statements of the module's top level that bind a name (in any depth of `if` and `try`, not in functions)."""
    return [module.body[number] for number in _bindings(module).get(name, ())]


@lru_cache(maxsize=8)
def _bindings(module: ast.Module) -> dict[str, list[int]]:
    """For each name that the top level of a module binds the numbers of the statements that do."""
    found: dict[str, list[int]] = {}
    for number, statement in enumerate(module.body):
        for name in _bound_by(statement):
            found.setdefault(name, []).append(number)
    return found


def is_rebound(source: SourceFile, name: str) -> bool:
    """Whether a function of the file rebinds a name of the module (`global name`)."""
    tables = (table for tables in _functions(source).values() for table in tables)
    return any(s.get_name() == name and s.is_declared_global() and s.is_assigned() for t in tables for s in t.get_symbols())


def is_builtin(name: str) -> bool:
    """Whether Python has the name by itself."""
    return name in _BUILTINS


def fresh(source: SourceFile, wish: str) -> str:
    """The wished name, or that name with a number, such that nothing in the file is called so."""
    used = identifiers(source.text) | _BUILTINS | frozenset(keyword.kwlist)
    return next(name for name in numbered(wish) if name not in used)


def numbered(wish: str) -> Iterator[str]:
    """A name and its alternatives: `_print`, `_print_2`, `_print_3`, ..."""
    yield wish
    number = 2
    while True:
        yield f"{wish}_{number}"
        number += 1


def identifiers(text: str) -> frozenset[str]:
    """All words of a text: more than its names, and never fewer."""
    return frozenset(re.findall(r"\w+", text))


def _bound_by(node: ast.AST) -> set[str]:
    """The names that a statement binds where it stands."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    named = {name for name in (getattr(node, "name", None), getattr(node, "rest", None)) if isinstance(name, str)}
    return named.union(*(_bound_by(child) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.Lambda)))


@lru_cache(maxsize=4)
def _functions(source: SourceFile) -> dict[tuple[str, int], list[symtable.SymbolTable]]:
    """The symbols of all functions by their names and lines (from 1)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = symtable.symtable(source.text, source.path, "exec")
    found: dict[tuple[str, int], list[symtable.SymbolTable]] = {}
    for table in _tables(module):
        if table.get_type() == "function":
            found.setdefault((table.get_name(), table.get_lineno()), []).append(table)
    return found


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _tables(child)
