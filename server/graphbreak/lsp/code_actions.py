"""codeAction: the fixes of the newest report with what their trials showed, as quick fixes; all safe ones together for `source.fixAll`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence

from lsprotocol import types
from pygls.capabilities import get_capability

from ..core.findings import Diagnostic, Fix
from ..core.source import SourceFile, Span
from ..core.trials import is_removal, shown_title
from ..tracer.files import read_source
from .connection import GraphbreakServer
from .convert import to_path
from .diagnostics import shown
from .documents import Document
from .input_actions import edit_of, input_actions
from .refactors import refactors

FIX_ALL = "source.fixAll.graphbreak"
OPTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL, types.CodeActionKind.RefactorExtract, types.CodeActionKind.RefactorRewrite]
)


async def code_action(ls: GraphbreakServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The fixes of every diagnostic that touches the range, each edit once. Trials are not waited for: they go on meanwhile.

    Only what is to be edited in files that are not open is looked up on the disk, beside the event loop.
    """
    path = to_path(params.text_document.uri)
    document = None if path is None else ls.session.documents.get(path)
    if document is None:
        return []
    elsewhere = _elsewhere(ls, document, ls.session.converter.from_range(document.source, params.range))
    unchanged = await asyncio.to_thread(_as_traced, elsewhere) if elsewhere else frozenset()
    return _actions(ls, document, params, unchanged) if ls.session.documents.get(document.path) is document else []


def _elsewhere(ls: GraphbreakServer, document: Document, asked: Span) -> list[SourceFile]:
    """The files that are not open and would be edited, as they were traced."""
    fixes = [fix for found in ls.session.results.at(document.path) if found.span.touches(asked) for fix in found.fixes]
    together = ls.session.trials.together(document.path)
    paths = {path for fix in [*fixes, *([together[1]] if together else [])] for path in fix.edits}
    traced = (ls.session.results.source(path) for path in sorted(paths) if ls.session.documents.get(path) is None)
    return [source for source in traced if source is not None]


def _as_traced(sources: Sequence[SourceFile]) -> frozenset[SourceFile]:
    """Those that still say what they said."""
    return frozenset(source for source in sources if read_source(source.path) == source)


def _actions(
    ls: GraphbreakServer, document: Document, params: types.CodeActionParams, unchanged: Collection[SourceFile]
) -> list[types.CodeAction]:
    only = params.context.only
    actions = list(_fix_all(ls, document, unchanged)) if only and _wants(only, FIX_ALL) else []
    asked = ls.session.converter.from_range(document.source, params.range)
    actions += [action for action in refactors(ls, document, asked) if action.kind is not None and _wants(only, action.kind)]
    if not _wants(only, types.CodeActionKind.QuickFix):
        return actions
    ls.session.looked_at(document.path, asked)
    return _quick_fixes(ls, document, asked, unchanged) + actions + list(input_actions(ls, document, asked))


def _wants(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether a kind is asked for: by itself, or by one that it lies below. An empty kind stands for all of them."""
    kind = str(kind.value if isinstance(kind, types.CodeActionKind) else kind)
    wanted = [str(one.value if isinstance(one, types.CodeActionKind) else one) for one in only or ()]
    return only is None or any(not one or kind == one or kind.startswith(f"{one}.") for one in wanted)


def _quick_fixes(ls: GraphbreakServer, document: Document, asked: Span, unchanged: Collection[SourceFile]) -> list[types.CodeAction]:
    actions: dict[str, types.CodeAction] = {}
    for diagnostic, fix in _fixes(ls, document.path, asked, unchanged):
        action = _action(ls, diagnostic, fix)
        if action is not None:
            actions.setdefault(f"{action.title} {action.edit}", action)
    found = list(actions.values())
    together = _together(ls, document, unchanged) if found else None
    return [*found, *([together] if together is not None else [])]


def _fixes(ls: GraphbreakServer, path: str, asked: Span, unchanged: Collection[SourceFile]) -> Iterator[tuple[Diagnostic, Fix]]:
    for diagnostic in ls.session.results.at(path):
        if diagnostic.span.touches(asked):
            yield from ((diagnostic, fix) for fix in diagnostic.fixes if _is_current(ls, fix, unchanged))


def _is_current(ls: GraphbreakServer, fix: Fix, unchanged: Collection[SourceFile]) -> bool:
    """Open documents have carried the edits along; a file that is not open must still say what it said."""
    return all(ls.session.documents.get(path) is not None or ls.session.results.source(path) in unchanged for path in fix.edits)


def _action(ls: GraphbreakServer, diagnostic: Diagnostic, fix: Fix) -> types.CodeAction | None:
    """Preferred only if it was tried, is safe and removes the break: an editor may apply a preferred action unseen.

    One that failed its trial is shown where the editor can show why it is not to be applied, and else not at all.
    """
    failed = fix.verified is not None and fix.verified.failed
    if failed and not get_capability(ls.client_capabilities, "text_document.code_action.disabled_support"):
        return None
    squiggles = [s for s in shown(ls.session.results, diagnostic.path) if diagnostic in s.members]
    converter, related = ls.session.converter, ls.session.publisher.related_supported
    return types.CodeAction(
        title=shown_title(diagnostic, fix),
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[converter.to_diagnostic(squiggle, related=related) for squiggle in squiggles],
        edit=None if failed else edit_of(ls, fix),
        is_preferred=True if is_removal(fix) else None,
        disabled=types.CodeActionDisabled(fix.verified.reason) if failed and fix.verified is not None else None,
    )


def _fix_all(ls: GraphbreakServer, document: Document, unchanged: Collection[SourceFile]) -> Iterator[types.CodeAction]:
    """All that is verified so far."""
    found = ls.session.trials.together(document.path)
    if found is not None and _is_current(ls, found[1], unchanged):
        yield types.CodeAction(found[1].title, FIX_ALL, edit=edit_of(ls, found[1]))


def _together(ls: GraphbreakServer, document: Document, unchanged: Collection[SourceFile]) -> types.CodeAction | None:
    """The same as a quick fix, where it is more than one."""
    found = ls.session.trials.together(document.path)
    if found is None or len(found[0].best.applied) < 2 or not _is_current(ls, found[1], unchanged):
        return None
    title = f"Fix all safe graph breaks in this file — {found[0].words}"
    return types.CodeAction(title, types.CodeActionKind.QuickFix, edit=edit_of(ls, found[1]))
