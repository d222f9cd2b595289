"""A job that stays after its end, on our side of the pipe: asked to trace single edited functions of its program (`worker/keeping.py`)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from ..core.room import Room
from ..worker import protocol
from ..worker.protocol import Focus, Focused, Kill, Message
from .connection import read_message


def _future() -> asyncio.Future[Focused | None]:
    return asyncio.get_running_loop().create_future()


@dataclass
class _Asked:
    """One request: `on_message` hears what is said to it, `done` has the last of that, or None where the job is gone."""

    number: int
    on_message: Callable[[Message], None]
    done: asyncio.Future[Focused | None] = field(default_factory=_future)
    room: Room = field(default_factory=Room)

    def settle(self, answer: Focused | None) -> None:
        """There is no more to come."""
        if not self.done.done():
            self.done.set_result(answer)


class KeptJob:
    """One kept job. `end` ends its processes; `busy` is told before and after it has something to do."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        end: Callable[[], Awaitable[None]],
        busy: Callable[[bool], Awaitable[None]],
    ) -> None:
        self._reader, self._writer, self._end, self._busy = reader, writer, end, busy
        self._numbers = itertools.count(1)
        self._asked: list[_Asked] = []
        self._listening = asyncio.create_task(self._listen())
        self._ending: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._ending is None

    async def focus(self, asked: Focus, on_message: Callable[[Message], None]) -> Focused | None:
        """Have one function traced by itself; a request before it that is not done is given up. None where the job is gone. When the
        task is cancelled that trace is ended."""
        await self._busy(True)
        try:
            if not self.alive:
                return None
            request = _Asked(next(self._numbers), on_message)
            self._asked.append(request)
            self._writer.write(protocol.pack(replace(asked, number=request.number)))
            try:
                return await request.done
            except asyncio.CancelledError:
                if self.alive:
                    self._writer.write(protocol.pack(Kill(request.number)))
                raise
        finally:
            await self._busy(False)

    async def _listen(self) -> None:
        """Hear what it says, until it is gone. It answers one request after the other."""
        try:
            while (message := await read_message(self._reader)) is not None:
                if not self._asked:
                    continue
                if not isinstance(message, Focused):
                    for kept in self._asked[0].room.taken(message):
                        self._asked[0].on_message(kept)
                elif message.number == self._asked[0].number:
                    self._asked.pop(0).settle(message)
        except protocol.ProtocolError:
            pass  # it is not ours any more
        self.close()

    def close(self) -> asyncio.Task[None]:
        """End it; the task is done when it is gone."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._close())
        return self._ending

    async def _close(self) -> None:
        self._listening.cancel()
        for one in self._asked:
            one.settle(None)
        await self._end()
