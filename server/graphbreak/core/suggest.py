"""The example call that a user could write above a marked function: where it goes, and what it says as far as that is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .arguments import UNKNOWN, arguments
from .comments import WORD
from .marks import Mark, Marks
from .nodes import tree_of
from .parameters import filled
from .recovery import parse
from .source import SourceFile

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = _Function | ast.ClassDef
_CALLED_BY_INSTANCE = ("forward", "__call__")


@dataclass(frozen=True)
class Suggestion:
    """`text` is to be put above `line` (0-based), behind `indentation`. `existing` is the line of the directive that is there already."""

    line: int
    indentation: str
    text: str
    existing: int | None = None


def suggest(source: SourceFile, marks: Marks, mark: Mark, inputs: str = "", fill: bool = False, call: str = "") -> Suggestion:
    """The directive for a mark of a file. `inputs` is the summary of its last inputs (`x: f32[8, 16], n: 3`), where they are known; `fill`
    asks for something of each parameter's kind in place of what is not. `call` is the whole call, where that is known."""
    tree = tree_of(source) or parse(source).tree
    chain = _chain(tree, source, mark)
    if chain:
        line, call = _first_line(chain[-1]), call or _call_of(chain, inputs, fill)
    else:
        statement = _statement(tree, mark.span.start.line)
        line = statement.lineno - 1 if statement else mark.span.start.line
        call = call or (_call_of_target(tree, statement, mark, inputs) if statement else UNKNOWN)
    text = source.line(line)
    head = range(line, mark.line + 1) if chain else (line, mark.span.start.line)
    lines = [directive.span.start.line for directive in (*mark.directives, *marks.stray) if directive.target_line in head]
    existing = min([*lines, *(directive.span.start.line for directive in mark.directives)], default=None)
    return Suggestion(line, text[: len(text) - len(text.lstrip())], f"# {WORD} {call}", existing)


def _chain(tree: ast.AST, source: SourceFile, mark: Mark) -> list[_Definition]:
    """The definition that a mark is for, behind those it stands in; nothing where the mark is for an object."""
    name = source.slice(mark.name_span)

    def search(node: ast.AST, above: list[_Definition]) -> list[_Definition]:
        for child in ast.iter_child_nodes(node):
            inner = [*above, child] if isinstance(child, _Definition) else above
            if isinstance(child, _Definition) and child.lineno - 1 == mark.line and child.name == name:
                return inner
            if found := search(child, inner) if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)) else []:
                return found
        return []

    return search(tree, [])


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1


def _call_of(chain: list[_Definition], inputs: str, fill: bool = False) -> str:
    *owners, node = chain
    outer = next((index for index, owner in enumerate(owners) if not isinstance(owner, ast.ClassDef)), None)
    if outer is not None:  # an inner function is reached by calling the outer one
        return _call_of(chain[: outer + 1], "", fill)
    if isinstance(node, ast.ClassDef):
        return f"{_instance(chain, fill)}({_given(inputs, _method(node, 'forward') or _method(node, '__call__'), fill)})"
    given = _given(inputs, node, fill)
    if not owners:
        return f"{node.name}({given})"
    if {"staticmethod", "classmethod"} & {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}:
        return f"{'.'.join(owner.name for owner in chain)}({given})"
    called = "" if node.name in _CALLED_BY_INSTANCE else f".{node.name}"
    return f"{_instance(owners, fill)}{called}({given})"


def _call_of_target(tree: ast.Module, statement: ast.stmt, mark: Mark, inputs: str) -> str:
    """A call of what a compiled object is bound to; only names of the module can be used in an example call."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    target = targets[0]
    if statement not in tree.body:
        return UNKNOWN
    if isinstance(target, (ast.Name, ast.Attribute)):
        return f"{ast.unparse(target)}({_given(inputs, None)})"
    return f"{mark.name}({_given(inputs, None)})" if mark.name.replace(".", "").isidentifier() else UNKNOWN


def _given(inputs: str, function: _Function | None, fill: bool = False) -> str:
    """The arguments, `...` where nothing is known; a function that takes none gets none."""
    if function is None:
        return arguments(inputs) or UNKNOWN
    own = function.args
    if fill and not inputs:
        return ", ".join(filled(own))
    names = [own.vararg, own.kwarg, *own.posonlyargs, *own.args, *own.kwonlyargs]
    return arguments(inputs, own) or (UNKNOWN if any(name is not None and name.arg != "self" for name in names) else "")


def _instance(chain: list[_Definition], fill: bool = False) -> str:
    """An instance of a class: with arguments to fill in, unless its `__init__` can do without."""
    initialise = _method(chain[-1], "__init__")
    name = ".".join(owner.name for owner in chain)
    if initialise is None:
        return f"{name}({UNKNOWN})"
    own = initialise.args
    if fill:
        return f"{name}({', '.join(filled(own, tensors=False))})"
    needed = len(own.posonlyargs) + len(own.args) - 1 - len(own.defaults) + own.kw_defaults.count(None)
    return f"{name}({UNKNOWN if needed > 0 else ''})"


def _method(node: _Definition, name: str) -> _Function | None:
    return next((part for part in node.body if isinstance(part, _Function) and part.name == name), None)


def _statement(tree: ast.AST, line: int) -> ast.stmt | None:
    """The innermost statement that a line belongs to."""
    holding = [node for node in _statements(tree) if node.lineno - 1 <= line < (node.end_lineno or node.lineno)]
    return max(holding, key=lambda node: (node.lineno, node.col_offset), default=None)


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
