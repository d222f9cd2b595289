"""When a document is analysed, and that the newest request wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from graphbreak.lsp import triggers

from .editor import MARK, Editor, capabilities, replacing, until

CLEAN = MARK + "def f(x):\n    return x\n"
SLOW = "SLOW = 1\n" + CLEAN


async def test_on_save_an_edit_is_seen_after_saving(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, CLEAN)
    await editor.analysed(1)
    editor.insert(path, 3, 0, "    print(x)\n")
    await editor.settle()
    await editor.analysed(1)
    editor.save(path)
    await editor.shows(path, "3:4-3:12", version=2)
    request = editor.analyser.requests[1]
    assert (request.version, request.overlay[str(path)]) == (2, request.source.text)


async def test_what_is_asked_for_is_traced_anew_whatever_is_kept(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, CLEAN)
    await editor.analysed(1)
    await editor.command("graphbreak.trace", path.as_uri())
    await editor.analysed(2)
    assert [request.fresh for request in editor.analyser.requests] == [False, True]


async def test_on_type_an_edit_is_seen_after_a_pause_and_only_then(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"run": "onType"})
    path = tmp_path / "a.py"
    editor.open(path, CLEAN)
    await editor.analysed(1)
    for column, character in enumerate("    print(x)"):
        editor.insert(path, 3, column, character)
    editor.insert(path, 3, 12, "\n")
    await editor.analysed(1)
    await editor.shows(path, "3:4-3:12")
    await editor.analysed(2)


async def test_on_type_an_edit_ends_at_once_what_it_makes_stale(editor: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "PAUSE", 1000.0)
    await editor.connect(tmp_path, options={"run": "onType"})
    helper, entry, other = tmp_path / "helper.py", tmp_path / "a.py", tmp_path / "b.py"
    editor.open(helper, "def log(x): pass\n")
    editor.open(entry, "import helper\n" + CLEAN)
    await editor.analysed(1)
    editor.change(entry, replacing(0, 0, 0, 0, "# SLOW\n"))
    await editor.command("graphbreak.trace", entry.as_uri())
    editor.open(other, SLOW)
    await editor.analysed(3)
    editor.insert(helper, 0, 0, "\n")
    await until(lambda: editor.analyser.cancelled == 1)
    await editor.analysed(3)
    assert editor.analyser.cancelled == 1, "what the edit has nothing to do with goes on"


async def test_manual_waits_for_the_command(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"run": "manual"})
    path = tmp_path / "a.py"
    editor.open(path, "print(1)\n")
    editor.save(path)
    await editor.analysed(0)
    await editor.command("graphbreak.trace", path.as_uri())
    await editor.shows(path, "0:0-0:8")
    assert editor.analyser.requests[0].run_unmarked
    await editor.command("graphbreak.trace", "file:///not/open.py")
    await editor.command("graphbreak.trace")
    await editor.analysed(1)


TWO = "# GRAPHS\n" + MARK + "def f(x):\n    print(x)\n\n@torch.compile\ndef g(x):\n    print(x)\n"


@pytest.mark.parametrize(("wanted", "name"), [("g", "g"), (7, "g"), (6, "g"), (4, "f"), (0, "f"), ("other", None), (None, None)])
async def test_one_function_is_traced_and_what_is_known_of_the_others_stays(
    editor: Editor, tmp_path: Path, wanted: object, name: str | None
) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TWO)
    await editor.shows(path, "4:4-4:12", "8:4-8:12")
    editor.insert(path, 0, 0, "#\n")
    assert await editor.command("graphbreak.trace", path.as_uri(), wanted if not isinstance(wanted, int) else wanted + 1) == name
    await editor.analysed(2)
    assert editor.analyser.requests[1].only == (name or "")
    await editor.shows(path, "5:4-5:12", "9:4-9:12")
    (report,) = (await editor.request("graphbreak/report"))["reports"]
    assert [(function["name"], function["line"]) for function in report["functions"]] == [("f", 4), ("g", 8)]
    assert sorted(found["functions"] for found in report["diagnostics"]) == [["f"], ["g"]]


async def test_a_function_that_is_fixed_loses_its_break_and_the_other_one_keeps_it(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TWO)
    await editor.shows(path, "4:4-4:12", "8:4-8:12")
    editor.change(path, replacing(4, 4, 4, 12, "pass"))
    await editor.command("graphbreak.trace", path.as_uri(), "f")
    await editor.shows(path, "8:4-8:12", version=2)
    (report,) = (await editor.request("graphbreak/report"))["reports"]
    assert [(function["name"], function["breaks"]) for function in report["functions"]] == [("f", 0), ("g", 1)]


async def test_two_functions_asked_for_in_turn_are_both_traced(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"run": "manual"})
    path = tmp_path / "a.py"
    editor.open(path, "SLOW = 1\n" + TWO)
    for name in ("f", "f", "g"):
        await editor.command("graphbreak.trace", path.as_uri(), name)
    await editor.analysed(2)
    assert [request.only for request in editor.analyser.requests] == ["f", ""]
    editor.analyser.release.set()
    await editor.shows(path, "5:4-5:12", "9:4-9:12")


async def test_saving_a_helper_analyses_the_open_documents_that_used_it(editor: Editor, tmp_path: Path) -> None:
    helper, entry, other = tmp_path / "helper.py", tmp_path / "a.py", tmp_path / "b.py"
    helper.write_text("def log(x): pass\n")
    await editor.connect(tmp_path)
    editor.open(entry, "import helper\n" + CLEAN)
    editor.open(other, CLEAN)
    editor.open(helper, "def log(x): pass\n")
    await editor.analysed(2)
    editor.insert(helper, 0, 12, "print(x); ")
    editor.save(helper)
    await editor.shows(helper, "0:12-0:20", version=2)
    await editor.analysed(3)
    assert editor.analyser.requests[2].source.path == str(entry)


async def test_a_helper_written_by_another_program_counts_as_saved(editor: Editor, tmp_path: Path) -> None:
    helper, entry = tmp_path / "helper.py", tmp_path / "a.py"
    helper.write_text("def log(x): pass\n")
    await editor.connect(tmp_path)
    await until(lambda: types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.registered)
    editor.open(entry, "import helper\n" + CLEAN)
    await editor.analysed(1)
    helper.write_text("def log(x): print(x)\n")
    changes = [types.FileEvent(path.as_uri(), types.FileChangeType.Changed) for path in (helper, entry)]
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))
    await editor.shows(helper, "0:12-0:20")
    await editor.analysed(2)


async def test_a_helper_saved_while_the_trace_runs_is_traced_again(editor: Editor, tmp_path: Path) -> None:
    helper, entry = tmp_path / "helper.py", tmp_path / "a.py"
    helper.write_text("def log(x): pass\n")
    await editor.connect(tmp_path)
    editor.open(helper, "def log(x): pass\n")
    editor.open(entry, "import helper\n" + SLOW)
    await editor.analysed(1)
    editor.insert(helper, 0, 12, "print(x); ")
    editor.save(helper)
    await editor.settle()
    editor.analyser.release.set()
    await editor.shows(helper, "0:12-0:20")
    await editor.analysed(2)


async def test_the_newest_request_replaces_the_waiting_one_and_ends_a_stale_run(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, SLOW)
    await editor.analysed(1)
    editor.save(path)  # nothing has changed: the running trace is the answer
    await editor.analysed(1)
    for _ in range(3):
        editor.insert(path, 4, 0, "    print(x)\n")
        editor.save(path)
    await editor.analysed(2)
    assert editor.analyser.cancelled == 1
    editor.analyser.release.set()
    await editor.shows(path, "4:4-4:12", "5:4-5:12", "6:4-6:12", version=4)
    await editor.analysed(2)


async def test_closing_ends_a_run_and_nothing_of_it_is_shown(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, SLOW + "    print(1)\n")
    await editor.analysed(1)
    editor.close(path)
    await until(lambda: editor.analyser.cancelled == 1)
    editor.open(path, CLEAN)
    await editor.analysed(2)
    assert not any(params.diagnostics for params in editor.published)


@pytest.mark.parametrize("extended", [False, True])
async def test_an_untrusted_workspace_runs_nothing_and_says_so_once(editor: Editor, tmp_path: Path, extended: bool) -> None:
    # A settings file of the workspace itself must not be able to grant trust.
    configuration = {"": {"graphbreak": {"trusted": True}}}
    await editor.connect(tmp_path, options={"trusted": False}, configuration=configuration, offers=capabilities(extended=extended))
    for name in ("a.py", "b.py"):
        editor.open(tmp_path / name, CLEAN)
        editor.save(tmp_path / name)
        await editor.command("graphbreak.trace", (tmp_path / name).as_uri())
    await editor.analysed(0)
    said = editor.client.log_messages if extended else editor.client.messages
    assert ["not trusted" in message.message for message in said] == [True]
    assert not extended or not editor.client.messages, "its status says so already"


async def test_restart_gets_fresh_workers_and_analyses_what_is_open(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", SLOW)
    await editor.analysed(1)
    await editor.command("graphbreak.restart")
    await editor.analysed(2)
    assert (editor.analyser.restarts, editor.analyser.cancelled) == (1, 1)
