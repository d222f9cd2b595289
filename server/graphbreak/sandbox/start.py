"""The server's side of a sandbox: starts a program in one, knows which layers are in force, and asks its supervisor for what a job
needs."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .policy import Policy

AVAILABLE = sys.platform == "linux"
"""Whether there is a sandbox on this platform."""

_LAUNCHER = str(Path(__file__).with_name("launcher.py"))
_ANSWER_SECONDS = 10.0
_PACKET = 1 << 16
_GIB = 1 << 30


class Sandboxed:
    """A program that was started. `layers` are those that are around it; `refusal` says, in words, why it was not started after all."""

    def __init__(self, process: asyncio.subprocess.Process, line: socket.socket | None) -> None:
        self.process = process
        self.layers: tuple[str, ...] = ()
        self.missing: tuple[str, ...] = ()
        self.cannot_start = ""
        self.jobs = 0
        """How many jobs run in it, for whoever counts them."""
        self.memory_end = ""
        """Set once a job was ended because of the memory that it took: a sentence about it."""
        self._line = line
        self._told = asyncio.Event()
        self._done: asyncio.Queue[bool] = asyncio.Queue()
        self._orders = asyncio.Lock()
        self._listening = asyncio.create_task(self._listen()) if line is not None else None

    async def told(self) -> None:
        """Wait until it is known which layers are in force."""
        if self._line is not None:
            await asyncio.wait_for(self._told.wait(), _ANSWER_SECONDS)

    async def show(self, paths: Iterable[str]) -> None:
        """Have these files and folders visible, as they are now."""
        await self._order(show=list(paths))

    async def ready(self) -> None:
        """The program is prepared: what is in its private folder now is its own, and stays."""
        await self._order(ready=True)

    async def tidy(self) -> None:
        """Empty the private folder; no job may run."""
        await self._order(tidy=True)

    async def _order(self, **words: Any) -> None:
        if self._line is None:
            return
        async with self._orders:
            try:
                await asyncio.get_running_loop().sock_sendall(self._line, json.dumps(words).encode())
                await asyncio.wait_for(self._done.get(), _ANSWER_SECONDS)
            except (OSError, asyncio.TimeoutError):
                return  # it is gone, as will be noticed where its answers are awaited

    async def _listen(self) -> None:
        assert self._line is not None
        loop = asyncio.get_running_loop()
        try:
            while data := await loop.sock_recv(self._line, _PACKET):
                self._hear(json.loads(data))
        except (OSError, ValueError):
            pass
        self._told.set()
        self._done.put_nowait(False)

    def _hear(self, words: dict[str, Any]) -> None:
        if "layers" in words:
            self.layers = tuple(words["layers"])
            self._told.set()
        elif "missing" in words:
            self.missing = tuple(words["missing"])
        elif "cannot_start" in words:
            self.cannot_start = str(words["cannot_start"])
        elif "memory" in words:
            size, left = (f"{words[name] / _GIB:.1f} GiB" for name in ("memory", "available"))
            self.memory_end = f"the program took {size} of memory and {left} were left on the machine, so it was ended"
        elif "done" in words:
            self._done.put_nowait(True)

    def close(self) -> None:
        """Let go of the supervisor; it ends with its program."""
        if self._listening is not None:
            self._listening.cancel()
        if self._line is not None:
            hang_up(self._line)


def hang_up(line: socket.socket) -> None:
    """Close a socket that the event loop may be waiting for: its number is soon another socket's, for which nobody would be woken then."""
    if line.fileno() >= 0:
        asyncio.get_running_loop().remove_reader(line)
    line.close()


async def start(command: Sequence[str], policy: Policy, *, descriptors: Sequence[int] = (), single: bool, **streams: Any) -> Sandboxed:
    """Start a program under its policy, or plainly where there is no sandbox. `descriptors` are passed on to it; it is `single` if it is
    one job in itself. Raises OSError, also where the program is not there."""
    if not (AVAILABLE and policy.enabled):
        passed: dict[str, Any] = {"pass_fds": descriptors} if descriptors else {}
        program, *arguments = command
        return Sandboxed(await asyncio.create_subprocess_exec(program, *arguments, env=policy.variables, **passed, **streams), None)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    text = _policy_file(_as_launched(command, policy, descriptors, single))
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", _LAUNCHER, str(text), str(theirs.fileno()),
            pass_fds=[*descriptors, text, theirs.fileno()], env=_launcher_variables(), **streams,
        )  # fmt: skip
    except OSError:
        ours.close()
        raise
    finally:
        os.close(text)
        theirs.close()
    return Sandboxed(process, ours)


def _as_launched(command: Sequence[str], policy: Policy, descriptors: Sequence[int], single: bool) -> dict[str, Any]:
    return {
        **asdict(policy),
        "command": list(command),
        "descriptors": list(descriptors),
        "single": single,
        "server": os.getpid(),
        "temporary": tempfile.gettempdir(),
    }


def _launcher_variables() -> dict[str, str]:
    """What the launcher's Python needs to start, and nothing that would make it run something else."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "LC_ALL", "LANG") if name in os.environ}


def _policy_file(policy: dict[str, Any]) -> int:
    """The policy in a file without a name; returns its descriptor, at the start."""
    descriptor = os.memfd_create("policy") if sys.platform == "linux" else -1
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(json.dumps(policy).encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
