"""codeAction: the fixes of the newest report, as quick fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types
from pygls.capabilities import get_capability

from ..core.findings import Diagnostic, Fix
from ..core.source import Span
from ..tracer.files import read_source
from .connection import GraphbreakServer
from .convert import to_path
from .diagnostics import shown

OPTIONS = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])


def code_action(ls: GraphbreakServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The fixes of every diagnostic that touches the range, each edit once."""
    path = to_path(params.text_document.uri)
    document = None if path is None else ls.session.documents.get(path)
    if document is None or not _wants_quick_fixes(params.context.only):
        return []
    asked = ls.session.converter.from_range(document.source, params.range)
    actions: dict[str, types.CodeAction] = {}
    for diagnostic, fix in _fixes(ls, document.path, asked):
        action = _action(ls, diagnostic, fix)
        actions.setdefault(f"{fix.title} {action.edit}", action)
    return list(actions.values())


def _wants_quick_fixes(only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """An empty kind stands for all of them; a narrower one (`quickfix.other`) for none of ours."""
    return only is None or any(kind in (types.CodeActionKind.QuickFix, types.CodeActionKind.Empty) for kind in only)


def _fixes(ls: GraphbreakServer, path: str, asked: Span) -> Iterator[tuple[Diagnostic, Fix]]:
    for diagnostic in ls.session.results.at(path):
        if diagnostic.span.touches(asked):
            yield from ((diagnostic, fix) for fix in diagnostic.fixes if _is_current(ls, fix))


def _is_current(ls: GraphbreakServer, fix: Fix) -> bool:
    """Open documents have carried the edits along; a file that is not open must still say what it said."""
    for path in fix.edits:
        if ls.session.documents.get(path) is None:
            traced = ls.session.results.source(path)
            if traced is None or read_source(path) != traced:
                return False
    return True


def _action(ls: GraphbreakServer, diagnostic: Diagnostic, fix: Fix) -> types.CodeAction:
    """Never preferred: an editor may apply a preferred action unseen, and this one has not been tried."""
    versioned = bool(get_capability(ls.client_capabilities, "workspace.workspace_edit.document_changes"))
    converter, related = ls.session.converter, ls.session.publisher.related_supported
    squiggles = [s for s in shown(ls.session.results, diagnostic.path) if diagnostic in s.members]
    return types.CodeAction(
        title=fix.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[converter.to_diagnostic(squiggle, related=related) for squiggle in squiggles],
        edit=converter.to_workspace_edit(fix, versioned=versioned),
    )
