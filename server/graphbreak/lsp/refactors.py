"""The refactor actions: a clean function held to one graph, and a function split at a break that has to stay."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types
from pygls.capabilities import get_capability

from ..core.findings import Fix
from ..core.source import Span
from ..refactors import extract_compiled, fullgraph
from .connection import GraphbreakServer
from .documents import Document


def refactors(ls: GraphbreakServer, document: Document, asked: Span) -> Iterator[types.CodeAction]:
    """Those that fit the marks and breaks in a range."""
    for fix in _strict(ls, document, asked):
        yield _action(ls, fix, types.CodeActionKind.RefactorRewrite)
    for diagnostic in ls.session.results.at(document.path):
        split = extract_compiled(document.source, diagnostic) if diagnostic.span.touches(asked) else None
        if split is not None:
            yield _action(ls, split, types.CodeActionKind.RefactorExtract)


def _strict(ls: GraphbreakServer, document: Document, asked: Span) -> Iterator[Fix]:
    reports = ls.session.results.shown.values()
    for mark in document.marks.marks:
        if mark.span.touches(asked) or mark.name_span.touches(asked):
            here = (document.path, mark.span)
            functions = [row for report in reports for row in report.functions if (row.mark_path, row.mark_span) == here]
            fix = fullgraph(document.source, mark.span, functions, [found for report in reports for found in report.diagnostics])
            if fix is not None:
                yield fix


def _action(ls: GraphbreakServer, fix: Fix, kind: types.CodeActionKind) -> types.CodeAction:
    versioned = bool(get_capability(ls.client_capabilities, "workspace.workspace_edit.document_changes"))
    return types.CodeAction(fix.title, kind, edit=ls.session.converter.to_workspace_edit(fix, versioned=versioned))
