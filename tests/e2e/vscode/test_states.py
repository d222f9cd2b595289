"""What the extension does in the places that it may find itself in: no trust, no torch, no Python, several folders, other Pythons."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

from .code_server import CodeServer
from .conftest import BREAKING, CLEAN, ROOT, OpenEditor
from .workbench import ENTRY, Workbench, eventually, repeated

LAYERS = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        x = x + 1
        print("mid")
        return x + 2
"""

BORROWED = [sys.prefix, str(ROOT)]
"""What environments made here take from this one. It may lie in a temporary folder, of which programs see only what they are shown."""


def test_restricted_mode_runs_nothing(open_editor: OpenEditor, tmp_path: Path) -> None:
    ran, started = tmp_path / "ran", tmp_path / "started"
    folder = tmp_path / "untrusted"
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".vscode").mkdir()
    python = folder / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\ntouch {started}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (folder / ".vscode" / "settings.json").write_text(f'{{"graphbreak.interpreter": "{python}"}}')
    (folder / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()\n{CLEAN}")
    settings: dict[str, object] = {"security.workspace.trust.startupPrompt": "never", "security.workspace.trust.untrustedFiles": "open"}
    settings["graphbreak.interpreter"] = ".venv/bin/python"
    settings["graphbreak.sandbox.write"] = [str(tmp_path)]
    settings["graphbreak.sandbox.read"] = BORROWED
    with open_editor(folder, settings, trust=True) as (editor, workbench):
        workbench.open_file("evil.py")
        eventually("the server", editor.servers)
        eventually("the lens", lambda: any("not trusted" in lens for lens in workbench.lenses()))
        workbench.save()
        assert not workbench.notifications(), "the lens and the status say it"
        workbench.point(ENTRY, "Restricted")
        workbench.picture("restricted-dark")
        assert not ran.exists()
        assert not started.exists()
        assert not [command for command in editor.pythons().values() if "worker" in command]
        trust = workbench.page.locator(".workspace-trust-editor .monaco-button", has_text="Trust").first
        workbench.command("Workspaces: Manage Workspace Trust")
        repeated("the trace", lambda: trust.click(timeout=5_000), ran.exists)
        assert started.exists()


def test_no_torch_is_said_once(open_editor: OpenEditor, examples: Path, tmp_path: Path) -> None:
    with open_editor(examples, {"graphbreak.interpreter": str(_bare(tmp_path / "bare"))}) as (_, workbench):
        workbench.open_file("item_score.py")
        eventually("the one notice", lambda: ["torch" in notice for notice in workbench.notifications()] == [True])
        workbench.picture("no-torch-dark")
        eventually("the lens", lambda: any("not analysed: no Python with torch" in lens for lens in workbench.lenses()))
        eventually("the status", lambda: workbench.status() == "No torch")
        settings = workbench.page.locator(".settings-editor", has_text="Interpreter")
        workbench.press("Choose Interpreter", lambda: settings.count() > 0)
        workbench.open_file("item_score.py")
        workbench.command("Graphbreak: Trace File")
        workbench.open_file("helper_print.py")
        eventually("the lens", lambda: any("no Python with torch" in lens for lens in workbench.lenses()))
        assert not workbench.notifications()


def test_no_python_is_said_once(open_editor: OpenEditor, examples: Path) -> None:
    with open_editor(examples, {"graphbreak.interpreter": "/nowhere/python"}) as (editor, workbench):
        workbench.open_file("helper_print.py")
        eventually("the one notice", lambda: ["/nowhere/python" in notice for notice in workbench.notifications()] == [True])
        assert not editor.pythons()
        workbench.picture("no-python-dark")


def test_each_folder_has_its_own_settings(open_editor: OpenEditor, tmp_path: Path) -> None:
    folders = {
        "quiet": {"graphbreak.severity": {"break": "error"}, "graphbreak.lens.enable": False},
        "plain": {"graphbreak.ignore": ["GB0059"]},
    }
    for name, settings in folders.items():
        (tmp_path / name / ".vscode").mkdir(parents=True)
        (tmp_path / name / ".vscode" / "settings.json").write_text(json.dumps(settings))
        (tmp_path / name / f"{name}.py").write_text(BREAKING)
        (tmp_path / name / ".venv").symlink_to(sys.prefix)
    workspace = tmp_path / "two.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": name} for name in folders], "settings": {"graphbreak.bands.enable": False}}))
    with open_editor(workspace, {}) as (_, workbench):
        workbench.open_file("quiet.py")
        eventually("an error", lambda: workbench.squiggles("error"))
        assert not workbench.lenses()
        workbench.open_file("plain.py")
        eventually("the lens", lambda: any("2 graphs" in lens for lens in workbench.lenses()))
        assert not workbench.squiggles() + workbench.squiggles("error")
        assert not workbench.bands()
        workbench.command("Graphbreak: Toggle Graph Bands")
        eventually("the bands, though the workspace had them off", workbench.bands)
        workbench.command("View: Show Graphbreak")
        eventually("one break", lambda: len(workbench.tree()) == 1)
        workbench.picture("folders-dark")


def test_a_module_is_traced_again_through_its_program(open_editor: OpenEditor, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "layers.py").write_text(LAYERS)
    (folder / "train.py").write_text("import torch\nfrom layers import Net\n\nnet = torch.compile(Net())\nnet(torch.randn(3))\n")
    (folder / ".venv").symlink_to(sys.prefix)
    with open_editor(folder, {}) as (_, workbench):
        workbench.open_file("train.py")
        eventually("the lens", lambda: any("2 graphs · 1 break" in lens for lens in workbench.lenses()))
        workbench.click_lens("Show graphs", lambda: "forward" in workbench.webview_text())
        workbench.rest()
        again = workbench.webview().get_by_role("button", name="Trace again")
        repeated("another trace", lambda: again.click(timeout=5_000), workbench.is_busy)


def test_the_environment_selected_in_the_python_extension_is_used(open_editor: OpenEditor, tmp_path: Path) -> None:
    first, second = (_environment(tmp_path / name) for name in ("first", "second"))
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "breaking.py").write_text(BREAKING)
    settings: dict[str, object] = {"python.defaultInterpreterPath": str(first), "graphbreak.sandbox.read": BORROWED}
    settings |= {"python.slowness": 12_000, "graphbreak.severity": {"break": "error"}}
    with open_editor(tmp_path / "project", settings, beside=["python"]) as (editor, workbench):
        workbench.open_file("breaking.py")
        eventually("a squiggle as it is set", lambda: workbench.squiggles("error"))
        eventually("this one alone, though it was told late", lambda: _pythons(editor) == {str(first)})
        editor.set(python__defaultInterpreterPath=str(second))
        eventually("the other one", lambda: _pythons(editor) == {str(second)})
        eventually("the squiggle", lambda: workbench.squiggles("error"))
        editor.set(graphbreak__interpreter=str(first))
        eventually("the setting goes before it", lambda: _pythons(editor) == {str(first)})
        editor.set(graphbreak__interpreter="", python__defaultInterpreterPath=str(_bare(tmp_path / "bare")))
        eventually("the notice", workbench.notifications)
        lists = workbench.page.locator(".quick-input-widget")
        workbench.press("Choose Interpreter", lambda: any("Select Interpreter" in text for text in lists.all_inner_texts()))


def test_an_installed_server_and_its_messages(open_editor: OpenEditor, tmp_path: Path) -> None:
    python = _environment(tmp_path / "environment", ROOT / "server")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "breaking.py").write_text(BREAKING)
    (tmp_path / "project" / "graphbreak.py").write_text("raise SystemExit('not this one')")
    settings: dict[str, object] = {
        "graphbreak.sandbox.read": BORROWED,
        "graphbreak.interpreter": str(python),
        "graphbreak.importStrategy": "fromEnvironment",
        "graphbreak.trace.server": "messages",
    }
    with open_editor(tmp_path / "project", settings) as (editor, workbench):
        workbench.open_file("breaking.py")
        eventually("the squiggle", workbench.squiggles)
        (command,) = editor.servers().values()
        assert command == f"{python} -m graphbreak server"
        repeated("a message", lambda: _show_messages(workbench), lambda: workbench.output("Received response 'graphbreak/report"))
        workbench.picture("messages-dark")


def _show_messages(workbench: Workbench) -> None:
    workbench.command("Output: Show Output Channels...")
    workbench.pick("Graphbreak Messages")


def _environment(folder: Path, *paths: Path) -> Path:
    """The Python of a new environment in which everything of this one can be imported, and what is in some folders."""
    python = _bare(folder)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "more.pth").write_text("\n".join(map(str, [sysconfig.get_path("purelib"), *paths])))
    return python


def _bare(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


def _pythons(editor: CodeServer) -> set[str]:
    """The interpreters of the servers and the workers."""
    return {command.split(" ")[0] for command in editor.pythons().values()}
