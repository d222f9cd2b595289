"""Changes by other programs are followed, told by the editor or seen by the server itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types

from .editor import MARK, Editor, capabilities

BREAK = MARK + "def f(x):\n    print(x)\n"


def _tells(editor: Editor, *paths: Path) -> None:
    events = [types.FileEvent(path.as_uri(), types.FileChangeType.Changed) for path in paths]
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(events))


@pytest.mark.parametrize("told", [True, False])
async def test_what_changes_after_the_workspace_was_traced_is_traced_too(editor: Editor, tmp_path: Path, told: bool) -> None:
    able = capabilities()
    if not told:
        able.workspace = types.WorkspaceClientCapabilities(configuration=True, workspace_folders=True)
    (tmp_path / ".gitignore").write_text("made/\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text(BREAK)
    await editor.connect(tmp_path, offers=able)
    await editor.command("graphbreak.traceWorkspace")
    await editor.analysed(1)
    checked_out = [tmp_path / name for name in ("b.py", "plain.py", "made/c.py", "deep/d.py")]
    for path in checked_out:
        path.parent.mkdir(exist_ok=True)
        path.write_text(BREAK if path.name != "plain.py" else "x = 1\n")
    if told:
        _tells(editor, *checked_out)
    await editor.shows(tmp_path / "b.py", "3:4-3:12")
    await editor.shows(tmp_path / "deep/d.py", "3:4-3:12")
    assert {Path(request.source.path).name for request in editor.analyser.requests} == {"a.py", "b.py", "d.py"}
    shutil.rmtree(tmp_path / "deep")
    if told:
        _tells(editor, checked_out[-1])
    await editor.shows(tmp_path / "deep/d.py")
