"""completion: what can be written in a `# graphbreak:` comment. Answered from the text, and from what traces have shown."""

from __future__ import annotations

from lsprotocol import types
from pygls.capabilities import get_capability

from ..core.completion import Completion, CompletionKind, completions
from ..core.findings import FunctionResult
from ..core.marks import Mark
from .connection import GraphbreakServer
from .convert import to_path

OPTIONS = types.CompletionOptions(trigger_characters=[":", " ", "(", "."])

_KINDS = {
    CompletionKind.CALL: types.CompletionItemKind.Snippet,
    CompletionKind.NAME: types.CompletionItemKind.Variable,
    CompletionKind.WORD: types.CompletionItemKind.Keyword,
}


def completion(ls: GraphbreakServer, params: types.CompletionParams) -> types.CompletionList | None:
    """What can be written at a place; nothing where it is not in a comment of ours."""
    path = to_path(params.text_document.uri)
    document = None if path is None else ls.session.documents.get(path)
    if document is None or not document.is_python:
        return None
    place = ls.session.converter.from_position(document.source, params.position)
    rows = [row for report in ls.session.results.shown.values() for row in report.functions if row.path == document.path]
    found = completions(document.source, place, lambda mark: _summary(rows, mark), lambda mark: _guess(rows, mark))
    if not found:
        return None
    snippets = bool(get_capability(ls.client_capabilities, "text_document.completion.completion_item.snippet_support"))
    return types.CompletionList(False, [_item(ls, document.path, one, number, snippets) for number, one in enumerate(found)])


def _summary(rows: list[FunctionResult], mark: Mark) -> str:
    """With what a function was called last, but for guesses."""
    called = [one for row in rows if row.name == mark.name for one in row.inputs if not one.expression]
    return called[-1].summary if called else ""


def _guess(rows: list[FunctionResult], mark: Mark) -> str:
    return next((one.expression for row in rows if row.name == mark.name for one in row.inputs if one.expression), "")


def _item(ls: GraphbreakServer, path: str, found: Completion, number: int, snippets: bool) -> types.CompletionItem:
    snippet = snippets and bool(found.holes)
    place = ls.session.converter.to_range(path, found.span)
    return types.CompletionItem(
        label=found.label,
        kind=_KINDS[found.kind],
        detail=found.detail,
        sort_text=f"{number:04}",
        filter_text=found.text,
        insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
        text_edit=types.TextEdit(place, snippet_of(found) if snippet else found.text),
    )


def snippet_of(found: Completion) -> str:
    """The text with a stop at each of its holes, in the order in which they stand."""
    parts, at = [], 0
    for number, (start, end) in enumerate(found.holes, 1):
        parts += [_escaped(found.text[at:start]), f"${{{number}:{_escaped(found.text[start:end])}}}"]
        at = end
    return "".join([*parts, _escaped(found.text[at:])])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")
