"""Every hostile program ends in one clear outcome and changes nothing, the editor is answered meanwhile, and the trace after it is right:
through one real server, whose home is one that may be lost."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from graphbreak.tracer.walking import python_files
from harness import PRINT

from .programs import ANY, DIED, HEAD, NOT_RUN, PROGRAMS, RAISED, TIMED_OUT, Hostile
from .watched import Report, Watched, said, snapshot

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
_LINE = HEAD.splitlines().index('    print("a")')
PRINTED = {"start": {"line": _LINE, "character": 4}, "end": {"line": _LINE, "character": 14}}
BOMBS = [program for program in PROGRAMS if "bomb" in program.name]
"""They take every core that there is, for as long as they may."""
HERE = [("127.0.0.1", socket.AF_INET), ("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)]


@dataclass
class Canary:
    """What must stay as it is, beside the files: somebody who listens, and a process."""

    port: int
    process: subprocess.Popen[bytes]
    listeners: list[socket.socket] = field(default_factory=list)

    def assert_unharmed(self) -> None:
        assert self.process.poll() is None
        for listener in self.listeners:
            with pytest.raises(BlockingIOError):
                listener.accept() if listener.type == socket.SOCK_STREAM else listener.recv(1)


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    first = socket.create_server(("127.0.0.1", 0))
    port = first.getsockname()[1]
    listeners = [first, *(socket.create_server((host, port), family=family) for host, family in HERE[1:])]
    packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packets.bind(("127.0.0.1", port))
    for listener in (*listeners, packets):
        listener.setblocking(False)
    process = subprocess.Popen(["sleep", "3600"])
    yield Canary(port, process, [*listeners, packets])
    process.kill()
    process.wait()
    for listener in (*listeners, packets):
        listener.close()


def assert_ended_as(report: Report, program: Hostile) -> None:
    kinds = [found["kind"] for found in report["diagnostics"]]
    (row,) = report["functions"]
    assert program.says in said(report), said(report)
    if program.ends == ANY:
        assert row["outcome"] in ("traced", "timed-out")
        return
    if program.ends == NOT_RUN:
        assert row["outcome"] == "raised"
        return
    assert ("break", "GB0059", PRINTED) in [(found["kind"], found["code"], found["range"]) for found in report["diagnostics"]], said(report)
    assert (row["outcome"] == "timed-out") is (program.ends == TIMED_OUT), said(report)
    assert ("raised" in kinds) is (program.ends == RAISED), said(report)
    if program.ends == DIED:
        assert len([problem for problem in report["problems"] if "what was found until then is kept" in problem]) == 1


@pytest.mark.parametrize("program", [pytest.param(one, id=one.name) for one in PROGRAMS if LONG or one.telling])
def test_a_hostile_program_does_no_harm(watched: Watched, canary: Canary, program: Hostile) -> None:
    report = _traced(watched, canary, program)
    allowed = 3.0 if program in BOMBS else 0.5
    if watched.late(allowed):  # by what else this machine does, perhaps
        report = _traced(watched, canary, program)
    assert not watched.late(allowed), watched.late(allowed)
    assert_ended_as(report, program)
    watched.assert_next_is_right()
    watched.assert_nobody_is_left()


def _traced(watched: Watched, canary: Canary, program: Hostile) -> Report:
    """What is said of a program, which changes nothing."""
    folder = watched.folder()
    text = program.text
    for name, value in (("{canary}", folder / "canary"), ("{port}", canary.port), ("{pid}", canary.process.pid)):
        text = text.replace(name, str(value))
    (folder / "canary").mkdir()
    for name, content in {**program.files, "main.py": text, "canary/file": "precious"}.items():
        (folder / name).write_text(content)
    home, workspace = snapshot(watched.home), snapshot(watched.workspace)
    try:
        report = watched.trace(folder / "main.py", text, timeout=program.timeout)
        assert snapshot(watched.workspace) == workspace
        assert snapshot(watched.home) == home
        canary.assert_unharmed()
        return report
    finally:
        watched.leave(folder / "main.py")
        shutil.rmtree(folder)


LINKS = {"loop": ".", "up": "..", "self.py": "self.py", "one.py": "two.py", "two.py": "one.py", "gone.py": "nowhere.py",
         "a": "b", "b": "a", ".gitignore": ".gitignore", "pyproject.toml": "pyproject.toml"}  # fmt: skip


def test_links_that_lead_in_a_circle_are_passed_over(watched: Watched) -> None:
    folder = watched.folder()
    try:
        for name, target in LINKS.items():
            (folder / name).symlink_to(target)
        marked = folder / "marked.py"
        marked.write_text(PRINT)
        found = {Path(path).relative_to(folder).as_posix() for path in python_files(str(folder))}
        assert found == {"marked.py", "gone.py"}
        watched.assert_next_is_right()
        watched.editor.ask("workspace/executeCommand", command="graphbreak.traceWorkspace", arguments=[])
        watched.editor.shows(marked, "6:4-6:16")
        assert not [line for line in watched.editor.log if "failed" in line or "Traceback" in line]
    finally:
        shutil.rmtree(folder)
    watched.assert_next_is_right()


def test_there_are_enough_of_them() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) >= 80
    assert 30 <= sum(program.telling for program in PROGRAMS) <= 45
