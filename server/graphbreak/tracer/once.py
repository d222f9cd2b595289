"""A fresh process for one job: where a parent cannot fork (macOS, Windows)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..core.tracing import TimedOut, WorkerDied
from ..sandbox.policy import Policy
from ..sandbox.start import Sandboxed, start
from ..worker import protocol
from ..worker.protocol import Hello, Job, Message
from .connection import Tail, read_message, read_run
from .prepared import WORKER, CannotStart, Ran, greeting, refusal


class Started:
    """A process that has imported torch, or is about to, and waits for its one job."""

    def __init__(self, interpreter: str, program: Sandboxed) -> None:
        self._interpreter, self._program = interpreter, program
        self._output = Tail()
        assert program.process.stderr is not None
        self._follow = asyncio.create_task(self._output.follow(program.process.stderr))

    @property
    def alive(self) -> bool:
        """Whether it can still be given its job."""
        return self._program.process.returncode is None

    async def run(self, job: Job, timeout: float, on_message: Callable[[Message], None]) -> Ran:
        """Run the job, and end all that it started. Raises CannotStart and NotAllowed."""
        process, program = self._program.process, self._program
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(protocol.pack(job))
            hello = await _greeting(self._interpreter, program, self._output)
            on_message(hello)
            try:
                end = await asyncio.wait_for(read_run(process.stdout, on_message), timeout)
            except asyncio.TimeoutError:
                end = TimedOut(timeout)
        finally:
            await self.end()
        if isinstance(end, WorkerDied) and not end.detail:
            end = WorkerDied(process.returncode, program.memory_end if process.returncode == -signal.SIGKILL else "")
        return Ran(hello, program.layers, end, self._output.text)

    async def end(self) -> None:
        """End it with all that it started."""
        if self._program.process.stdin is not None:
            self._program.process.stdin.close()  # one that has no job yet ends by itself
        await _end(self._program.process)
        await asyncio.wait([self._follow], timeout=0.2)
        self._follow.cancel()
        self._program.close()


async def begin(interpreter: str, policy: Policy, needed: Sequence[str]) -> Started:
    """Start a process for one job; `needed` are the folders that the job must see. Raises CannotStart and NotAllowed."""
    own_group: dict[str, Any] = {"creationflags": 0x200} if os.name == "nt" else {"start_new_session": True}  # CREATE_NEW_PROCESS_GROUP
    pipe = asyncio.subprocess.PIPE
    policy = replace(policy, needed=(*policy.needed, *needed))
    try:
        program = await start(
            [interpreter, WORKER, "once"], policy, single=True, cwd="/", stdin=pipe, stdout=pipe, stderr=pipe, **own_group
        )
    except OSError as error:
        raise CannotStart(f"The interpreter {interpreter} cannot be started: {error.strerror or error}.") from error
    return Started(interpreter, program)


async def _greeting(interpreter: str, program: Sandboxed, output: Tail) -> Hello:
    assert program.process.stdout is not None
    try:
        hello = await read_message(program.process.stdout)
    except protocol.ProtocolError as error:
        raise CannotStart(f"The interpreter {interpreter} did not answer as a worker does: {error}.") from error
    await program.told()
    if program.missing:
        raise refusal(program)
    if program.cannot_start:
        raise CannotStart(f"The interpreter {interpreter} cannot be started: {program.cannot_start}.")
    if hello is None and program.memory_end:
        raise CannotStart(f"The interpreter {interpreter} cannot import torch: {program.memory_end}.")
    if hello is None:
        last = output.text.strip().rpartition("\n")[2]
        raise CannotStart(f"The interpreter {interpreter} ended while importing torch: {last}")
    return greeting(interpreter, hello)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process with its group (on Windows with its tree). One that ends by itself right now keeps its own exit status."""
    try:
        await asyncio.wait_for(process.wait(), 0.5)
    except asyncio.TimeoutError:
        pass
    if os.name == "nt":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    await process.wait()
    getattr(process, "_transport").close()  # noqa: B009 - a stray child may hold the pipes open, and asyncio would wait for it
