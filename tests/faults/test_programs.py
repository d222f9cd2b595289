"""Every hostile program ends in one clear outcome and changes nothing, and the trace after it is right."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from graphbreak.core.findings import Kind, Outcome, Report
from harness import PRINT, Harness, assert_print_example, of_kind, only, squiggles

from .programs import ANY, DIED, NOT_RUN, PROGRAMS, RAISED, TIMED_OUT, Hostile

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
BREAK = ("break", "GB0059", 'print("a")')
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


def said(report: Report) -> str:
    """All that is said of a run."""
    words = [*report.problems, *(found.message for found in of_kind(report, Kind.RAISED)), *(row.detail for row in report.functions)]
    return "\n".join(words)


def assert_ended_as(report: Report, program: Hostile) -> None:
    if program.ends == ANY:
        assert only(report).outcome in (Outcome.TRACED, Outcome.TIMED_OUT)
        assert program.says in said(report)
        return
    if program.ends == NOT_RUN:
        assert only(report).outcome is Outcome.RAISED
        assert program.says in said(report)
        return
    assert BREAK in squiggles(report), said(report)
    assert (only(report).outcome is Outcome.TIMED_OUT) is (program.ends == TIMED_OUT), said(report)
    assert bool(of_kind(report, Kind.RAISED)) is (program.ends == RAISED), said(report)
    if program.ends == DIED:
        assert len([problem for problem in report.problems if "what was found until then is kept" in problem]) == 1
    assert program.says in said(report)


@pytest.mark.parametrize("program", [pytest.param(one, id=one.name) for one in PROGRAMS if LONG or one.telling])
def test_a_hostile_program_does_no_harm(harness: Harness, tmp_path: Path, canary: Canary, program: Hostile) -> None:
    text = program.text
    for name, value in (("{canary}", tmp_path / "canary"), ("{port}", canary.port), ("{pid}", canary.process.pid)):
        text = text.replace(name, str(value))
    files = {**program.files, "main.py": text, "canary/file": "precious"}
    (tmp_path / "canary").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(content)

    report = harness.analyse(tmp_path / "main.py", timeout=program.timeout)

    assert_ended_as(report, program)
    assert {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == files
    canary.assert_unharmed()
    assert_print_example(harness.analyse(tmp_path / "next.py", PRINT))
    harness.wait_for_the_end_of_jobs(10)


def test_there_are_enough_of_them() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) >= 80
    assert 30 <= sum(program.telling for program in PROGRAMS) <= 45
