"""Actions at a marked function that are about its inputs: keep those that were guessed, or write an example call where none were found."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types
from pygls.capabilities import get_capability

from ..core import lens
from ..core.findings import Fix, FunctionResult, Safety
from ..core.inferred import SOURCE
from ..core.marks import Mark
from ..core.source import Edit, Position, Span
from ..core.suggest import Suggestion, suggest
from .connection import GraphbreakServer
from .documents import Document

_LONGEST = 80


def input_actions(ls: GraphbreakServer, document: Document, asked: Span) -> Iterator[types.CodeAction]:
    """The actions for the marks that a range touches, each as a comment above the function. None where one is written already."""
    rows = [row for report in ls.session.results.shown.values() for row in report.functions if row.mark_path == document.path]
    for mark in document.marks.marks:
        row = next((row for row in rows if row.mark_span == mark.span), None)
        if row is None or not (mark.span.touches(asked) or mark.name_span.touches(asked)):
            continue
        found = _wanted(document, mark, row)
        if found is not None and found[1].existing is None:
            yield _action(ls, document, *found)


def edit_of(ls: GraphbreakServer, fix: Fix) -> types.WorkspaceEdit:
    """A fix as the editor takes it."""
    versioned = bool(get_capability(ls.client_capabilities, "workspace.workspace_edit.document_changes"))
    return ls.session.converter.to_workspace_edit(fix, versioned=versioned)


def _wanted(document: Document, mark: Mark, row: FunctionResult) -> tuple[str, Suggestion] | None:
    """The title of an action and the comment that it writes."""
    guess = next((inputs.expression for inputs in row.inputs if inputs.source == SOURCE and inputs.expression), "")
    if guess:
        shown = guess if len(guess) <= _LONGEST else guess[: _LONGEST - 1].rstrip() + "…"
        return f"Keep these inputs: `{shown}`", suggest(document.program, document.marks, mark, call=guess)
    if lens.is_not_analysed(row):
        return "Write an example call above it", suggest(document.program, document.marks, mark, fill=True)
    return None


def _action(ls: GraphbreakServer, document: Document, title: str, suggestion: Suggestion) -> types.CodeAction:
    start = Position(suggestion.line, 0)
    edit = Edit(Span(start, start), f"{suggestion.indentation}{suggestion.text}\n")
    fix = Fix(title, Safety.SAFE, {document.path: (edit,)})
    return types.CodeAction(title=title, kind=types.CodeActionKind.QuickFix, edit=edit_of(ls, fix))
