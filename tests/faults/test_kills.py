"""Any process may be killed at any moment: no other is left behind, what was known stays, and what comes next is right."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .raw_editor import REAL, RawEditor, raw_editor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
PROGRAM = """\
import time
import torch


@torch.compile
def f(x):
    x = x * 2
    print("a")
    return x + {number}


f(torch.ones(3))
time.sleep({pause})
"""
RANGE = "7:4-7:14"
INSIDE = ["launcher", "supervisor", "parent", "job"]
"""Who can be killed while the server lives, by how far below it they are; more than that are a job's own."""


def below(pid: int) -> dict[int, int]:
    """The processes below one, each with how far below it is; those that have ended left out."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(folder.name)] = int(parent)
    found: dict[int, int] = {}
    depth, level = 0, {pid}
    while level := {child for child, parent in parents.items() if parent in level}:
        depth += 1
        found |= dict.fromkeys(level, depth)
    return found


def is_there(pid: int) -> bool:
    """Whether it runs; an ended one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


class Typist:
    """Somebody who saves another version of one program again and again."""

    def __init__(self, folder: Path) -> None:
        self.path, self.temporary = folder / "main.py", folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        self.states: list[str] = []
        self.version = 0

    def begin(self, editor: RawEditor) -> None:
        """Open the program in a new server."""
        self.states.clear()
        editor.listen("graphbreak/status", lambda params: self.states.append(params["state"]))
        editor.ask(
            "initialize",
            processId=os.getpid(),
            rootUri=None,
            workspaceFolders=[{"uri": self.path.parent.as_uri(), "name": "workspace"}],
            capabilities={"experimental": {"graphbreakStatus": True}},
            initializationOptions={"interpreter": sys.executable, "tryFixes": False},
        )
        editor.notify("initialized")
        self.version += 1
        editor.open(self.path, PROGRAM.format(number=self.version, pause=0), self.version)
        self.ended(editor, 1)

    def save(self, editor: RawEditor, pause: float = 0) -> None:
        """Save another version."""
        self.version += 1
        editor.change(self.path, self.version, {"text": PROGRAM.format(number=self.version, pause=pause)})
        editor.save(self.path)

    def ended(self, editor: RawEditor, count: int) -> None:
        """Wait until so many traces have ended since the beginning."""
        editor.wait(lambda: len([state for state in self.states if state != "tracing"]) >= count, f"no end: {self.states}", 120)

    @property
    def ends(self) -> int:
        """How many have."""
        return len([state for state in self.states if state != "tracing"])

    def assert_right(self, editor: RawEditor) -> None:
        """What is known is that of the newest text."""
        (report,) = editor.ask("graphbreak/report", uri=self.path.as_uri())["result"]["reports"]
        assert (report["version"], report["stale"]) == (self.version, False)
        assert [row["outcome"] for row in report["functions"]] == ["traced"], report["functions"]
        editor.shows(self.path, RANGE)


@pytest.mark.parametrize("victim", INSIDE if LONG else ["parent"])
def test_the_server_outlives_its_workers(tmp_path: Path, victim: str) -> None:
    typist, moments = Typist(tmp_path), random.Random(victim)
    with raw_editor(REAL, folder=tmp_path, TMPDIR=str(typist.temporary)) as editor:
        typist.begin(editor)
        typist.assert_right(editor)
        for _ in range(10 if LONG else 1):
            before = typist.ends
            typist.save(editor, pause=1)
            time.sleep(moments.random())
            old = below(editor.process.pid)
            targets = [pid for pid, depth in old.items() if depth == INSIDE.index(victim) + 1]
            for pid in targets:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            editor.hover(typist.path, 7, 5)
            typist.ended(editor, before + 1)
            editor.shows(typist.path, RANGE)
            if victim != "job":
                assert until(lambda old=old: not any(map(is_there, old))), [pid for pid in old if is_there(pid)]  # type: ignore[misc]
            before = typist.ends
            typist.save(editor)
            typist.ended(editor, before + 1)
            typist.assert_right(editor)
        everybody = below(editor.process.pid)
        assert editor.end() == 0
        assert until(lambda: not any(map(is_there, everybody)))
        assert list(typist.temporary.iterdir()) == []


def test_nothing_outlives_the_server_and_the_next_one_starts_clean(tmp_path: Path) -> None:
    typist, moments = Typist(tmp_path), random.Random(7)
    for _ in range(10 if LONG else 1):
        with raw_editor(REAL, folder=tmp_path, TMPDIR=str(typist.temporary)) as editor:
            if moments.random() < 0.3:
                editor.notify("initialized")  # it is killed while it starts
            else:
                typist.begin(editor)
                typist.save(editor, pause=1)
            time.sleep(moments.random())
            everybody = below(editor.process.pid)
            editor.process.kill()
            assert until(lambda left=everybody: not any(map(is_there, left))), everybody  # type: ignore[misc]
            assert until(lambda: editor.processes() == [])
    with raw_editor(REAL, folder=tmp_path, TMPDIR=str(typist.temporary)) as editor:
        typist.begin(editor)
        typist.assert_right(editor)
        assert editor.end() == 0
    assert list(typist.temporary.iterdir()) == []


@pytest.mark.skipif(not LONG, reason="the long version; tests/e2e/test_lifecycle.py has a short one")
def test_nothing_outlives_the_editor(tmp_path: Path) -> None:
    typist, moments = Typist(tmp_path), random.Random(3)
    for _ in range(6 if LONG else 1):
        with raw_editor(REAL, folder=tmp_path, TMPDIR=str(typist.temporary)) as editor:
            typist.begin(editor)
            typist.save(editor, pause=5)
            time.sleep(moments.random())
            everybody = below(editor.process.pid)
            assert editor.process.stdin is not None
            editor.process.stdin.close()  # what the end of the editor does, in the middle of whatever it sent
            assert editor.process.wait(60) == 1
            assert until(lambda left=everybody: not any(map(is_there, left))), everybody  # type: ignore[misc]
    assert list(typist.temporary.iterdir()) == []
