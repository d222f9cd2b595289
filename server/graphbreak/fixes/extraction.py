"""Taking an expression out of a function: what becomes a parameter, what moves, and what stays where it is.

A plain local name is passed under its own name, so the text that moves stays as it was written. An operand that
computes something (`x.sum()` in `x.sum().item()`) stays in the compiled code and its value is passed, so that no
operation leaves the graph.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from ..core.parsing import parse_expression
from ..core.places import node_span
from ..core.source import Edit, SourceFile
from .names import is_builtin, numbered
from .syntax import COMPREHENSIONS, dotted
from .tokens import line_tokens

_STAYS = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.NamedExpr, *COMPREHENSIONS)
_PARTS = (ast.Starred, ast.keyword, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr, ast.FormattedValue, ast.Slice)
_CONVERSIONS = frozenset({"str", "repr", "format", "float", "int", "bool", "complex", "len", "type", "id"})
_DESCRIPTIONS = frozenset({"shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda", "__class__", "__name__"})
_ABOUT_SCOPES = frozenset({"super", "__class__", "locals", "vars", "dir", "eval", "exec", "breakpoint"})
_ABOUT_FRAMES = frozenset({"sys._getframe", "inspect.stack", "inspect.currentframe", "stacklevel="})


class Unmovable(Exception):
    """The expression means something else, or cannot be written, outside its function."""


@dataclass(frozen=True)
class Extraction:
    """`body` is the moved text, over its parameters; `arguments` are the texts to pass for these."""

    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    body: str

    def call(self, name: str) -> str:
        """The call that takes the expression's place."""
        return f"{name}({', '.join(self.arguments)})"


def extract(source: SourceFile, expression: ast.expr, local: frozenset[str], keep_operations: bool) -> Extraction:
    """Cut an expression into what moves and what is passed. With `keep_operations` every operand that may be one stays.

    Raises `Unmovable`.
    """
    conditional = any(isinstance(node, _STAYS) for node in ast.walk(expression) if node is not expression)
    operands = _operands(expression, local, expression) if keep_operations or conditional else []
    moved = _without(expression, operands)
    if any(_is_bound_to_frame(node) for node in moved) or not all(is_written(source, part) for part in (expression, *operands)):
        raise Unmovable
    names = {node.id: node_span(source, node).start for node in reversed(moved) if isinstance(node, ast.Name)}
    passed = [(start, name, name) for name, start in names.items() if name in local]
    edits = []
    for operand in operands:
        used = {*names, *(name for _, name, _ in passed)}
        name = next(name for name in numbered(_wish(operand, expression)) if name not in used)
        span = node_span(source, operand)
        passed.append((span.start, name, source.slice(span)))
        edits.append(Edit(span, name))
    passed.sort()
    return Extraction(tuple(name for _, name, _ in passed), tuple(text for _, _, text in passed), _replaced(source, expression, edits))


def is_written(source: SourceFile, node: ast.expr) -> bool:
    """Whether a node's text is really it: inside an f-string Python may give a wrong place, and `{x=}` shows its text."""
    span = node_span(source, node)
    behind = source.text[source.offset(span.end) :].lstrip()
    try:
        again = parse_expression(f"({source.slice(span)}\n)").body
    except (SyntaxError, ValueError):
        return False
    return ast.dump(again) == ast.dump(node) and (not behind.startswith("=") or behind.startswith("=="))


def reindented(text: str, old: str, new: str) -> str:
    """Moved text with its further lines put at another indentation. Raises `Unmovable` where that would change a string."""
    parts = re.split(r"(\r\n|\n|\r)", text)
    if old == new or len(parts) == 1:
        return text
    tokens = line_tokens(["(" + parts[0], *parts[2:-1:2], parts[-1] + ")"])
    if tokens is None or tokens.open_strings:
        raise Unmovable
    return parts[0] + "".join(new + part[len(old) :] if i % 2 and part.startswith(old) else part for i, part in enumerate(parts[1:]))


def _operands(node: ast.AST, local: frozenset[str], root: ast.expr) -> list[ast.expr]:
    """The operands that stay where they are."""
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.GeneratorExp):
            raise Unmovable  # it may be written without parentheses of its own
        if (
            isinstance(child, _PARTS)
            or _is_conversion(child)
            or (isinstance(child, ast.Attribute) and child is getattr(node, "func", None))
        ):
            found += _operands(child, local, root)
        elif isinstance(child, ast.expr) and not _is_plain(child, local):
            found.append(child)
    return found


def _is_conversion(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CONVERSIONS


def _is_plain(node: ast.expr, local: frozenset[str]) -> bool:
    """Whether reading an operand a moment later gives the same and takes no operation along."""
    name = dotted(node)
    if name and name.split(".")[0] not in local:
        return True
    if isinstance(node, ast.Attribute):
        return node.attr in _DESCRIPTIONS and _is_plain(node.value, local)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and _is_plain(node.value, local) and isinstance(node.slice, ast.Constant)
    return isinstance(node, (ast.Name, ast.Constant))


def _without(node: ast.AST, operands: list[ast.expr]) -> list[ast.AST]:
    """A node and all under it that moves, in the order of the text."""
    return [node, *(inner for child in ast.iter_child_nodes(node) if child not in operands for inner in _without(child, operands))]


def _is_bound_to_frame(node: ast.AST) -> bool:
    """Whether a node means something else in another function (or, as `a if b else c`, may not be evaluated at all)."""
    word = getattr(node, "id", None) or getattr(node, "attr", None) or ""
    private = word.startswith("__") and not word.endswith("__")
    names = {dotted(node), f"{node.arg}=" if isinstance(node, ast.keyword) else ""}
    return (
        private or not names.isdisjoint(_ABOUT_SCOPES | _ABOUT_FRAMES) or isinstance(node, (*_STAYS, ast.Await, ast.Yield, ast.YieldFrom))
    )


def _replaced(source: SourceFile, expression: ast.expr, edits: list[Edit]) -> str:
    """The text of an expression after edits inside it."""
    whole = node_span(source, expression)
    behind = len(source.text) - source.offset(whole.end)
    text = source.apply(edits).text
    return text[source.offset(whole.start) : len(text) - behind]


def _wish(operand: ast.expr, root: ast.expr) -> str:
    """A name for an operand: the keyword it is passed as, or the attribute that it reads."""
    keywords = (node for node in ast.walk(root) if isinstance(node, ast.keyword))
    name = next((node.arg for node in keywords if node.value is operand and node.arg), None)
    name = name or (operand.attr if isinstance(operand, ast.Attribute) else "value")
    return "value" if is_builtin(name) or name.startswith("_") else name
