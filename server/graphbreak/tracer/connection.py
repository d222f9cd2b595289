"""Messages of the worker over an asyncio stream, and the tail of what a program prints."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from ..core.room import Room
from ..core.tracing import Finished, RunEnd, WorkerDied
from ..worker import protocol
from ..worker.protocol import Ended, Message
from ..worker.protocol_values import MAX_MESSAGE, unfit

_TAIL = 64 * 1024
_LARGE = 32 * 1024
PACKET = 1 << 20
_MOST_MESSAGES = 50_000
_MOST_BYTES = 128 * 1024 * 1024


class Tail:
    """The last 64 KiB of a stream that is read to keep it from filling up."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Put data behind what is there, and forget what is too far back."""
        self._data += data
        del self._data[:-_TAIL]

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Read a stream to its end."""
        while data := await stream.read(65536):
            self.add(data)

    @property
    def text(self) -> str:
        """What is kept, as text."""
        return self._data.decode("utf-8", "replace")


async def heard(data: bytes) -> Message:
    """The message of a frame's bytes. Raises ProtocolError for what is none, and for what is too much to be looked at.

    A large one is looked at beside the event loop, and after a small one others have their turn: a stream that has more does not wait.
    """
    if why := unfit(data):
        raise protocol.ProtocolError(why)
    if len(data) > _LARGE:
        return await asyncio.to_thread(protocol.unpack, data)
    message = protocol.unpack(data)
    await asyncio.sleep(0)
    return message


async def hear_packet(control: socket.socket) -> Message | None:
    """The next message of a control socket, which has one in each packet; None at its end. Raises ProtocolError and OSError."""
    data = await asyncio.get_running_loop().sock_recv(control, PACKET)
    return await heard(data[protocol.HEADER.size :]) if data else None


async def read_message(stream: asyncio.StreamReader) -> Message | None:
    """The next message, or None at the end of the stream. Raises ProtocolError for what is not a message."""
    data = await _read_frame(stream)
    return None if data is None else await heard(data)


async def _read_frame(stream: asyncio.StreamReader) -> bytes | None:
    try:
        (length,) = protocol.HEADER.unpack(await stream.readexactly(protocol.HEADER.size))
        if length > MAX_MESSAGE:
            raise protocol.ProtocolError(f"a message of {length} bytes")
        return await stream.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def read_run(stream: asyncio.StreamReader, on_message: Callable[[Message], None]) -> RunEnd:
    """Read what a job says until it says that it ended, or goes away (status unknown here). What is more than can be shown is left out,
    and `on_message` told so."""
    size, room = 0, Room()
    for _ in range(_MOST_MESSAGES):
        try:
            data = await _read_frame(stream)
            if data is None:
                return WorkerDied(None)
            size += len(data)
            if size > _MOST_BYTES:
                break
            message = await heard(data)
        except protocol.ProtocolError as error:
            return WorkerDied(None, f"the worker said something that is not understood ({error})")
        if isinstance(message, Ended):
            return Finished(room.end(message))
        for kept in room.taken(message):
            on_message(kept)
    return WorkerDied(None, "the worker said more than can be kept")


def version_problem(hello: protocol.Hello) -> str:
    """One sentence when the two sides are not of one version, which a half-updated installation can cause."""
    if hello.version == protocol.VERSION:
        return ""
    return f"The worker speaks version {hello.version} of the protocol and the server version {protocol.VERSION}; install graphbreak again."
