"""The options of a mark: adding one to `@torch.compile`, `torch.compile(f, ...)` or `model.compile(...)`."""

from __future__ import annotations

import ast

from ..core.places import node_span
from ..core.source import Edit, SourceFile, Span
from .syntax import locate


def mark_node(source: SourceFile, span: Span) -> ast.expr | None:
    """The decorator or call that a mark's span covers."""
    place = locate(source, span)
    node = place.node if place is not None else None
    return node if isinstance(node, (ast.Name, ast.Attribute, ast.Call)) and node_span(source, node) == span else None


def with_option(source: SourceFile, span: Span, name: str, value: str) -> Edit | None:
    """The edit that gives a mark an option; None where it has that option, or where it cannot be seen."""
    node = mark_node(source, span)
    if node is None:
        return None
    if not isinstance(node, ast.Call):
        return Edit(Span(span.end, span.end), f"({name}={value})")
    if any(keyword.arg in (name, None) for keyword in node.keywords):
        return None
    last = max((node_span(source, part).end for part in (*node.args, *node.keywords)), default=None)
    if last is None:
        inner = source.offset(span.end) - 1
        place = Span(source.position(inner), source.position(inner))
        return Edit(place, f"{name}={value}")
    return Edit(Span(last, last), f", {name}={value}")
