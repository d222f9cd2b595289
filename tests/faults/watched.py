"""One real server, and an editor that hovers while it traces: what each program and each worker is said to have done, how long the
hovers were waited for, and whether a home and a workspace are as they were."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphbreak.tracer.focusing import LEAST
from harness import PRINT

from .raw_editor import REAL, RawEditor

Files = dict[str, tuple[int, bytes]]
Report = dict[str, Any]
_ENDS = frozenset({"idle", "failed"})
_PAUSE = 0.02
_SECRETS = {".bashrc": "alias ll='ls -l'\n", ".ssh/id_rsa": "a key\n", "notes/diary.txt": "dear diary\n", ".cache/thing/x": "kept\n"}


def snapshot(folder: Path) -> Files:
    """All that is in a folder: the mode of each thing, and what is in it."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, content)
    return found


class Watched:
    """The server, with a home and a workspace of its own. `begin` it first, and `close` it."""

    def __init__(self, folder: Path, command: Sequence[str] = REAL, **variables: Any) -> None:
        self.home, self.workspace, self.temporary = folder / "home", folder / "workspace", folder / "temporary"
        for place in (self.workspace, self.temporary, self.home):
            place.mkdir(exist_ok=True)
        for name, content in _SECRETS.items():
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(content)
        variables = {"HOME": str(self.home), "TMPDIR": str(self.temporary), **variables}
        self.editor = RawEditor(command, folder=self.workspace, **variables)
        self.idle: list[float] = []
        """How long a hover takes when nothing else goes on, in seconds."""
        self.hovers: list[float] = []
        """How long each hover during the last trace took."""
        self.slow = False
        """Whether a trace since the last restart took so long that its job may be kept."""
        self.ready = 0
        """How many processes there are when nothing is traced."""
        self._numbers = itertools.count(1)
        self._states: list[tuple[str, str]] = []

    def begin(self) -> None:
        """Say hello, and have one trace over."""
        self.editor.listen("graphbreak/status", lambda params: self._states.append((params["uri"], params["state"])))
        answer = self.editor.ask(
            "initialize", processId=os.getpid(), rootUri=None,
            workspaceFolders=[{"uri": self.workspace.as_uri(), "name": "workspace"}],
            capabilities={"experimental": {"graphbreakStatus": True}},
            initializationOptions={"interpreter": sys.executable, "tryFixes": False},
        )  # fmt: skip
        assert "result" in answer
        self.editor.notify("initialized")
        self.assert_next_is_right()
        self.ready = self.settled()
        path = self.folder() / "first.py"
        self.editor.open(path, PRINT)
        self._wait(path, 120)
        for _ in range(30):
            self.idle.append(self._hover(path))
            time.sleep(_PAUSE)
        self.leave(path)

    def folder(self) -> Path:
        """A new folder in the workspace: what is still said of an earlier program is about another path."""
        folder = self.workspace / f"project{next(self._numbers)}"
        folder.mkdir()
        return folder

    def trace(self, path: Path, text: str, **settings: Any) -> Report:
        """The report on a program that is opened, and stays open; `settings` are in force from now on."""
        self.editor.notify("workspace/didChangeConfiguration", settings={"graphbreak": {"timeout": 60, **settings}})
        del self._states[:]
        self.hovers = []
        begun = time.monotonic()
        self.editor.open(path, text)
        self._wait(path, 120)
        (report,) = self.editor.ask("graphbreak/report", uri=path.as_uri())["result"]["reports"]
        found: Report = report
        self.slow |= time.monotonic() - begun > LEAST and not any("is kept" in problem for problem in found["problems"])
        return found

    def leave(self, path: Path) -> None:
        """Close a document."""
        self.editor.notify("textDocument/didClose", textDocument={"uri": path.as_uri()})

    def assert_next_is_right(self) -> None:
        """The server lives, and what it says of a good program is true."""
        folder = self.folder()
        path = folder / "next.py"
        report = self.trace(path, PRINT)
        assert [(found["kind"], found["code"]) for found in report["diagnostics"]] == [("break", "GB0059")], report
        (row,) = report["functions"]
        assert (row["name"], row["outcome"], row["graphs"], row["ops"], row["breaks"]) == ("scale", "traced", 2, 2, 1)
        assert [inputs["summary"] for inputs in row["inputs"]] == ["x: f32[8, 16]"]
        self.leave(path)
        folder.rmdir()
        assert self.editor.process.poll() is None

    def settled(self) -> int:
        """How many processes there are, once that does not change any more."""
        count, since, end = -1, time.monotonic(), time.monotonic() + 15
        while time.monotonic() < end and time.monotonic() - since < 0.4:
            now = len(self.editor.processes())
            if now != count:
                count, since = now, time.monotonic()
            time.sleep(_PAUSE)
        return count

    def assert_nobody_is_left(self, seconds: float = 15.0) -> None:
        """No process is there but those that wait for the next trace."""
        if self._left(seconds) > self.ready and self.slow:  # a job that took its time is kept, to trace what is edited next
            self.editor.ask("workspace/executeCommand", command="graphbreak.restart", arguments=[])
            self.slow = False
            self.assert_next_is_right()
        left = self._left(seconds)
        assert left <= self.ready, f"{left} processes, and {self.ready} are kept ready"

    def _left(self, seconds: float) -> int:
        end = time.monotonic() + (0.5 if self.slow else seconds)
        while (now := len(self.editor.processes())) > self.ready and time.monotonic() < end:
            time.sleep(_PAUSE)
        return now

    def late(self, allowed: float = 0.5) -> str:
        """What was wrong with the hovers of the last trace, in words; each is measured against those of the same server at rest. `allowed`
        is how many seconds more the longest may take."""
        usual, slowest = _of(self.idle, 90), max(self.idle)
        most, longest = _of(self.hovers, 90), max(self.hovers)
        if most > 0.1 + 10 * usual:
            return f"of ten hovers one took {most:.3f} s, at rest {usual:.3f} s"
        if longest > allowed + 10 * slowest:
            return f"a hover took {longest:.3f} s, at rest {slowest:.3f} s at most"
        return ""

    def _wait(self, path: Path, seconds: float) -> None:
        """Hover again and again until the trace has ended."""
        end, uri = time.monotonic() + seconds, path.as_uri()
        while not any((uri, state) in self._states for state in _ENDS):
            assert time.monotonic() < end, f"the trace does not end: {self._states}; {self.editor.log[-5:]}"
            self.hovers.append(self._hover(path))
            time.sleep(_PAUSE)

    def _hover(self, path: Path) -> float:
        asked = time.monotonic()
        answer = self.editor.hover(path, 6, 5)
        assert "error" not in answer, answer
        return time.monotonic() - asked

    def close(self) -> None:
        """End the server; nothing that it made is left."""
        if self.editor.process.poll() is None and self._states:
            self.editor.end()
        self.editor.close()


def _of(times: list[float], percent: int) -> float:
    """So many percent of the times are at most so long."""
    return sorted(times)[(len(times) - 1) * percent // 100]


def said(report: Mapping[str, Any]) -> str:
    """All that is said of a run."""
    raised = [found["message"] for found in report["diagnostics"] if found["kind"] == "raised"]
    return "\n".join([*report["problems"], *raised, *(row["detail"] for row in report["functions"])])
