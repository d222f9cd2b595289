"""The jobs of one process that forks for each: a prepared parent, or one of the second level."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.tracing import Finished, RunEnd, TimedOut, WorkerDied
from ..sandbox.start import Sandboxed
from ..worker import protocol
from ..worker.protocol import DeviceSeen, Exited, Fork, Hello, Job, Kill, Message, Spare
from .connection import Tail, hear_packet, read_run
from .kept import KeptJob

_LAST_WORDS_SECONDS = 2.0
_MOST_HEARD = 1000


class ParentGone(Exception):
    """The parent ended before it could fork; another one may do."""


@dataclass(frozen=True)
class Ran:
    """A job that was run: what the worker is, the layers of the sandbox around it, how it ended, and the tail of what it printed; and the
    job itself where it stays after its end, which whoever has this has to close."""

    hello: Hello
    layers: tuple[str, ...]
    end: RunEnd
    output: str
    kept: KeptJob | None = None


class Forks:
    """`run` may be called many times, also at once. `control` is the socket of the process that forks, `program` the sandbox that it is
    in, which may have several of them."""

    hello: Hello | None = None
    _control: socket.socket

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._heard = 0
        """How many messages came since a job was begun."""
        self._busy = 0
        """How many jobs run, without those that are only kept."""
        self._tasks: list[asyncio.Task[None]] = []
        self._program: Sandboxed | None = None
        self._lost = False
        self.has_spare = False
        """Whether a process is ready ahead of the next job."""
        self.used = time.monotonic()
        """When it last had a job."""
        self._on_cuda: set[tuple[object, ...]] = set()
        """The entries whose last job used CUDA."""

    @property
    def alive(self) -> bool:
        """Whether it can still fork."""
        return self._program is not None and self._program.process.returncode is None and not self._lost

    @property
    def busy(self) -> bool:
        """Whether a job runs that is not only kept."""
        return bool(self._busy)

    async def _listen(self) -> None:
        """Hear of jobs that ended, until the parent itself is gone."""
        while True:
            try:
                message = await hear_packet(self._control)
            except OSError:
                message = None
            except protocol.ProtocolError:
                self._give_up()
                break
            self._heard += 1
            if message is None:
                break
            if self._heard > _MOST_HEARD:
                self._give_up()
                break
            if isinstance(message, Spare):
                self.has_spare = message.ready
            waiting = self._exits.get(message.job) if isinstance(message, Exited) else None
            if isinstance(message, Exited) and waiting is not None and not waiting.done():
                waiting.set_result(message.status)
        self._lost, self.has_spare = True, False
        for waiting in self._exits.values():
            if not waiting.done():
                waiting.set_result(-signal.SIGKILL)

    def _give_up(self) -> None:
        """It is not ours any more, though it lives on, and whatever has grown from it is in the same sandbox."""
        assert self._program is not None
        if self._program.process.returncode is None:
            self._program.process.kill()

    async def run(self, job: Job, needed: Sequence[str], timeout: float, on_message: Callable[[Message], None]) -> Ran:
        """Run a job in a fork. When the task is cancelled the job is ended first. `needed` are the folders that it must see. Raises
        ParentGone."""
        assert self._program is not None
        assert self.hello is not None
        number = next(self._numbers)
        gone = self._exits[number] = asyncio.get_running_loop().create_future()
        output = Tail()
        self._program.memory_end = "" if not self._program.jobs else self._program.memory_end
        self._begin()
        try:
            await self._program.show(needed)
            reader, writer, follow = await self._fork(number, job, output)
        except BaseException:
            del self._exits[number]
            self._leave_off()
            raise

        async def leave() -> None:
            await self._end(number, gone)
            writer.close()
            await asyncio.wait([follow], timeout=0.2)
            follow.cancel()

        kept = False
        try:
            writer.write(protocol.pack(job))
            end = await self._talk(reader, gone, timeout, self._watching(job, on_message))
            if isinstance(end, WorkerDied) and not end.detail:
                await asyncio.wait([gone], timeout=_LAST_WORDS_SECONDS)
                status = gone.result() if gone.done() else protocol.CUT_OFF  # it may live on, unheard
                end = WorkerDied(status, self._program.memory_end if status == -signal.SIGKILL else "")
            kept = job.keep > 0 and isinstance(end, Finished) and end.ended.kept
        finally:
            if not kept:
                await leave()
            await self._rest()
        stays = KeptJob(reader, writer, leave, lambda busy: self._show(needed) if busy else self._rest()) if kept else None
        return Ran(self.hello, self._program.layers, end, output.text, stays)

    async def _show(self, needed: Sequence[str]) -> None:
        """A job that was kept has something to do."""
        assert self._program is not None
        self._begin()
        await self._program.show(needed)

    async def _rest(self) -> None:
        """A job has nothing to do any more."""
        assert self._program is not None
        self._leave_off()
        if not self._program.jobs:
            await self._program.tidy()

    def _begin(self) -> None:
        assert self._program is not None
        self._heard = 0
        self._busy += 1
        self._program.jobs += 1

    def _leave_off(self) -> None:
        assert self._program is not None
        self._busy -= 1
        self._program.jobs -= 1
        self.used = time.monotonic()

    async def _end(self, number: int, gone: asyncio.Future[int]) -> None:
        """End a job."""
        assert self._program is not None
        self._kill(number)
        await asyncio.wait([gone], timeout=5)
        if not gone.done():  # the parent does not get to it any more, so that all of its processes have to go
            self._lost = True
            self._program.process.kill()
        del self._exits[number]

    def _watching(self, job: Job, on_message: Callable[[Message], None]) -> Callable[[Message], None]:
        """Notes whether a job uses CUDA, for the next one of its entry."""
        self._on_cuda.discard(_entry(job))

        def hear(message: Message) -> None:
            if isinstance(message, DeviceSeen) and message.used == "cuda":
                self._on_cuda.add(_entry(job))
            on_message(message)

        return hear

    async def _fork(self, number: int, job: Job, output: Tail) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, asyncio.Task[None]]:
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        try:
            socket.send_fds(
                self._control,
                [protocol.pack(Fork(number, job.device != "cpu" and _entry(job) in self._on_cuda))],
                [theirs.fileno(), write_end],
            )
        except OSError as error:
            ours.close()
            os.close(read_end)
            self._lost = True
            raise ParentGone from error
        finally:
            theirs.close()
            os.close(write_end)
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read_end, "rb", buffering=0))
        reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
        return reader, writer, asyncio.create_task(output.follow(stream))

    async def _talk(
        self, reader: asyncio.StreamReader, gone: asyncio.Future[int], timeout: float, on_message: Callable[[Message], None]
    ) -> RunEnd:
        """Listen until the job says its last, is gone, or overruns. Its children may hold its socket open, so its exit counts too."""
        talk = asyncio.create_task(read_run(reader, on_message))
        try:
            both: list[asyncio.Future[Any]] = [talk, gone]
            done, _ = await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                return TimedOut(timeout)
            if talk not in done:
                await asyncio.wait([talk], timeout=_LAST_WORDS_SECONDS)
            return talk.result() if talk.done() else WorkerDied(None)
        finally:
            talk.cancel()

    def _kill(self, number: int) -> None:
        try:
            self._control.send(protocol.pack(Kill(number)))
        except OSError:
            pass  # the parent is gone, and its jobs with it

    def _forget_jobs(self) -> None:
        for task in self._tasks:
            task.cancel()
        for waiting in self._exits.values():
            if not waiting.done():
                waiting.set_result(-signal.SIGKILL)


def _entry(job: Job) -> tuple[object, ...]:
    return job.path, job.function, tuple(job.tests), job.edited is None
