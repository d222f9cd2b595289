"""While an analysis runs: the bar that the user can cancel, and what an extension is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from .editor import MARK, Editor, capabilities, until

BREAK = MARK + "def f(x):\n    print(x)\n"


async def test_a_run_shows_a_bar_from_begin_to_end(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", "SLOW = 1\n" + BREAK)
    reports = editor.client.progress_reports
    await until(lambda: any(reports.values()))
    editor.analyser.release.set()
    ((begin, end),) = await _bars(editor, 1)
    assert isinstance(begin, types.WorkDoneProgressBegin)
    assert isinstance(end, types.WorkDoneProgressEnd)
    assert (begin.title, begin.cancellable, begin.message) == ("Graphbreak: a.py", True, "tracing")
    assert [state for state, _ in editor.status] == ["tracing", "idle"]


async def test_cancelling_the_bar_ends_the_run_and_keeps_what_was_shown(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, BREAK)
    await editor.shows(path, "3:4-3:12")
    editor.insert(path, 0, 0, "SLOW = 1\n")
    editor.save(path)
    reports = editor.client.progress_reports
    await until(lambda: any(r and len(r) == 1 for r in reports.values()))
    token = next(token for token, r in reports.items() if len(r) == 1)
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    await until(lambda: editor.analyser.cancelled == 1)
    await editor.shows(path, "4:4-4:12", version=2)
    await editor.analysed(2)
    assert isinstance(reports[token][-1], types.WorkDoneProgressEnd)
    editor.save(path)
    await editor.analysed(3)


async def test_an_editor_without_progress_or_status_gets_none(editor: Editor, tmp_path: Path) -> None:
    offers = capabilities()
    offers.window = offers.experimental = None
    await editor.connect(tmp_path, offers=offers)
    editor.open(tmp_path / "a.py", BREAK)
    await editor.shows(tmp_path / "a.py", "3:4-3:12")
    assert not editor.client.progress_reports
    assert not editor.status


async def test_a_bug_in_the_engine_is_logged_and_costs_only_this_answer(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, BREAK)
    await editor.shows(path, "3:4-3:12")
    editor.insert(path, 4, 0, "# BUG\n")
    editor.save(path)
    await until(lambda: any(state == "failed" for state, _ in editor.status))
    await editor.shows(path, "3:4-3:12")
    assert any("RuntimeError: a bug in the engine" in message.message for message in editor.client.log_messages)
    assert not editor.client.messages


@pytest.mark.parametrize("extended", [False, True])
async def test_what_went_wrong_is_logged_and_a_missing_torch_is_shown_once(editor: Editor, tmp_path: Path, extended: bool) -> None:
    await editor.connect(tmp_path, offers=capabilities(extended=extended))
    for name in ("a.py", "b.py"):
        editor.open(tmp_path / name, "# NO TORCH\n# PROBLEM\n" + BREAK)
        await editor.shows(tmp_path / name, "5:4-5:12")
    messages = [message.message for message in editor.client.messages]
    assert (messages, editor.no_environment)[extended] == ["No Python with torch was found."]
    assert (messages, editor.no_environment)[not extended] == []
    logged = [message.message for message in editor.client.log_messages]
    assert logged.count("The program wrote a lot.") == 2
    assert "f (a.py:1): no-environment: No Python with torch was found." in logged


async def _bars(editor: Editor, count: int) -> list[list[object]]:
    reports = editor.client.progress_reports
    await until(lambda: sum(isinstance(r[-1], types.WorkDoneProgressEnd) for r in reports.values() if r) == count)
    return [list(r) for r in reports.values()]
