"""What the names of a module stand for: `w.warn` is `warnings.warn` under `import warnings as w`."""

from __future__ import annotations

import ast

from .names import local_names, module_binders
from .syntax import Place


def resolved(place: Place, name: str) -> str:
    """The full dotted name of what a place calls `name`, followed through the module's imports; nothing for local names.

    A name that nothing binds (a builtin, or one from a star import) is itself.
    """
    root, _, rest = name.partition(".")
    if not root or is_local(place, root):
        return ""
    binders = module_binders(place.module, root)
    if not binders:
        return name
    target = imported(binders[0], root) if len(binders) == 1 else ""
    return (f"{target}.{rest}" if rest else target) if target else ""


def imported(binder: ast.stmt, name: str) -> str:
    """The dotted name of what an import binds to a name; nothing for other statements and relative imports."""
    if isinstance(binder, ast.Import):
        for alias in binder.names:
            if (alias.asname or alias.name.split(".")[0]) == name:
                return alias.name if alias.asname else name
    if isinstance(binder, ast.ImportFrom) and binder.module and not binder.level:
        for alias in binder.names:
            if (alias.asname or alias.name) == name:
                return f"{binder.module}.{alias.name}"
    return ""


def is_local(place: Place, name: str) -> bool:
    """Whether a name belongs to one of the functions around a place, or may."""
    return any((local := local_names(place.source, function)) is None or name in local for function in place.functions)
