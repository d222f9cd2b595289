"""The refactor actions over the wire."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from .editor import Editor, span

CLEAN = "import torch\n# GRAPHS\n@torch.compile\ndef f(x):\n    return x * 2\n"
BROKEN = "import torch\n# GRAPHS\n@torch.compile\ndef f(x):\n    y = x * 2\n    print(y)\n    return y + 1\n"


@pytest.mark.parametrize("only", [None, ["refactor"], ["refactor.rewrite"]])
@pytest.mark.parametrize("line", [2, 3])
async def test_a_clean_function_can_be_held_to_one_graph(editor: Editor, tmp_path: Path, only: list[str] | None, line: int) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, CLEAN)
    (action,) = await _offered(editor, path, span(line, 4, line, 4), only)
    assert (action.title, action.kind) == ("Allow no graph break here (`fullgraph=True`)", types.CodeActionKind.RefactorRewrite)
    assert action.edit is not None
    (change,) = action.edit.document_changes or []
    assert isinstance(change, types.TextDocumentEdit)
    assert list(change.edits) == [types.TextEdit(span(2, 14, 2, 14), "(fullgraph=True)")]
    assert await editor.actions(path, span(4, 4, 4, 4), only) == []
    assert await editor.actions(path, span(line, 4, line, 4), ["quickfix"]) == []


async def test_a_function_is_split_at_its_break(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, BROKEN)
    await editor.shows(path, "5:4-5:12")
    (action,) = await editor.actions(path, span(5, 4, 5, 4), ["refactor"])
    assert (action.title, action.kind) == ("Compile what is before and behind this in `f`", types.CodeActionKind.RefactorExtract)
    assert await editor.actions(path, span(3, 4, 3, 4), ["refactor"]) == []


async def _offered(editor: Editor, path: Path, place: types.Range, only: list[str] | None) -> list[types.CodeAction]:
    """The actions as soon as there are any: a clean document says nothing when its trace is over."""
    for _ in range(500):
        found = await editor.actions(path, place, only)
        if found:
            return found
        await asyncio.sleep(0.01)
    return []
