"""The user's file as a module: which name it has, what its import path is, and how its text is run."""

from __future__ import annotations

import ast
import importlib.machinery
import os
import sys
import types
from typing import Any

from . import overlay
from .protocol import Place


def package_of(path: str) -> tuple[str, str]:
    """The folder that a file's top package lies in, and the file's package (`""` outside of one), as `python -m` would have it."""
    folder = os.path.dirname(path)
    parts: list[str] = []
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        parts.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return folder, ".".join(parts)


def set_import_path(path: str, root: str) -> None:
    """Put the places that the file's imports come from on `sys.path`.

    Its package root and its folder come first, as for `python -m` and `python FILE`; the workspace root and its `src` come last, so that
    they shadow nothing.
    """
    package_root, package = package_of(path)
    folder = os.path.dirname(path)
    first = [package_root, folder] if package else [folder]
    last = [root, os.path.join(root, "src")]
    sys.path[:] = _unique([*first, *sys.path, *(place for place in last if os.path.isdir(place))])


def _unique(places: list[str]) -> list[str]:
    return list(dict.fromkeys(places))


def module_name(path: str) -> str:
    """The name under which the file would be imported."""
    _, package = package_of(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem == "__init__" and package:
        return package
    return f"{package}.{stem}" if package else stem


def run(path: str, text: str, name: str) -> types.ModuleType:
    """Execute the file's text as the module `name` and return the module. Raises whatever the text raises, SyntaxError included."""
    code = compile(text, path, "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__file__ = path
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    package = package_of(path)[1]
    if name == "__main__":
        module.__package__ = package
        module.__spec__ = None
    else:
        loader = importlib.machinery.SourceFileLoader(name, path)
        module.__package__ = name if os.path.basename(path) == "__init__.py" else name.rpartition(".")[0]
        module.__loader__ = loader
        module.__spec__ = importlib.machinery.ModuleSpec(name, loader, origin=path)
        module.__spec__.has_location = True
    overlay.remember_lines(path, text)
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def evaluate(expression: str, path: str, line: int, column: int, namespace: dict[str, object]) -> object:
    """The value of an example call, evaluated as if it stood at its own place in the file, so that tracebacks point there."""
    tree = ast.parse(expression.strip(), path, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.keyword)):
            if node.lineno == 1:
                node.col_offset += column
            if node.end_lineno == 1 and node.end_col_offset is not None:
                node.end_col_offset += column
    ast.increment_lineno(tree, line - 1)
    return _value(tree, path, namespace)


def evaluate_at(expression: str, place: Place, namespace: dict[str, object]) -> object:
    """The value of a call that is written nowhere: tracebacks point to the place that it is for, whatever part of it they are about."""
    tree = ast.parse(expression, place.file, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.keyword, ast.arg)):
            node.lineno, node.end_lineno = place.line, place.end_line or place.line
            node.col_offset, node.end_col_offset = place.column or 0, place.end_column or 0
    return _value(tree, place.file, namespace)


def value_of(expression: str, namespace: dict[str, object]) -> Any:
    """The value of an expression in a module's names."""
    return _value(ast.parse(expression, "<guess>", mode="eval"), "<guess>", namespace)


def _value(tree: ast.Expression, path: str, namespace: dict[str, object]) -> object:
    """An example call may speak of torch where the module itself does not import it by that name."""
    names = namespace if "torch" in namespace else {"torch": sys.modules.get("torch"), **namespace}
    return eval(compile(tree, path, "eval", dont_inherit=True), names)
