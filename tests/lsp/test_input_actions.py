"""What can be done about the inputs of a marked function, where it is marked."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from .editor import MARK, Editor, span

F = "def f(x):\n    return x\n"
KEEP = "Keep these inputs: `f(torch.randn(8, 16))`"
WRITE = "Write an example call above it"


async def offered(editor: Editor, path: Path, text: str, place: types.Range) -> list[tuple[str, str, str]]:
    editor.open(path, text)
    await editor.analysed(1)
    await editor.settle()
    return [(action.title, *_inserted(action)) for action in await editor.actions(path, place, ["quickfix"])]


def _inserted(action: types.CodeAction) -> tuple[str, str]:
    assert action.edit is not None
    changes = [change for change in action.edit.document_changes or [] if isinstance(change, types.TextDocumentEdit)]
    edits = [edit for change in changes for edit in change.edits] + [
        edit for group in (action.edit.changes or {}).values() for edit in group
    ]
    (edit,) = edits
    assert isinstance(edit, types.TextEdit)
    return str(edit.range), edit.new_text


@pytest.mark.parametrize("place", [span(2, 1, 2, 5), span(3, 4, 3, 5)], ids=["at the mark", "at the name"])
async def test_guessed_inputs_are_kept_as_a_comment(editor: Editor, tmp_path: Path, place: types.Range) -> None:
    await editor.connect(tmp_path)
    found = await offered(editor, tmp_path / "a.py", "# GRAPHS GUESSED\n" + MARK + F, place)
    assert found == [(KEEP, "2:0-2:0", "# graphbreak: f(torch.randn(8, 16))\n")]


async def test_a_call_to_fill_in_is_offered_where_none_was_found(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    (found,) = await offered(editor, tmp_path / "a.py", "# GRAPHS UNREACHED\n" + MARK + F, span(3, 4, 3, 5))
    assert found[0] == WRITE
    assert found[2].startswith("# graphbreak: f(")


@pytest.mark.parametrize("text", ["# GRAPHS\n" + MARK + F, "# GRAPHS GUESSED\n" + MARK.replace("@", "# graphbreak: f(1)\n@") + F])
async def test_nothing_is_offered_where_the_inputs_are_the_users_own(editor: Editor, tmp_path: Path, text: str) -> None:
    await editor.connect(tmp_path)
    line = text[: text.index("def f")].count("\n")
    assert await offered(editor, tmp_path / "a.py", text, span(line, 4, line, 5)) == []
