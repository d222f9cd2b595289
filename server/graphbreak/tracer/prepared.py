"""A prepared parent on Linux: one process that has imported torch, asked over a socket to fork for each job."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..sandbox.policy import Policy
from ..sandbox.start import Sandboxed, hang_up, start
from ..worker import protocol
from ..worker.protocol import Grow, Grown, Hello, Message
from .connection import Tail, hear_packet, version_problem
from .forks import Forks
from .forks import ParentGone as ParentGone
from .forks import Ran as Ran

WORKER = str(Path(__file__).parent.parent / "worker" / "__main__.py")
_STARTUP_SECONDS = 300.0
_GROWTH_SECONDS = 120.0


class CannotStart(Exception):
    """The interpreter cannot trace; the message is the sentence to show."""


class NotAllowed(Exception):
    """Nothing was started, since the sandbox is not what the user asks for; the message is the sentence to show."""


def greeting(interpreter: str, message: Message) -> Hello:
    """The first thing a worker says, if it can trace and is of our version. Raises CannotStart."""
    if not isinstance(message, Hello):
        raise CannotStart(f"The interpreter {interpreter} did not answer as a worker does.")
    if problem := version_problem(message) or message.error:
        raise CannotStart(problem)
    return message


def refusal(program: Sandboxed) -> NotAllowed:
    """Why a program was not started in a sandbox that lacks something."""
    names = ", ".join(program.missing)
    return NotAllowed(f"The sandbox lacks {names} here, which the setting `sandbox.require` asks for, so nothing is run.")


class PreparedParent(Forks):
    """One parent process. `start` it first; `close` ends it with all its jobs, and those of the parents that have grown from it."""

    def __init__(self, interpreter: str, policy: Policy, libraries: Mapping[str, str]) -> None:
        super().__init__()
        self.libraries = libraries
        """What was installed when it was started, as `facts` tells it."""
        self._interpreter = interpreter
        self._policy = policy
        self._noise = Tail()

    async def start(self) -> Hello:
        """Start it and wait until torch is imported. Raises CannotStart and NotAllowed."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._control = ours
        try:
            self._program = await start(
                [self._interpreter, WORKER, "parent", str(theirs.fileno())], self._policy, descriptors=[theirs.fileno()], single=False,
                start_new_session=True, cwd="/", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
        except OSError as error:
            ours.close()
            raise CannotStart(f"The interpreter {self._interpreter} cannot be started: {error.strerror or error}.") from error
        finally:
            theirs.close()
        assert self._program.process.stdout is not None
        self._tasks.append(asyncio.create_task(self._noise.follow(self._program.process.stdout)))
        try:
            self.hello = await asyncio.wait_for(self._greeting(), _STARTUP_SECONDS)
            await self._program.told()
            await self._program.ready()
        except BaseException:
            await self.close()
            raise
        self._tasks.append(asyncio.create_task(self._listen()))
        return self.hello

    async def _greeting(self) -> Hello:
        try:
            message = await hear_packet(self._control)
        except protocol.ProtocolError as error:
            raise CannotStart(f"The interpreter {self._interpreter} did not answer as a worker does: {error}.") from error
        if message is None:
            raise await self._why_no_greeting()
        return greeting(self._interpreter, message)

    async def _why_no_greeting(self) -> Exception:
        assert self._program is not None
        status = await self._program.process.wait()
        await self._program.told()
        if self._program.missing:
            return refusal(self._program)
        if self._program.cannot_start:
            return CannotStart(f"The interpreter {self._interpreter} cannot be started: {self._program.cannot_start}.")
        if self._program.memory_end:
            return CannotStart(f"The interpreter {self._interpreter} cannot import torch: {self._program.memory_end}.")
        await asyncio.wait(self._tasks, timeout=1)
        last = self._noise.text.strip().rpartition("\n")[2]
        why = f"The interpreter {self._interpreter} ended with status {status} while importing torch"
        return CannotStart(f"{why}: {last}" if last else f"{why}.")

    async def grow(self, modules: Sequence[str]) -> GrownParent | str:
        """A parent of the second level, which has imported these libraries too, in order; the name of one that cannot be imported ahead
        (empty: nobody knows why it did not work)."""
        assert self._program is not None
        assert self.hello is not None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            socket.send_fds(self._control, [protocol.pack(Grow(list(modules)))], [theirs.fileno()])
        except OSError:
            ours.close()
            return ""
        finally:
            theirs.close()
        try:
            answer = await asyncio.wait_for(hear_packet(ours), _GROWTH_SECONDS)
        except (OSError, asyncio.TimeoutError, protocol.ProtocolError):
            answer = None
        except BaseException:
            ours.close()
            raise
        if not isinstance(answer, Grown) or answer.left_out:
            ours.close()
            return answer.left_out if isinstance(answer, Grown) else ""
        return GrownParent(ours, self._program, self.hello, tuple(modules), answer.files)

    async def close(self) -> None:
        """End it with all its jobs; returns when it is gone."""
        hang_up(self._control)
        self._lost = True
        if self._program is not None and self._program.process.returncode is None:
            try:
                await asyncio.wait_for(self._program.process.wait(), 5)
            except asyncio.TimeoutError:
                self._program.process.kill()
                await self._program.process.wait()
        if self._program is not None:
            self._program.close()
        self._forget_jobs()


class GrownParent(Forks):
    """A parent of the second level: `modules` are imported in it, from files that `is_current` looks at. It ends with the one that it
    has grown from."""

    def __init__(self, control: socket.socket, program: Sandboxed, hello: Hello, modules: tuple[str, ...], files: Sequence[str]) -> None:
        super().__init__()
        self._control, self._program, self.hello, self.modules = control, program, hello, modules
        folders = {_package_folder(file) for file in files}
        self._stamps = {path: _stamp(path) for path in (*files, *folders)}
        self._tasks.append(asyncio.create_task(self._listen()))

    def is_current(self) -> bool:
        """Whether no file of what is imported has changed, and nothing was installed beside it."""
        return all(_stamp(path) == stamp for path, stamp in self._stamps.items())

    def close(self) -> None:
        """End it with all its jobs."""
        hang_up(self._control)
        self._lost = True
        self._forget_jobs()


def _package_folder(file: str) -> str:
    """The `site-packages` that a file is in; when something is installed there it changes."""
    folder, found, _ = file.partition(f"{os.sep}site-packages{os.sep}")
    return folder + found if found else os.path.dirname(file)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return -1, -1
    return found.st_mtime_ns, found.st_size
