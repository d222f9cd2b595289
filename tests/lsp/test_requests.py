"""Hover and code actions."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from graphbreak.lsp.hover import plain

from .editor import MARK, Editor, capabilities, replacing, span

BREAK = MARK + "def f(x):\n    print(x)\n"
HELPER = "def log(x):\n    print(x)\n"
CALLER = "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n"


async def test_hover_says_why_in_markdown_over_the_very_expression(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", BREAK.replace("(x)\n", "(x)  # here\n"))
    await editor.shows(tmp_path / "a.py", "3:4-3:12")
    hover = await editor.hover(tmp_path / "a.py", 3, 12)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.kind == types.MarkupKind.Markdown
    assert str(hover.range) == "3:4-3:12"
    for part in ("Graph break", "GB0059", "Dynamo does not know `print`", "Take it out", f"{(tmp_path / 'a.py').as_uri()}#L4"):
        assert part in hover.contents.value
    assert await editor.hover(tmp_path / "a.py", 3, 13) is None
    assert await editor.hover(tmp_path / "other.py", 3, 6) is None


@pytest.mark.parametrize("extended", [False, True])
async def test_hover_on_a_caller_shows_its_cause_too(editor: Editor, tmp_path: Path, extended: bool) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    await editor.connect(tmp_path, offers=capabilities(extended=extended))
    editor.open(tmp_path / "a.py", CALLER)
    await editor.shows(tmp_path / "a.py", "4:4-4:17")
    hover = await editor.hover(tmp_path / "a.py", 4, 6)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.value.index("Inherited graph break") < hover.contents.value.index("Dynamo does not know")
    assert ("Inherits a graph break" in hover.contents.value) is not extended, "VS Code shows the squiggle's message right above"


async def test_hover_is_plain_where_the_editor_knows_no_markdown(editor: Editor, tmp_path: Path) -> None:
    offers = capabilities()
    assert offers.text_document is not None
    offers.text_document.hover = types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText])
    await editor.connect(tmp_path, offers=offers)
    editor.open(tmp_path / "a.py", BREAK)
    await editor.shows(tmp_path / "a.py", "3:4-3:12")
    hover = await editor.hover(tmp_path / "a.py", 3, 6)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.kind == types.MarkupKind.PlainText
    assert "Dynamo does not know print." in hover.contents.value
    assert "**" not in hover.contents.value


def test_plain_text_keeps_what_is_said() -> None:
    assert plain("**Why** `a_b` [a\\_b.py:3](file:///a%28.py#L3)\n\n```py\nx = 1\n```") == "Why a_b a_b.py:3\n\nx = 1\n"


async def test_a_fix_is_a_versioned_quick_fix_linked_to_its_diagnostic(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, BREAK)
    (shown,) = await editor.shows(path, "3:4-3:12")
    (action,) = await editor.actions(path, span(3, 12, 3, 12))
    assert (action.title, action.kind, action.is_preferred) == ("Remove the `print` (not tried yet)", types.CodeActionKind.QuickFix, None)
    assert list(action.diagnostics or []) == [shown]
    identifier = types.OptionalVersionedTextDocumentIdentifier(path.as_uri(), 1)
    assert action.edit is not None
    assert [(c.text_document, list(c.edits)) for c in _changes(action)] == [(identifier, [types.TextEdit(shown.range, "pass")])]
    assert await editor.actions(path, span(3, 0, 3, 3)) == []


@pytest.mark.parametrize(
    ("only", "count"), [(None, 1), (["quickfix"], 1), ([""], 1), (["refactor", "quickfix"], 1), (["refactor"], 0), (["quickfix.other"], 0)]
)
async def test_only_the_kinds_that_are_asked_for(editor: Editor, tmp_path: Path, only: list[str] | None, count: int) -> None:
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", BREAK)
    await editor.shows(tmp_path / "a.py", "3:4-3:12")
    assert len(await editor.actions(tmp_path / "a.py", span(0, 0, 9, 0), only)) == count


async def test_an_old_editor_gets_plain_changes(editor: Editor, tmp_path: Path) -> None:
    offers = capabilities()
    assert offers.workspace is not None
    offers.workspace.workspace_edit = None
    await editor.connect(tmp_path, offers=offers)
    path = tmp_path / "a.py"
    editor.open(path, BREAK)
    (shown,) = await editor.shows(path, "3:4-3:12")
    (action,) = await editor.actions(path, shown.range)
    assert action.edit is not None
    assert action.edit.document_changes is None
    assert {uri: list(edits) for uri, edits in (action.edit.changes or {}).items()} == {
        path.as_uri(): [types.TextEdit(shown.range, "pass")]
    }


async def test_a_fix_moves_with_the_text_and_goes_when_its_own_text_is_changed(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, BREAK)
    await editor.shows(path, "3:4-3:12")
    editor.change(path, replacing(0, 0, 0, 0, "# above\n"), replacing(4, 0, 4, 0, "  "))
    (action,) = await editor.actions(path, span(4, 6, 4, 6))
    (change,) = _changes(action)
    assert (change.text_document.version, list(change.edits)) == (2, [types.TextEdit(span(4, 6, 4, 14), "pass")])
    editor.insert(path, 4, 12, "y")
    assert await editor.actions(path, span(4, 0, 4, 20)) == []


def _changes(action: types.CodeAction) -> list[types.TextDocumentEdit]:
    assert action.edit is not None
    return [change for change in action.edit.document_changes or [] if isinstance(change, types.TextDocumentEdit)]


async def test_an_analysis_knows_where_the_user_is(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, BREAK)
    await editor.shows(path, "3:4-3:12")
    editor.insert(path, 3, 12, "  # again")
    editor.save(path)
    await editor.analysed(2)
    assert [request.line for request in editor.analyser.requests] == [None, 3]
