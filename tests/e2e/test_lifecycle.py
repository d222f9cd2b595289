"""Nothing is left behind: not when the editor is killed, not when the server is, in the middle of a trace that never ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SECONDS = 60.0
ENDLESS = """\
import subprocess

import torch


@torch.compile
def f(x):
    return x + 1


f(torch.ones(2))
subprocess.Popen(["sh", "-c", "setsid sleep 600 & sleep 600"])
open("started", "w").close()
while True:
    pass
"""


class Session:
    """A small editor with its server and workers; all of them carry one variable, by which they are found."""

    def __init__(self, folder: Path) -> None:
        self.token = f"GRAPHBREAK_TEST={uuid.uuid4().hex}"
        name, _, value = self.token.partition("=")
        path = folder / "endless.py"
        path.write_text(ENDLESS, encoding="utf-8")
        self.started = folder / "started"
        environment = {**os.environ, name: value, "PYTHONPATH": str(ROOT / "server")}
        command = [sys.executable, str(Path(__file__).with_name("small_editor.py")), str(path)]
        self.editor = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.editor.stdout is not None
        self.server = int(json.loads(self.editor.stdout.readline())["server"])

    def processes(self) -> list[int]:
        """Those that run now, zombies left out."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.token.encode() in (folder / "environ").read_bytes() and "\nState:\tZ" not in (folder / "status").read_text():
                    found.append(int(folder.name))
            except OSError:
                continue
        return found


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path)
    yield session
    for pid in session.processes():
        os.kill(pid, signal.SIGKILL)
    session.editor.wait()


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")
@pytest.mark.parametrize("victim", ["editor", "server"])
def test_no_process_is_left(session: Session, victim: str) -> None:
    assert wait_until(session.started.exists)
    assert wait_until(lambda: len(session.processes()) >= 6)  # editor, server, prepared parent, job, and its two sleeping children
    os.kill({"editor": session.editor.pid, "server": session.server}[victim], signal.SIGKILL)
    others = {session.editor.pid} if victim == "server" else set()
    assert wait_until(lambda: not set(session.processes()) - others), session.processes()
