"""The three ways of counting columns: positions are exact with characters that take one, two, three and four bytes before them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from .editor import MARK, Editor, capabilities, replacing, span

# Before the break stand `é` (two bytes), `€` (three) and `😀` (four bytes, two UTF-16 units).
TEXT = MARK + "def f(x):\n    s = 'é€😀'; print(x)\n"
START = {"utf-8": 21, "utf-16": 16, "utf-32": 15}
OFFERS: list[list[str] | None] = [["utf-16"], ["utf-16", "utf-8"], ["utf-16", "utf-8", "utf-32"], ["utf-7"], None]
AGREED = ["utf-16", "utf-8", "utf-32", "utf-16", "utf-16"]


@pytest.mark.parametrize(("offer", "agreed"), list(zip(OFFERS, AGREED, strict=True)))
async def test_positions_are_exact_behind_an_emoji(editor: Editor, tmp_path: Path, offer: list[str] | None, agreed: str) -> None:
    offers = capabilities()
    offers.general = types.GeneralClientCapabilities(position_encodings=offer)
    answer = await editor.connect(tmp_path, offers=offers)
    assert answer.capabilities.position_encoding == agreed
    path, start = tmp_path / "a.py", START[agreed]
    editor.open(path, TEXT)
    await editor.shows(path, f"3:{start}-3:{start + 8}")

    assert await editor.hover(path, 3, start - 1) is None
    hover = await editor.hover(path, 3, start)
    assert hover is not None
    assert str(hover.range) == f"3:{start}-3:{start + 8}"

    (action,) = await editor.actions(path, span(3, start + 2, 3, start + 2))
    assert action.edit is not None
    assert action.edit.document_changes is not None
    (edit,) = action.edit.document_changes
    assert isinstance(edit, types.TextDocumentEdit)
    assert list(edit.edits) == [types.TextEdit(span(3, start, 3, start + 8), "pass")]

    # Type two more characters between the string and the break, and put an emoji in the break itself.
    editor.change(path, replacing(3, start, 3, start, "é😀"), replacing(3, 0, 3, 0, "😀"))
    await editor.settle()
    added = {"utf-8": 10, "utf-16": 5, "utf-32": 3}[agreed]
    await editor.shows(path, f"3:{start + added}-3:{start + added + 8}", version=2)
    editor.save(path)
    await editor.analysed(2)
    assert editor.analyser.requests[1].source.line(3) == "😀    s = 'é€😀'; é😀print(x)"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_lines_are_cut_where_the_editor_cuts_them(editor: Editor, tmp_path: Path, end: str) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, "# \f \u2028 \x85 \x1c".join(["", "\n"]).replace("\n", end) + TEXT.replace("\n", end))
    await editor.shows(path, "4:16-4:24")
    editor.change(path, replacing(4, 0, 5, 0, f"    print(1){end}    print(2){end}"))
    editor.save(path)
    await editor.shows(path, "4:4-4:12", "5:4-5:12")


async def test_a_byte_order_mark_counts_for_the_editor_and_not_for_python(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, "\ufeffprint(0); " + TEXT)
    await editor.shows(path, "0:1-0:9", "3:16-3:24")
    assert editor.analyser.requests[0].source.text.startswith("print(0)")
    editor.insert(path, 0, 1, "1; ")
    await editor.shows(path, "0:4-0:12", "3:16-3:24", version=2)


async def test_positions_outside_the_text_are_taken_for_the_nearest_inside(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    editor.change(path, replacing(3, 0, 99, 0, "    print(1)"), replacing(3, 99, 3, 99, "  # end"))
    editor.save(path)
    await editor.shows(path, "3:4-3:12")
    assert editor.analyser.requests[-1].source.line(3) == "    print(1)  # end"
