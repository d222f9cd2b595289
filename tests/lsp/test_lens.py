"""The row above each marked function."""

from __future__ import annotations

import re
from pathlib import Path

from lsprotocol import types

from .editor import MARK, Editor, capabilities, replacing, until

TEXT = "# GRAPHS\n" + MARK + "def f(x):\n    y = x + 1\n    print(y)\n    return y\n"


async def test_a_traced_function_says_what_became_of_it_and_what_can_be_done(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "5:4-5:12")
    uri = path.as_uri()
    assert [(line, c.title, c.command, list(c.arguments or [])) for line, c in await editor.lenses(path)] == [
        (3, "2 graphs · 1 break · x: f32[8, 16] (from call)", "graphbreak.showGraphs", [uri, "f"]),
        (3, "Trace now", "graphbreak.traceFile", [uri]),
        (3, "Show graphs", "graphbreak.showGraphs", [uri, "f"]),
        (3, "Edit inputs", "graphbreak.editInputs", [uri, 2, "", "# graphbreak: f(torch.randn(8, 16))", None]),
    ]


async def test_lenses_follow_the_text_and_an_existing_directive_is_named(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "5:4-5:12")
    editor.insert(path, 2, 0, "# graphbreak: f(1)\n")
    lenses = await editor.lenses(path)
    editor.insert(path, 3, 14, "()")  # behind `@torch.compile`
    lenses = await editor.lenses(path)
    assert {line for line, _ in lenses} == {4}
    assert lenses[0][1].title.startswith("2 graphs")
    assert list(lenses[3][1].arguments or [])[-1] == 2


async def test_what_is_not_known_says_why(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"run": "manual"})
    path = tmp_path / "a.py"
    editor.open(path, "# UNREACHED SLOW\n" + TEXT)
    assert await _titles(editor, path) == ["not analysed: tracing waits for the command", "Trace now", "Edit inputs"]
    await editor.command("graphbreak.trace", path.as_uri())
    await editor.analysed(1)
    assert (await _titles(editor, path))[0] == "tracing…"
    editor.analyser.release.set()
    await editor.shows(path, "6:4-6:12")
    assert await _titles(editor, path) == ["not analysed: nothing in this file calls it", "Trace now", "Edit inputs"]
    refreshes = editor.refreshes
    assert refreshes > 0
    await editor.command("graphbreak.trace", path.as_uri())
    await until(lambda: editor.refreshes > refreshes)


async def test_an_untrusted_workspace_shows_its_marks_and_offers_no_trace(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"trusted": False})
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    assert await _titles(editor, path) == ["not analysed: the workspace is not trusted", "Edit inputs"]
    await editor.analysed(0)


async def test_an_editor_without_our_commands_gets_one_lens_that_traces(editor: Editor, tmp_path: Path) -> None:
    offers = capabilities()
    offers.experimental = None
    await editor.connect(tmp_path, offers=offers)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "5:4-5:12")
    ((line, command),) = await editor.lenses(path)
    assert (line, command.command, list(command.arguments or [])) == (3, "graphbreak.trace", [path.as_uri()])


async def test_a_function_marked_in_another_file_has_a_lens_in_both(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"run": "manual"})
    path, other = tmp_path / "a.py", tmp_path / "b.py"
    editor.open(path, TEXT)
    editor.open(other, "import torch\nfrom a import f\ng = torch.compile(f)\n")
    await editor.command("graphbreak.trace", path.as_uri())
    await editor.shows(path, "5:4-5:12")
    assert (await editor.lenses(other))[0][0] == 2
    assert await editor.lenses(tmp_path / "notopen.py") == []


async def test_one_function_compiled_twice_has_a_row_at_each_mark(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, "# GRAPHS\nimport torch\ndef f(x):\n    return x\na = torch.compile(f)\nb = torch.compile(f, dynamic=True)\n")
    await editor.analysed(1)
    lenses = await editor.lenses(path)
    assert [(line, command.title) for line, command in lenses if "graph" in command.title and "·" in command.title] == [
        (line, "1 graph · no breaks · x: f32[8, 16] (from call)") for line in (4, 5)
    ]
    assert [list(command.arguments or [])[1] for _, command in lenses if command.title == "Edit inputs"] == [2, 2]


async def test_lenses_can_be_turned_off(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, configuration={"": {"graphbreak": {"lens": False}}})
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "5:4-5:12")
    assert await editor.lenses(path) == []
    editor.client.set_configuration({"lens": True}, section="graphbreak")
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
    await editor.settle()
    assert len(await editor.lenses(path)) == 4
    await editor.analysed(1)


async def test_a_file_that_cannot_be_run_any_more_keeps_its_row_and_says_so(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "5:4-5:12")
    editor.insert(path, 0, 0, "# STALE UNREACHED\n")
    editor.save(path)
    await editor.shows(path, "0:0-0:1", "6:4-6:12")
    assert re.fullmatch(
        r"2 graphs · 1 break · x: f32\[8, 16\] \(from call\) · not analysed since \d\d:\d\d: nothing in this file calls it",
        (await _titles(editor, path))[0],
    )
    assert re.search(r"This is known from \d\d:\d\d; it could not be analysed since\.$", await _hover(editor, path, 6, 5))
    assert "known from" not in await _hover(editor, path, 0, 0)
    editor.change(path, replacing(0, 0, 1, 0, ""))
    editor.save(path)
    await editor.shows(path, "5:4-5:12")
    assert "known from" not in await _hover(editor, path, 5, 5)


async def _hover(editor: Editor, path: Path, line: int, character: int) -> str:
    hover = await editor.hover(path, line, character)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    return hover.contents.value


async def _titles(editor: Editor, path: Path) -> list[str]:
    return [command.title for _, command in await editor.lenses(path)]
