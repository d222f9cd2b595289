"""What the editor is shown: the fields of a diagnostic, and which file shows what."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from .editor import MARK, Editor
from .fake_server import LIBRARY, URL

PRINT = MARK + "def f(x):\n    print(x)\n"
CALLER = "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n"
HELPER = "def log(x):\n    print(x)\n"


async def test_a_break_is_published_with_everything_the_editor_can_show(editor: Editor, tmp_path: Path) -> None:
    answer = await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", PRINT)
    (shown,) = await editor.shows(tmp_path / "a.py", "3:4-3:12", version=1)
    assert answer.server_info is not None
    assert answer.server_info.name == "graphbreak"
    assert (shown.code, shown.source, shown.severity) == ("GB0059", "graphbreak", types.DiagnosticSeverity.Warning)
    assert shown.code_description == types.CodeDescription(URL)
    assert shown.data == {"id": f"{tmp_path / 'a.py'}:0", "kind": "break"}
    assert shown.message.startswith("Graph break")


async def test_a_cause_in_a_file_that_is_not_open_is_linked_with_its_caller(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", CALLER)
    (caller,) = await editor.shows(tmp_path / "a.py", "4:4-4:17", version=1)
    (cause,) = await editor.shows(tmp_path / "helper.py", "1:4-1:12")
    latest = editor.latest(tmp_path / "helper.py")
    assert latest is not None
    assert latest.version is None
    assert caller.severity == types.DiagnosticSeverity.Information
    assert [place.location for place in caller.related_information or []] == [
        types.Location((tmp_path / "helper.py").as_uri(), cause.range)
    ]
    assert [place.location for place in cause.related_information or []] == [types.Location((tmp_path / "a.py").as_uri(), caller.range)]
    assert caller.data == {"id": f"{tmp_path / 'helper.py'}:0", "kind": "caller"}


async def test_closing_an_entry_takes_away_only_what_its_own_trace_said(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    await editor.connect(tmp_path)
    for name in ("a.py", "b.py"):
        editor.open(tmp_path / name, CALLER)
        await editor.shows(tmp_path / name, "4:4-4:17")
    editor.open(tmp_path / "helper.py", HELPER)
    (cause,) = await editor.shows(tmp_path / "helper.py", "1:4-1:12", version=1)
    assert len(cause.related_information or []) == 2
    editor.close(tmp_path / "helper.py")
    editor.close(tmp_path / "a.py")
    await editor.shows(tmp_path / "a.py")
    (cause,) = await editor.shows(tmp_path / "helper.py", "1:4-1:12")
    assert len(cause.related_information or []) == 1
    editor.close(tmp_path / "b.py")
    await editor.shows(tmp_path / "b.py")
    await editor.shows(tmp_path / "helper.py")


async def test_closing_without_saving_shows_the_text_on_disk_again(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", CALLER)
    editor.open(tmp_path / "helper.py", HELPER)
    await editor.shows(tmp_path / "helper.py", "1:4-1:12", version=1)
    editor.insert(tmp_path / "helper.py", 0, 0, "\n\n")
    await editor.shows(tmp_path / "helper.py", "3:4-3:12", version=2)
    editor.close(tmp_path / "helper.py")
    await editor.shows(tmp_path / "helper.py", "1:4-1:12")


async def test_ignored_diagnostics_are_not_shown(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", MARK + "def f(x):\n    print(1)  # quiet\n    print(2)\n")
    await editor.shows(tmp_path / "a.py", "4:4-4:12")
    assert await editor.hover(tmp_path / "a.py", 3, 6) is None


async def test_library_causes_of_one_call_are_one_squiggle_that_lists_them(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", MARK + "def f(x):\n    return model(x)\n")
    (shown,) = await editor.shows(tmp_path / "a.py", "3:11-3:19")
    assert shown.message.startswith("3 graph breaks in library code below this call: GB0059 in `inner` (lib.py:1)")
    assert shown.code == "GB0059, GB0170"
    assert [(place.location.uri, place.location.range.start.line) for place in shown.related_information or []] == [
        (Path(LIBRARY).as_uri(), line) for line in (0, 10, 20)
    ]
    assert shown.data == {"id": "lib0", "kind": "break", "ids": ["lib0", "lib1", "lib2"]}


async def test_a_document_without_marks_is_not_analysed_and_shows_nothing(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    editor.open(tmp_path / "plain.py", "def f(x):\n    print(x)\n")
    editor.open(tmp_path / "notes.txt", PRINT, language="plaintext")
    await editor.analysed(0)
    editor.open(tmp_path / "a.py", PRINT)
    await editor.shows(tmp_path / "a.py", "3:4-3:12")
    editor.change(tmp_path / "a.py", types.TextDocumentContentChangeWholeDocument("def f(x):\n    print(x)\n"))
    editor.save(tmp_path / "a.py")
    await editor.shows(tmp_path / "a.py")
    await editor.analysed(1)


async def test_what_is_no_file_is_let_be(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    item = types.TextDocumentItem("untitled:Untitled-1", "python", 1, PRINT)
    editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    change = types.TextDocumentContentChangeWholeDocument("x")
    identifier = types.VersionedTextDocumentIdentifier(2, item.uri)
    editor.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
    await editor.analysed(0)
    assert not editor.client.log_messages
    assert not editor.client.messages


async def test_a_run_that_finds_out_nothing_new_leaves_what_was_known(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, PRINT)
    await editor.shows(path, "3:4-3:12")
    editor.insert(path, 0, 0, "# STALE\n")
    for _ in range(2):
        editor.save(path)
        _, hint, *_ = reversed(await editor.shows(path, "0:0-0:1", "4:4-4:12"))
        assert hint.severity == types.DiagnosticSeverity.Hint
    editor.change(path, types.TextDocumentContentChangeWholeDocument(PRINT))
    editor.save(path)
    await editor.shows(path, "3:4-3:12", version=3)
