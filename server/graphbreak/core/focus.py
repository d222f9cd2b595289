"""After an edit: the smallest function that holds all of it, which can be traced by itself before the whole is traced again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .nodes import tree_of
from .places import Sources
from .source import Position, SourceFile, shared_beginning

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Edited:
    """A function whose body is another one than before, and nothing else in its file is. Lines are 0-based.

    `name` is its qualified name; `first_line` is where it began before, its decorators included, and `line` its `def`; `start` and `end`
    (included) are the lines that the edit wrote in the text after it.
    """

    before: SourceFile
    after: SourceFile
    name: str
    first_line: int
    line: int
    start: int
    end: int


def edited_function(before: Mapping[str, SourceFile], now: Sources, marked: Iterable[tuple[str, int]] = ()) -> Edited | None:
    """The one function that differs between the texts that were traced and those there are now.

    None where more differs, or nothing that counts, or what was edited is itself one of the `marked` functions (by path and `def` line
    before the edit): the trace of that is the whole.
    """
    changed = [(source, other) for path, source in before.items() if (other := now(path)) is None or other.text != source.text]
    if len(changed) != 1 or changed[0][1] is None:
        return None
    edited = _in_one_body(changed[0][0], changed[0][1])
    return None if edited is None or (edited.before.path, edited.line) in marked else edited


def _in_one_body(before: SourceFile, after: SourceFile) -> Edited | None:
    """The outermost function whose body holds all that differs between two texts of a file."""
    head = shared_beginning(before.text, after.text)
    tail = shared_beginning(before.text[head:][::-1], after.text[head:][::-1])
    old = _at(before, before.position(head), before.position(len(before.text) - tail))
    new = _at(after, after.position(head), after.position(len(after.text) - tail))
    if old is None or new is None or old[0] != new[0] or _header(old[1]) != _header(new[1]):
        return None
    one, other = old[1], new[1]
    rest = len(before.lines) - (one.end_lineno or 0), len(after.lines) - (other.end_lineno or 0)
    if rest[0] != rest[1] or _first_line(one) != _first_line(other) or ast.dump(one) == ast.dump(other):
        return None
    start, end = after.position(head).line, after.position(len(after.text) - tail).line
    return Edited(before, after, old[0], _first_line(one), one.lineno - 1, start, end)


def _at(source: SourceFile, start: Position, end: Position) -> tuple[str, ast.FunctionDef | ast.AsyncFunctionDef] | None:
    """The outermost function that holds a part of the text, without its decorators, and its qualified name."""
    tree = tree_of(source)
    nodes: list[ast.AST] = [tree] if tree is not None else []
    names: list[str] = []
    while nodes:
        node = nodes.pop()
        if isinstance(node, _Function):
            begins, ends = Position(node.lineno - 1, 0), Position((node.end_lineno or 0) - 1, len(source.line((node.end_lineno or 0) - 1)))
            return (".".join([*names, node.name]), node) if begins <= start and end <= ends else None
        names += [node.name] if isinstance(node, ast.ClassDef) else []
        nodes = [child for child in ast.iter_child_nodes(node) if _holds(child, start.line, end.line)]
        if len(nodes) > 1:
            return None
    return None


def _holds(node: ast.AST, start: int, end: int) -> bool:
    return isinstance(node, ast.stmt) and _first_line(node) <= start and end <= (node.end_lineno or 0) - 1


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _header(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """What a function is without its body."""
    parts: list[ast.AST] = [node.args, *node.decorator_list, *getattr(node, "type_params", [])]
    parts += [node.returns] if node.returns is not None else []
    return [type(node).__name__, *map(ast.dump, parts)]
