"""Who decides what programs may do: the user, and a project only once the user has said yes to exactly what it asks for."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from faults.raw_editor import REAL, raw_editor
from graphbreak.core.asking import Wish
from graphbreak.core.denials import attempted
from graphbreak.core.findings import Outcome, Report
from graphbreak.core.requests import AnalysisRequest, Permissions, Settings
from graphbreak.core.source import SourceFile
from graphbreak.lsp.asking import Asking
from graphbreak.sandbox import start
from graphbreak.tracer.allowed import allow, allowed, allowed_file
from graphbreak.tracer.grants import grant, grants_file, is_granted
from graphbreak.tracer.rights import with_attempts
from graphbreak.worker.protocol import Denied
from harness import INTERPRETER, PRINT, Harness, only, squiggles

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
WISH = Wish("/work", Permissions(write=("/work/runs",)))
PROJECT = '[tool.graphbreak.sandbox]\nwrite = ["run.log"]\n'
BREAK = ("break", "GB0059", 'print("mid")')


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


def test_a_yes_is_to_what_was_asked_for() -> None:
    assert not is_granted(WISH)
    grant(WISH)
    assert is_granted(WISH)
    assert not is_granted(Wish("/work", Permissions(write=("/work/runs", "/"))))
    assert not is_granted(Wish("/elsewhere", WISH.permissions))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\x00"])
def test_a_broken_file_grants_nothing_and_is_replaced(text: str) -> None:
    grants_file().parent.mkdir(parents=True)
    grants_file().write_text(text)
    assert not is_granted(WISH)
    grant(WISH)
    assert is_granted(WISH)


def test_a_project_gets_what_it_asks_for_once_that_is_granted(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    report = harness.write_and_analyse(tmp_path / "main.py", PRINT + "open('run.log', 'w').write('x')\n")
    assert report.wish == Wish(str(tmp_path), Permissions(write=(f"{tmp_path}/run.log",)))
    assert f"asks that its programs may write {tmp_path}/run.log; that was not granted" in report.settings_problems[0]
    assert not (tmp_path / "run.log").exists()
    grant(report.wish)
    report = harness.analyse(tmp_path / "main.py")
    assert (squiggles(report), report.wish, report.problems) == ([BREAK], None, ())
    assert (tmp_path / "run.log").read_text() == "x"


STEAL = PRINT + "try:\n    open('runs/.profile', 'a').write('evil')\nexcept OSError:\n    pass\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A project whose `runs` is a link to a folder outside, with a file that is nobody's business."""
    project, place = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    place.mkdir()
    (place / ".profile").write_text("mine")
    (project / "runs").symlink_to(place)
    (project / "main.py").write_text(STEAL)
    return project


def test_a_link_out_of_the_project_is_not_asked_for(harness: Harness, elsewhere: Path) -> None:
    (elsewhere / "pyproject.toml").write_text('[tool.graphbreak.sandbox]\nwrite = ["runs"]\nread = ["runs/.profile"]\n')
    report = harness.analyse(elsewhere / "main.py")
    place = elsewhere.parent / "elsewhere"
    asks, leads = f"{elsewhere}/pyproject.toml asks for {elsewhere}/runs", "leads out of the project, to"
    assert report.wish is None
    assert report.settings_problems == (
        f"{asks}, but {elsewhere}/runs {leads} {place}: it has to name that place itself.",
        f"{asks}/.profile, but {elsewhere}/runs/.profile {leads} {place}/.profile: it has to name that place itself.",
    )
    assert (place / ".profile").read_text() == "mine"


def test_a_link_that_is_named_is_asked_for_by_where_it_leads(harness: Harness, elsewhere: Path) -> None:
    place, other = elsewhere.parent / "elsewhere", elsewhere.parent / "other"
    (elsewhere / "pyproject.toml").write_text('[tool.graphbreak.sandbox]\nwrite = ["runs", "../elsewhere", "logs"]\n')
    (elsewhere / "inside").mkdir()
    (elsewhere / "logs").symlink_to("inside")
    report = harness.analyse(elsewhere / "main.py")
    assert report.wish == Wish(str(elsewhere), Permissions(write=(str(place), f"{elsewhere}/inside")))
    grant(report.wish)
    assert harness.analyse(elsewhere / "main.py").wish is None
    assert (place / ".profile").read_text() == "mineevil"
    place.rename(other)
    place.symlink_to(other)
    report = harness.analyse(elsewhere / "main.py")
    assert report.wish == Wish(str(elsewhere), Permissions(write=(str(other), f"{elsewhere}/inside")))
    assert (other / ".profile").read_text() == "mineevil"


def test_what_was_allowed_ends_where_it_becomes_a_link(harness: Harness, elsewhere: Path) -> None:
    (elsewhere / "runs").unlink()
    (elsewhere / "runs").mkdir()
    allow(Wish(str(elsewhere), Permissions(write=(f"{elsewhere}/runs",))))
    harness.analyse(elsewhere / "main.py")
    assert (elsewhere / "runs" / ".profile").read_text() == "evil"
    (elsewhere / "runs").rename(elsewhere / "old")
    (elsewhere / "runs").symlink_to(elsewhere.parent / "elsewhere")
    harness.analyse(elsewhere / "main.py")
    assert allowed(str(elsewhere)) == Permissions()
    assert (elsewhere.parent / "elsewhere" / ".profile").read_text() == "mine"


def test_what_is_offered_is_where_a_path_leads(elsewhere: Path) -> None:
    request = AnalysisRequest(SourceFile(str(elsewhere / "main.py"), ""), str(elsewhere), (str(elsewhere),))
    place = str(elsewhere.parent / "elsewhere" / ".profile")
    tried = [Denied("write", str(elsewhere / "runs" / ".profile")), Denied("write", str(elsewhere / "runs" / ".." / "main.py"))]
    assert with_attempts(Report("main.py"), tried, request).attempted == Wish(str(elsewhere), Permissions(write=(place,)))
    (elsewhere / "home").symlink_to(os.path.expanduser("~"))
    assert with_attempts(Report("main.py"), [Denied("write", str(elsewhere / "home"))], request).attempted is None


def test_without_a_sandbox_nothing_is_run_before_the_user_said_yes(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "AVAILABLE", False)
    own = Harness()
    try:
        (tmp_path / "main.py").write_text(PRINT)
        settings = Settings(interpreter=INTERPRETER, confirmed=False)
        report = own.analyse(tmp_path / "main.py", settings=settings)
        assert only(report).outcome is Outcome.REFUSED
        assert "no sandbox on this platform" in only(report).detail
        assert report.wish is not None
        grant(report.wish)
        report = own.analyse(tmp_path / "main.py", settings=settings)
        assert squiggles(report) == [BREAK]
        assert report.environment.sandbox == ("not sandboxed", "process group", "time limit")
        required = Settings(interpreter=INTERPRETER, permissions=Permissions(require=("landlock",)))
        assert only(own.analyse(tmp_path / "main.py", settings=required)).outcome is Outcome.REFUSED
    finally:
        own.close()


def test_a_layer_that_is_not_there_can_be_required(harness: Harness, tmp_path: Path) -> None:
    settings = Settings(interpreter=INTERPRETER, permissions=Permissions(require=("landlock", "a moat")))
    report = harness.analyse(tmp_path / "main.py", PRINT, settings=settings)
    assert only(report).outcome is Outcome.REFUSED
    assert only(report).detail == "The sandbox lacks a moat here, which the setting `sandbox.require` asks for, so nothing is run."


class Answering:
    """An editor whose user answers."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.questions: list[str] = []
        self.said: list[str] = []

    def window_show_message(self, params: types.ShowMessageParams) -> None:
        self.said.append(params.message)

    async def window_show_message_request_async(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        self.questions.append(params.message)
        if self.answer == "error":
            raise RuntimeError("no window")
        return None if self.answer is None else types.MessageActionItem(self.answer)


@pytest.mark.parametrize(("answer", "granted"), [("Allow", True), ("Not now", False), (None, False), ("error", False)])
def test_an_editor_asks_once(answer: str | None, granted: bool) -> None:
    editor: Any = Answering(answer)
    traced: list[str] = []

    async def ask() -> None:
        asking = Asking(editor, traced.append)
        await asking.ask(WISH, "main.py")
        await asking.ask(WISH, "main.py")

    asyncio.run(ask())
    assert editor.questions == ["/work/pyproject.toml asks that the programs that Graphbreak runs may write /work/runs."]
    assert is_granted(WISH) is granted
    assert traced == (["main.py"] if granted else [])


def test_what_is_offered_is_what_was_tried_and_no_more() -> None:
    paths = ["/work/runs/a.log", "/work/runs/a.log", "a.log", "/work/../etc/x", "/work/a\nb"]
    others = [Denied("read", "/home/me/.ssh/id_rsa"), Denied("find", "/tmp/x"), Denied("connect to", "example.org")]
    tried = [*(Denied("write", path) for path in paths), *others]
    assert attempted(tried, "/work") == Wish("/work", Permissions(write=("/work/runs/a.log",), network=True))
    assert attempted([Denied("read", "/home/me/.netrc")], "/work") is None


def test_nothing_that_holds_the_folder_or_the_home_is_offered(tmp_path: Path) -> None:
    request = AnalysisRequest(SourceFile(str(tmp_path / "main.py"), ""), str(tmp_path), (str(tmp_path),))
    wide = [Denied("write", path) for path in ("/", str(tmp_path), str(tmp_path.parent), os.path.expanduser("~"))]
    assert with_attempts(Report("main.py"), wide, request).attempted is None
    wide += [Denied("write", os.path.expanduser(f"~/{name}")) for name in (".ssh/authorized_keys", ".netrc", ".config")]
    fine = Denied("write", str(tmp_path / "run.log"))
    assert with_attempts(Report("main.py"), [*wide, fine], request).attempted == Wish(str(tmp_path), Permissions(write=(fine.target,)))


def test_what_is_allowed_to_a_folder_adds_up_and_is_for_that_folder(harness: Harness, tmp_path: Path) -> None:
    program = PRINT + "for name in ('a.log', 'b.log'):\n    try:\n        open(name, 'w').write('x')\n    except OSError:\n        pass\n"
    report = harness.write_and_analyse(tmp_path / "main.py", program)
    assert report.attempted == Wish(str(tmp_path), Permissions(write=(f"{tmp_path}/a.log", f"{tmp_path}/b.log")))
    allow(Wish(str(tmp_path), Permissions(write=(f"{tmp_path}/a.log",))))
    allow(Wish(str(tmp_path), Permissions(write=(f"{tmp_path}/b.log",))))
    assert allowed(str(tmp_path.parent)) == Permissions()
    report = harness.analyse(tmp_path / "main.py")
    assert (squiggles(report), report.attempted, report.problems) == ([BREAK], None, ())
    assert (tmp_path / "b.log").read_text() == "x"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"/work": 3}', '{"/work": {"write": "/"}}', '{"/work": {"write": [3]}}'])
def test_a_broken_file_allows_nothing_and_is_replaced(text: str) -> None:
    allowed_file().parent.mkdir(parents=True)
    allowed_file().write_text(text)
    assert allowed("/work") == Permissions()
    allow(WISH)
    assert allowed("/work") == WISH.permissions


@pytest.mark.parametrize("answer", ["Allow", "Not now"] if LONG else ["Allow"])
def test_a_yes_in_an_editor_allows_what_a_program_tried(tmp_path: Path, answer: str) -> None:
    project, state = tmp_path / "project", tmp_path / "state"
    project.mkdir()
    path, log = project / "main.py", project / "run.log"
    path.write_text(PRINT + "open('run.log', 'w').write('x')\n")
    with raw_editor(REAL, folder=project, XDG_STATE_HOME=str(state)) as editor:
        editor.says["window/showMessageRequest"] = {"title": answer}
        editor.begin(interpreter=INTERPRETER, tryFixes=False)
        editor.open(path, path.read_text())
        editor.wait(lambda: bool(editor.asked), "nothing is asked", 120)
        asked = f"main.py tried to write {log}: the sandbox does not allow it. Allow it to the programs of {project}?"
        assert editor.asked[0]["message"] == asked
        if answer == "Allow":
            editor.wait(log.exists, "it is not run again with what was allowed", 120)
        editor.wait(lambda: "6:4-6:16" in editor.ranges(path), "nothing is found", 120)
        editor.save(path)
        editor.hover(path)
        assert len(editor.asked) == 1
        assert editor.end() == 0


def test_a_yes_that_cannot_be_remembered_is_no_yes_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    editor: Any = Answering("Allow")
    traced: list[str] = []
    asyncio.run(Asking(editor, traced.append).offer(WISH, "main.py"))
    assert (traced, len(editor.said)) == ([], 1)
    assert "cannot remember" in editor.said[0]


@pytest.mark.parametrize("answer", ["Allow", "Not now"] if LONG else ["Allow"])
def test_a_yes_in_an_editor_lets_the_project_do_what_it_asked_for(tmp_path: Path, answer: str) -> None:
    project, state = tmp_path / "project", tmp_path / "state"
    (project / "runs").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[tool.graphbreak.sandbox]\nwrite = ["runs"]\n')
    path = project / "main.py"
    path.write_text(PRINT + "open('runs/log', 'w').write('x')\n")
    with raw_editor(REAL, folder=project, XDG_STATE_HOME=str(state)) as editor:
        editor.says["window/showMessageRequest"] = {"title": answer}
        editor.begin(interpreter=INTERPRETER, tryFixes=False)
        editor.open(path, path.read_text())
        editor.wait(lambda: bool(editor.asked), "nothing is asked", 120)
        assert editor.asked[0]["message"].endswith(f"asks that the programs that Graphbreak runs may write {project}/runs.")
        if answer == "Allow":
            editor.wait((project / "runs" / "log").exists, "it is not run again with what was allowed", 120)
        editor.wait(lambda: "6:4-6:16" in editor.ranges(path), "nothing is found", 120)
        editor.save(path)
        editor.hover(path)
        assert len(editor.asked) == 1
        assert editor.end() == 0
    assert (project / "runs" / "log").exists() is (answer == "Allow")
    assert (state / "graphbreak" / "grants.json").exists() is (answer == "Allow")
