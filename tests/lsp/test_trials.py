"""Fixes are offered at once and tried in the background: what is looked at first, nothing while a trace runs, nothing of an older text."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from graphbreak.core.source import Edit, SourceFile, Span

from .editor import MARK, Editor, capabilities, span, until

PREFIX = "import torch\n# GRAPHS TRY ONE BY ONE\n@torch.compile\ndef f(x):\n"
THREE = PREFIX + "    print(safe, 1)\n    print(2)\n    print(safe, 3)\n"
FIRST, SECOND, THIRD = span(4, 4, 4, 4), span(5, 4, 5, 4), span(6, 4, 6, 4)
ALL = ["4:4-4:18", "5:4-5:12", "6:4-6:18"]


async def titles(editor: Editor, path: Path, place: types.Range) -> list[str]:
    return [action.title for action in await editor.actions(path, place)]


def let_in(editor: Editor, count: int) -> None:
    for _ in range(count):
        editor.analyser.let_in.release()


async def tried(editor: Editor, *code: str) -> None:
    await until(lambda: editor.analyser.tried == list(code), lambda: f"{editor.analyser.tried} were tried, not {list(code)}")
    await editor.settle()


async def test_a_title_says_what_a_trial_showed(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    (untried,) = await editor.actions(path, FIRST)
    assert (untried.title, untried.is_preferred) == ("Remove the `print` (not tried yet)", None)
    let_in(editor, 1)
    await tried(editor, "print(safe, 1)")
    (action,) = await editor.actions(path, FIRST)
    assert (action.title, action.is_preferred) == ("Remove the `print` — removes 1 of 3 breaks, outputs equal", True)
    assert action.edit == untried.edit
    let_in(editor, 1)
    await editor.hover(path, 5, 6)
    let_in(editor, 2)
    await until(lambda: "print(2)" in editor.analyser.tried)
    await editor.settle()
    action, *_ = await editor.actions(path, SECOND)
    assert (action.title, action.is_preferred) == ("Remove the `print` — removes 1 of 3 breaks, outputs equal", None)
    assert len([published for published in editor.published if published.uri == path.as_uri()]) == 1


async def test_an_extension_is_told_when_fixes_are_tried_and_when_that_is_over(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    await until(lambda: editor.trying == [True])
    let_in(editor, 20)
    await until(lambda: editor.trying == [True, False], lambda: f"{editor.trying}")
    (action,) = await editor.actions(path, span(0, 0, 9, 0), ["source.fixAll.graphbreak"])
    assert action.edit is not None


async def test_between_a_trace_and_the_trials_of_its_fixes_there_is_no_rest(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path, other = tmp_path / "a.py", tmp_path / "b.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    await until(lambda: editor.goings_on == ["tracing", "trying", "idle"], lambda: f"{editor.goings_on}")
    editor.open(other, PREFIX + "    print(1)\n")
    await editor.shows(other, "4:4-4:12")
    let_in(editor, 20)
    await until(lambda: editor.goings_on[-1] == "tried", lambda: f"{editor.goings_on}")
    assert editor.goings_on == ["tracing", "trying", "idle", "tracing", "idle", "tried"]


async def test_what_was_shown_of_the_same_text_is_not_tried_again(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    let_in(editor, 1)
    await tried(editor, "print(safe, 1)")
    editor.save(path)
    await editor.analysed(2)
    await editor.settle()
    assert await titles(editor, path, FIRST) == ["Remove the `print` — removes 1 of 3 breaks, outputs equal"]
    let_in(editor, 1)
    await tried(editor, "print(safe, 1)", "print(safe, 3)")


async def test_what_is_looked_at_comes_first(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    await until(lambda: editor.analyser.trials == 1)
    await editor.hover(path, 6, 6)
    await until(lambda: editor.analyser.trials == 2)
    await editor.actions(path, SECOND)
    await editor.settle()
    assert editor.analyser.trials == 2
    let_in(editor, 2)
    await until(lambda: len(editor.analyser.tried) == 2)
    assert set(editor.analyser.tried) == {"print(safe, 1)", "print(safe, 3)"}
    assert editor.analyser.most_trials == 2


async def test_an_edit_ends_trials_and_makes_their_verdicts_void(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    let_in(editor, 1)
    await tried(editor, "print(safe, 1)")
    editor.insert(path, 0, 0, "# more\n")
    await until(lambda: editor.analyser.trials == 0)
    assert await titles(editor, path, span(5, 4, 5, 4)) == ["Remove the `print` (not tried yet)"]
    assert await editor.actions(path, span(0, 0, 9, 0), ["source.fixAll"]) == []
    let_in(editor, 5)
    await editor.settle()
    assert editor.analyser.tried == ["print(safe, 1)"]


async def test_an_edit_of_a_helper_ends_the_trials_of_what_uses_it(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    helper, entry = tmp_path / "helper.py", tmp_path / "a.py"
    helper.write_text("def g(x):\n    print(x)\n")
    editor.open(helper, helper.read_text())
    editor.open(entry, "import torch\nimport helper\n# GRAPHS TRY ONE BY ONE\n@torch.compile\ndef f(x):\n    helper.g(x)\n")
    await editor.shows(helper, "1:4-1:12")
    await until(lambda: editor.analyser.trials == 1)
    editor.insert(helper, 0, 0, "\n")
    await until(lambda: editor.analyser.trials == 0)


async def test_a_trace_comes_before_trials(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path, slow = tmp_path / "a.py", tmp_path / "b.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    await until(lambda: editor.analyser.trials == 1)
    editor.open(slow, "SLOW = 1\n" + MARK + "def f(x):\n    return x\n")
    await until(lambda: editor.analyser.trials == 0)
    await editor.actions(path, FIRST)
    assert editor.analyser.trials == 0
    editor.analyser.release.set()
    await until(lambda: editor.analyser.trials == 1)


async def test_fix_all_is_what_is_verified_so_far(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, THREE)
    await editor.shows(path, *ALL)
    everything = span(0, 0, 9, 0)
    assert await editor.actions(path, everything, ["source.fixAll.graphbreak"]) == []
    let_in(editor, 2)
    await tried(editor, "print(safe, 1)", "print(safe, 3)")
    (one,) = await editor.actions(path, everything, ["source.fixAll.graphbreak"])
    assert edited(THREE, one) == THREE.replace("print(safe, 3)", "pass")  # the one that is hit most
    assert len(await titles(editor, path, FIRST)) == 1
    let_in(editor, 5)
    await until(lambda: "print(2)" in editor.analyser.tried)
    await editor.settle()
    for only in ("source", "source.fixAll", "source.fixAll.graphbreak"):
        (both,) = await editor.actions(path, everything, [only])
        assert both.kind == "source.fixAll.graphbreak"
        assert edited(THREE, both) == THREE.replace("print(safe, 1)", "pass").replace("print(safe, 3)", "pass")
    _, together = await editor.actions(path, FIRST)
    assert (together.title, together.kind) == (
        "Fix all safe graph breaks in this file — removes 2 of 3, outputs equal",
        types.CodeActionKind.QuickFix,
    )
    assert together.edit == both.edit
    assert await editor.actions(path, everything, ["source.organizeImports"]) == []


@pytest.mark.parametrize("shows_disabled", [True, False])
async def test_a_fix_that_fails_is_shown_with_the_reason_or_not_at_all(editor: Editor, tmp_path: Path, shows_disabled: bool) -> None:
    offers = capabilities()
    assert offers.text_document is not None
    assert offers.text_document.code_action is not None
    offers.text_document.code_action.disabled_support = shows_disabled
    await editor.connect(tmp_path, offers=offers)
    path = tmp_path / "a.py"
    editor.open(path, "import torch\n# GRAPHS TRY\n@torch.compile\ndef f(x):\n    print(safe, DIFFERS)\n")
    await editor.shows(path, "4:4-4:24")
    await tried(editor, "print(safe, DIFFERS)")
    found = await editor.actions(path, FIRST)
    reason = "the outputs differ: it returns something else"
    expected = [(f"Remove the `print` — tried: {reason}", types.CodeActionDisabled(reason), None)] if shows_disabled else []
    assert [(action.title, action.disabled, action.edit) for action in found] == expected


async def test_nothing_is_tried_where_that_is_switched_off(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"tryFixes": False})
    path = tmp_path / "a.py"
    editor.open(path, THREE.replace("TRY ONE BY ONE", "TRY"))
    await editor.shows(path, *ALL)
    assert await titles(editor, path, FIRST) == ["Remove the `print` (not tried yet)"]
    await editor.settle()
    assert editor.analyser.tried == []


def edited(text: str, action: types.CodeAction) -> str:
    """The text after an action that edits one file of plain ASCII."""
    assert action.edit is not None
    (change,) = action.edit.document_changes or []
    assert isinstance(change, types.TextDocumentEdit)
    edits = [
        Edit(Span.at(one.range.start.line, one.range.start.character, one.range.end.line, one.range.end.character), one.new_text)
        for one in change.edits
        if isinstance(one, types.TextEdit)
    ]
    return SourceFile("", text).apply(edits).text
