"""Settings: what is read from an editor, from where, and what a wrong one does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from graphbreak.core.findings import Kind, Severity
from graphbreak.lsp.settings import ClientSettings, read_options, read_settings

from .editor import MARK, Editor, capabilities, until

CLEAN = MARK + "def f(x):\n    return x\n"

GOOD: list[tuple[Any, ClientSettings]] = [
    (None, ClientSettings()),
    ({"interpreter": "/venv/python", "timeout": 5}, ClientSettings(interpreter="/venv/python", timeout=5.0)),
    ({"settings": {"run": "manual"}}, ClientSettings(run="manual")),
    ({"graphbreak": {"ignore": ["GB0059"]}, "run": "onType"}, ClientSettings(run="onType", ignore=("GB0059",))),
    ({"interpreter": "", "run": None, "trace": {"server": "off"}}, ClientSettings()),
    ({"trusted": False}, ClientSettings(trusted=False)),
    ({"severity": {"break": "error", "caller": "off"}}, ClientSettings(severity={Kind.BREAK: Severity.ERROR, Kind.CALLER: None})),
    ({"lens": False, "bands": True, "importStrategy": "useBundled"}, ClientSettings(lens=False)),
]

WRONG: list[tuple[Any, str]] = [
    ({"run": "always"}, "`run`"),
    ({"run": ["onSave"]}, "`run`"),
    ({"timeout": True}, "`timeout`"),
    ({"timeout": 0}, "`timeout`"),
    ({"interpreter": 3}, "`interpreter`"),
    ({"ignore": "GB0059"}, "`ignore`"),
    ({"trusted": "yes"}, "`trusted`"),
    ({"severity": "error"}, "`severity`"),
    ({"severity": {"breaks": "error"}}, '"breaks"'),
    ({"severity": {"break": "loud"}}, '"break"'),
    ({"lens": "yes"}, "`lens`"),
    ({"colour": "red"}, "`colour`"),
    ("onSave", "an object"),
]


@pytest.mark.parametrize(("raw", "settings"), GOOD)
def test_good_settings_are_taken(raw: Any, settings: ClientSettings) -> None:
    assert read_options(raw) == (settings, [])


@pytest.mark.parametrize(("raw", "named"), WRONG)
def test_wrong_settings_are_left_out_and_named(raw: Any, named: str) -> None:
    settings, problems = read_settings(raw, ClientSettings(run="manual"))
    assert settings == ClientSettings(run="manual")
    assert len(problems) == 1
    assert named in problems[0]


def test_trust_can_be_taken_away_and_not_given() -> None:
    assert not read_settings({"trusted": True}, ClientSettings(trusted=False))[0].trusted
    assert not read_settings({"trusted": False}, ClientSettings())[0].trusted


async def test_each_folder_has_the_settings_that_the_editor_answers_for_it(editor: Editor, tmp_path: Path) -> None:
    one, two, outside = tmp_path / "one", tmp_path / "one" / "two", tmp_path / "outside"
    configuration = {
        "": {"graphbreak": {"timeout": 7}},
        one.as_uri(): {"graphbreak": {"interpreter": "one"}},
        two.as_uri(): {"graphbreak": {"interpreter": "two", "ignore": ["GB0170"]}},
    }
    await editor.connect(one, two, options={"interpreter": "start"}, configuration=configuration)
    for folder in (one, two, outside):
        editor.open(folder / "a.py", CLEAN)
    await editor.analysed(3)
    asked = {request.source.path: request for request in editor.analyser.requests}
    first, second, third = (asked[str(folder / "a.py")] for folder in (one, two, outside))
    assert [r.settings.interpreter for r in (first, second, third)] == ["one", "two", "start"]
    assert (second.settings.ignore, third.settings.timeout) == (("GB0170",), 7.0)
    assert [r.root for r in (first, second, third)] == [str(one), str(two), str(outside)]
    assert first.roots == (str(one), str(two))
    assert third.roots == (str(one), str(two), str(outside))


async def test_changed_settings_are_read_anew_and_documents_they_concern_analysed_again(editor: Editor, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    await editor.connect(one, two, configuration={one.as_uri(): {}, two.as_uri(): {}})
    await until(lambda: types.WORKSPACE_DID_CHANGE_CONFIGURATION in editor.registered)
    for folder in (one, two):
        editor.open(folder / "a.py", CLEAN)
    await editor.analysed(2)
    editor.client.set_configuration({"timeout": 3, "colour": 1}, section="graphbreak", scope_uri=two.as_uri())
    for _ in range(2):
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
    await editor.analysed(3)
    assert (editor.analyser.requests[2].source.path, editor.analyser.requests[2].settings.timeout) == (str(two / "a.py"), 3.0)
    assert ["colour" in message.message for message in editor.client.log_messages] == [True]


async def test_an_editor_that_cannot_be_asked_sends_its_settings(editor: Editor, tmp_path: Path) -> None:
    offers = capabilities()
    offers.workspace = None
    await editor.connect(tmp_path, options={"run": "manual"}, offers=offers)
    editor.open(tmp_path / "a.py", CLEAN)
    await editor.analysed(0)
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"graphbreak": {"run": "onSave"}}))
    await editor.analysed(1)


async def test_folders_can_come_and_go(editor: Editor, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    await editor.connect(one)
    event = types.WorkspaceFoldersChangeEvent(
        added=[types.WorkspaceFolder(two.as_uri(), "two")], removed=[types.WorkspaceFolder(one.as_uri(), "one")]
    )
    editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    await editor.settle()
    editor.open(two / "deep" / "a.py", CLEAN)
    await editor.analysed(1)
    assert (editor.analyser.requests[0].root, editor.analyser.requests[0].roots) == (str(two), (str(two),))
