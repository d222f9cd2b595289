"""completion over the wire: in a `# graphbreak:` comment, with stops to type at where the editor has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types

from .editor import MARK, Editor, capabilities

TEXT = "import torch\n# graphbreak: \ndef f(x, n: int):\n    return x\n"


def with_snippets() -> types.ClientCapabilities:
    """An editor that knows snippets."""
    offers = capabilities()
    assert offers.text_document is not None
    item = types.ClientCompletionItemOptions(snippet_support=True)
    offers.text_document.completion = types.CompletionClientCapabilities(completion_item=item)
    return offers


async def offered(editor: Editor, path: Path, line: int, character: int) -> list[types.CompletionItem]:
    """What the server offers at a position."""
    params = types.CompletionParams(types.TextDocumentIdentifier(path.as_uri()), types.Position(line, character))
    found: Any = await editor.client.text_document_completion_async(params)
    return [] if found is None else list(found.items)


async def test_the_call_of_the_function_is_offered_as_a_snippet(editor: Editor, tmp_path: Path) -> None:
    result = await editor.connect(tmp_path, offers=with_snippets())
    assert result.capabilities.completion_provider is not None
    assert ":" in (result.capabilities.completion_provider.trigger_characters or ())
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    first, *_ = await offered(editor, path, 1, 14)
    assert isinstance(first.text_edit, types.TextEdit)
    assert (first.text_edit.new_text, str(first.text_edit.range)) == ("f(${1:torch.randn(2, 8)}, ${2:2})", "1:14-1:14")
    assert first.insert_text_format == types.InsertTextFormat.Snippet
    assert await offered(editor, path, 2, 4) == []


async def test_an_editor_without_snippets_gets_the_text_and_what_was_traced_comes_first(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, "# é🎉\n" + MARK + "def f(x):\n    GRAPHS\n")
    await editor.analysed(1)
    editor.insert(path, 2, 0, "# graphbreak: \n")
    first, *_ = await offered(editor, path, 2, 14)
    assert first.text_edit is not None
    assert (first.label, first.detail) == ("f(torch.randn(8, 16))", "as it was called when it was traced")
    assert first.text_edit.new_text == first.label
    assert first.insert_text_format == types.InsertTextFormat.PlainText
