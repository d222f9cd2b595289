"""A spare on which CUDA was started is for programs that use it: the parent with a CUDA that only seems to be there."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphbreak.worker import protocol
from graphbreak.worker.protocol import Fork, Spare

SERVER = Path(__file__).parent.parent.parent / "server"
PARENT = """
import os, socket, sys
from graphbreak.worker import parent

started = []

def start_cuda():
    started.append("cuda")
    return sys.argv[2] == "works"

def do_job(channel):
    socket.socket(fileno=channel).send(",".join(["spare" if warm else "fork", *started]).encode())
    os._exit(0)

warm = []
parent.Parent(socket.socket(fileno=int(sys.argv[1])), do_job, lambda: warm.append(True), start_cuda).serve()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="parents fork on Linux only")


class Driver:
    """The other end of a parent's socket."""

    def __init__(self, cuda: str) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-c", PARENT, str(theirs.fileno()), cuda]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env={**os.environ, "PYTHONPATH": str(SERVER)})
        theirs.close()
        self._number = 0

    def until_spare(self) -> None:
        """Wait until the newest word is that a spare is ready."""
        ready = False
        while not ready or select.select([self.control], [], [], 0.3)[0]:
            assert select.select([self.control], [], [], 30)[0], "there is no spare"
            message = protocol.unpack(self.control.recv(65536)[protocol.HEADER.size :])
            ready = message.ready if isinstance(message, Spare) else ready

    def job(self, cuda: bool) -> str:
        """What a job runs in."""
        self._number += 1
        ours, theirs = socket.socketpair()
        with ours, theirs, open(os.devnull, "wb") as nothing:
            socket.send_fds(self.control, [protocol.pack(Fork(self._number, cuda))], [theirs.fileno(), nothing.fileno()])
            theirs.close()
            return ours.recv(100).decode()

    def close(self) -> None:
        """End the parent, which ends with its socket."""
        self.control.close()
        self.process.wait(30)


@pytest.fixture(params=["works", "fails"])
def driver(request: Any) -> Iterator[Driver]:
    driver = Driver(request.param)
    yield driver
    driver.close()


@pytest.mark.parametrize("driver", ["works"], indirect=True)
def test_a_spare_with_cuda_is_for_programs_that_use_it(driver: Driver) -> None:
    driver.until_spare()
    assert driver.job(cuda=False) == "spare"
    driver.until_spare()
    assert driver.job(cuda=True) == "fork", "the one that waited has no CUDA"
    driver.until_spare()
    assert driver.job(cuda=True) == "spare,cuda"
    driver.until_spare()
    assert driver.job(cuda=False) == "fork", "this program must not find CUDA started"
    driver.until_spare()
    assert driver.job(cuda=False) == "spare"


@pytest.mark.parametrize("driver", ["fails"], indirect=True)
def test_where_cuda_cannot_be_started_spares_go_without(driver: Driver) -> None:
    driver.until_spare()
    assert driver.job(cuda=True) == "fork"
    driver.until_spare()
    assert driver.job(cuda=True) == "spare"


def test_what_was_started_ahead_is_not_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from graphbreak.worker import devices

    made = {"allocation.all.allocated": 0}
    free = [8 << 30]

    def empty(*size: int, device: str) -> None:
        assert device == "cuda"
        made["allocation.all.allocated"] += 1

    stub = SimpleNamespace(
        synchronize=lambda: None,
        empty_cache=lambda: None,
        reset_peak_memory_stats=lambda: None,
        memory_stats=lambda: made,
        mem_get_info=lambda: (free[0], 80 << 30),
        is_initialized=lambda: bool(made["allocation.all.allocated"]),
    )
    monkeypatch.setattr(torch, "cuda", stub)
    monkeypatch.setattr(torch, "empty", empty)
    monkeypatch.setattr(devices, "_made_ahead", None)
    assert not devices.cuda_is_in_use()
    assert devices.start_cuda()
    assert devices.cuda_is_started()
    assert not devices.cuda_is_in_use()
    torch.empty(3, device="cuda")
    assert devices.cuda_is_in_use()
    free[0] = 1 << 30
    assert not devices.start_cuda(), "little is left on it"
