"""Let a function into the graph that was kept out of it: take its `@torch.compiler.disable` away.

Before:

    @torch.compiler.disable
    def teacher(x):
        return net(x).softmax(-1)

After:

    def teacher(x):
        return net(x).softmax(-1)

When it is not safe: keeping it out was somebody's wish, and what it does may break the graph by itself. Hence it is only shown, and never
applied together with others. It is not offered for a function that is disabled where it is called or bound, but only at its definition.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Kind, Safety
from ..core.nodes import tree_of
from ..core.source import Edit, Position, SourceFile, Span
from .edits import finished
from .model import FixContext
from .syntax import dotted, first_line, last_line

_DISABLED = "disabled here"


def remove_disable(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Remove the decorator that the diagnostic names as its reason."""
    where = next((related for related in diagnostic.related if related.message == _DISABLED), None)
    source = context.sources.get(where.path) if where is not None else None
    if source is None or where is None or diagnostic.kind not in (Kind.INTENDED, Kind.SKIPPED, Kind.BREAK):
        return None
    function = _disabled(source, where.span.start.line)
    decorator = next((node for node in function.decorator_list if _is_disable(node)), None) if function is not None else None
    if function is None or decorator is None:
        return None
    lines = range(decorator.lineno - 1, last_line(decorator) + 1)
    edit = Edit(Span(Position(lines.start, 0), Position(lines.stop, 0)), "")
    return finished(f"Let `{function.name}` into the graph (without its `disable`)", source, (edit,), Safety.DISPLAY)


def _disabled(source: SourceFile, line: int) -> ast.FunctionDef | None:
    """The function on whose lines before its body a line lies."""
    tree = tree_of(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] if tree is not None else []
    return next((node for node in functions if first_line(node) <= line <= node.lineno - 1), None)


def _is_disable(node: ast.expr) -> bool:
    name = dotted(node.func if isinstance(node, ast.Call) else node)
    return name in ("torch.compiler.disable", "torch._dynamo.disable", "compiler.disable", "disable")
