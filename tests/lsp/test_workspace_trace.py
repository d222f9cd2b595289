"""Tracing the whole workspace in the background, and ending what runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types

from graphbreak.core.source import SourceFile
from graphbreak.lsp import workspace_files
from graphbreak.lsp.workspace_files import marked_files
from graphbreak.tracer.files import read_source

from .editor import MARK, Editor, capabilities, until

BREAK = MARK + "def f(x):\n    print(x)\n"
SLOW = "# SLOW\n" + MARK + "def f(x):\n    return x\n"


def test_marked_files_are_those_of_the_user_that_have_marks(tmp_path: Path) -> None:
    wanted = ["a.py", "deep/b.py", "deep/er/directive.py"]
    for name in [*wanted, "node_modules/a.py", ".hidden/a.py", "venv/lib/a.py", "lib/site-packages/a.py", "notes.txt"]:
        _write(tmp_path / name, BREAK)
    _write(tmp_path / "deep/er/directive.py", "# graphbreak: f(1)\ndef f(x): pass\n")
    _write(tmp_path / "venv/pyvenv.cfg", "")
    _write(tmp_path / "plain.py", "import re\nre.compile('x')\n")
    (tmp_path / "binary.py").write_bytes(b"compile \xff\x00")
    _write(tmp_path / "opened.py", BREAK)
    folders = [str(tmp_path), str(tmp_path / "deep")]
    assert marked_files(folders, {str(tmp_path / "opened.py"): "x = 1\n"}, lambda: False) == [str(tmp_path / name) for name in wanted]
    assert marked_files(folders, {}, lambda: True) == []


def test_files_without_the_words_are_not_read_whole(tmp_path: Path) -> None:
    _write(tmp_path / "split.py", "#" * ((1 << 16) - 3) + "compile\n" + BREAK)
    _write(tmp_path / "none.py", "#" * (1 << 17))
    assert marked_files([str(tmp_path)], {}, lambda: False) == [str(tmp_path / "split.py")]


def test_of_five_thousand_files_those_with_the_word_are_read_by_several_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"marked": BREAK, "pattern": "import re\nre.compile('x')\n", "plain": "x = 1\n" * 50}
    names = ["marked" if number % 25 == 0 else "pattern" if number % 25 == 1 else "plain" for number in range(5000)]
    for number, name in enumerate(names):
        _write(tmp_path / f"package{number // 100}" / f"{name}{number}.py", texts[name])
    read: list[str] = []
    readers: set[str] = set()
    real, chunks = read_source, workspace_files._chunks

    def reading(path: str) -> SourceFile | None:
        read.append(Path(path).name)
        return real(path)

    def looking(path: str) -> Iterator[bytes]:
        readers.add(threading.current_thread().name)
        return chunks(path)

    monkeypatch.setattr(workspace_files, "read_source", reading)
    monkeypatch.setattr(workspace_files, "_chunks", looking)
    found = marked_files([str(tmp_path)], {}, lambda: False)
    assert sorted(Path(path).name for path in found) == sorted(f"marked{number}.py" for number in range(0, 5000, 25))
    assert sorted(read) == sorted(f"{name}{number}.py" for number, name in enumerate(names) if name != "plain")
    assert len(readers) > 1
    assert threading.current_thread().name not in readers


def test_what_git_leaves_out_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("app/a.py", "app/made/b.py", "app/deep/c.gen.py", "app/deep/d.py", "other/e.py"):
        _write(tmp_path / name, BREAK)
    _write(tmp_path / ".gitignore", "*.gen.py\n/app/made/\n")
    _write(tmp_path / "app/deep/.gitignore", "d.py\n")
    assert marked_files([str(tmp_path / "app")], {}, lambda: False) == [str(tmp_path / "app/a.py")]


async def test_every_marked_file_is_traced_one_after_another_and_published(editor: Editor, tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "deep/c.py"):
        _write(tmp_path / name, BREAK)
    await editor.connect(tmp_path)
    await editor.command("graphbreak.traceWorkspace")
    for name in ("a.py", "b.py", "deep/c.py"):
        await editor.shows(tmp_path / name, "3:4-3:12")
    await editor.analysed(3)
    assert [Path(request.source.path).name for request in editor.analyser.requests] == ["a.py", "b.py", "c.py"]
    assert [(request.version, request.root) for request in editor.analyser.requests] == [(None, str(tmp_path))] * 3
    (bar,) = editor.client.progress_reports.values()
    assert isinstance(bar[0], types.WorkDoneProgressBegin)
    assert bar[0].title == "Graphbreak: workspace"
    assert isinstance(bar[-1], types.WorkDoneProgressEnd)
    assert editor.changed == [(tmp_path / name).as_uri() for name in ("a.py", "b.py", "deep/c.py")]


async def test_it_gives_way_to_open_documents_and_goes_on_afterwards(editor: Editor, tmp_path: Path) -> None:
    _write(tmp_path / "slow.py", SLOW)
    _write(tmp_path / "then.py", BREAK)
    await editor.connect(tmp_path)
    await editor.command("graphbreak.traceWorkspace")
    await editor.analysed(1)
    editor.open(tmp_path / "open.py", BREAK)
    await editor.shows(tmp_path / "open.py", "3:4-3:12", version=1)
    await editor.analysed(3)
    assert editor.analyser.cancelled == 1
    assert [Path(request.source.path).name for request in editor.analyser.requests] == ["slow.py", "open.py", "slow.py"]
    assert editor.latest(tmp_path / "then.py") is None
    editor.analyser.release.set()
    await editor.shows(tmp_path / "then.py", "3:4-3:12")


async def test_opening_the_file_that_is_traced_traces_what_the_editor_has(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    _write(path, SLOW)
    await editor.connect(tmp_path)
    await editor.command("graphbreak.traceWorkspace")
    await editor.analysed(1)
    editor.open(path, BREAK)
    await editor.shows(path, "3:4-3:12", version=1)
    await editor.analysed(2)


async def test_results_stay_until_the_file_is_changed_or_closed(editor: Editor, tmp_path: Path) -> None:
    one, two, helper = tmp_path / "a.py", tmp_path / "b.py", tmp_path / "helper.py"
    _write(one, BREAK)
    _write(two, "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n")
    _write(helper, "def log(x):\n    print(x)\n")
    await editor.connect(tmp_path, options={"run": "manual"})
    await editor.command("graphbreak.traceWorkspace")
    await editor.shows(helper, "1:4-1:12")
    editor.open(one, "\n" + BREAK)
    await editor.shows(one, "4:4-4:12", version=1)
    editor.close(one)
    await editor.shows(one)
    editor.open(helper, helper.read_text())
    editor.insert(helper, 0, 0, "\n")
    editor.save(helper)
    await editor.shows(helper, "2:4-2:12", version=2)
    await editor.analysed(2)
    _changed(editor, two)
    await editor.shows(two)
    await editor.shows(helper)
    await editor.analysed(2)


async def test_a_saved_helper_has_those_traced_again_that_use_it(editor: Editor, tmp_path: Path) -> None:
    entry, helper = tmp_path / "a.py", tmp_path / "helper.py"
    _write(entry, "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n")
    _write(helper, "def log(x): pass\n")
    await editor.connect(tmp_path)
    await editor.command("graphbreak.traceWorkspace")
    await editor.analysed(1)
    _write(helper, "def log(x): print(x)\n")
    _changed(editor, helper)
    await editor.shows(helper, "0:12-0:20")
    await editor.shows(entry, "4:4-4:17")
    await editor.analysed(2)


async def test_cancel_ends_what_runs_and_what_waits(editor: Editor, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        _write(tmp_path / name, SLOW)
    await editor.connect(tmp_path)
    await editor.command("graphbreak.traceWorkspace")
    await editor.analysed(1)
    await editor.command("graphbreak.cancel", (tmp_path / "a.py").as_uri())
    await editor.analysed(2)
    await editor.command("graphbreak.cancel")
    await until(lambda: editor.analyser.cancelled == 2)
    editor.open(tmp_path / "open.py", SLOW)
    await editor.analysed(3)
    await editor.command("graphbreak.cancel")
    await until(lambda: editor.analyser.cancelled == 3)
    await editor.analysed(3)
    await until(lambda: editor.status[-1] == ("idle", ""))


async def test_an_untrusted_workspace_is_not_traced(editor: Editor, tmp_path: Path) -> None:
    _write(tmp_path / "a.py", BREAK)
    await editor.connect(tmp_path, options={"trusted": False}, offers=capabilities(extended=False))
    await editor.command("graphbreak.traceWorkspace")
    await editor.analysed(0)
    assert ["not trusted" in message.message for message in editor.client.messages] == [True]


async def test_a_workspace_without_marks_is_said_to_have_none(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    await editor.command("graphbreak.traceWorkspace")
    await until(lambda: any("marked for compile" in message.message for message in editor.client.log_messages))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _changed(editor: Editor, path: Path) -> None:
    event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
