"""The server as a process: it speaks on stdin and stdout and ends with its editor, however that ends."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from .connection import GraphbreakServer
from .editor import GRACE
from .framing import NoMessage, Reader, messages
from .memory import Memory
from .outgoing import Outgoing

_CHUNK = 1 << 16
_MOST_CHUNKS = 16
_LOOK = 1.0
_TURN = 0.001
"""Seconds after which a thread that computes lets the one that answers the editor have its turn."""


def serve_stdio(server: GraphbreakServer) -> int:
    """Serve the editor on the other side of stdin and stdout until it is done or gone: the exit status."""
    requests, answers = _claim_stdio()
    sys.setswitchinterval(_TURN)
    server.session.memory = Memory()
    gc.freeze()  # what was imported is never garbage: to look through it takes as long as an answer may
    return asyncio.run(_serve_stdio(server, requests, answers))


async def serve(server: GraphbreakServer, reader: Reader, writer: Any) -> int:
    """Serve one connection until it ends: the exit status. Whatever ended it, nothing is left running. `writer` has the `write` and the
    `drain` of a stream."""
    server.protocol.set_writer(writer)
    handling = asyncio.create_task(_handle_all(server, reader, writer))
    # Without an `exit` before it, the end of the messages means that the editor is gone.
    handling.add_done_callback(lambda task: server.end(1))
    try:
        return await server.ended()
    finally:
        handling.cancel()
        await asyncio.gather(handling, return_exceptions=True)
        await server.session.close()
        server.over.set()


async def _handle_all(server: GraphbreakServer, reader: Reader, writer: Any) -> None:
    """Handle one message after another, none while too much waits for the editor to read it."""
    async for found in messages(reader):
        if isinstance(found, NoMessage):
            server.connection.not_understood(found.why)
        else:
            server.connection.receive(found)
        await writer.drain()


async def _serve_stdio(server: GraphbreakServer, requests: int, answers: int) -> int:
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, server.end, 1)
    # pygls' log goes to stderr, which may be a pipe that nobody reads: what matters of it is in the editor's log.
    logging.getLogger("pygls").addHandler(logging.NullHandler())
    outgoing = Outgoing(answers, lambda: server.end(1))
    incoming = _Incoming(requests, lambda: server.end(1))
    try:
        return await serve(server, incoming, outgoing)
    finally:
        await outgoing.close()


def _claim_stdio() -> tuple[int, int]:
    """Keep stdin and stdout for the protocol: a stray `print` goes to stderr, and no child process inherits the pipe."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


class _Incoming:
    """Reads in a daemon thread: it works for every kind of stdin on every platform, and cannot hold the process back. What is not yet
    handled stays in the pipe, but for a mebibyte. `gone` is called when the editor has left and its last messages cannot be handled."""

    def __init__(self, descriptor: int, gone: Callable[[], object]) -> None:
        self._descriptor, self._gone = descriptor, gone
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(_MOST_CHUNKS)
        threading.Thread(target=self._follow, name="stdin", daemon=True).start()

    async def read(self, n: int) -> bytes:
        """What has arrived since, in pieces that are never longer than what is read at once."""
        return await self._chunks.get()

    def _follow(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, we are leaving anyway
            while chunk := self._read():
                self._put(chunk)
            self._put(b"")

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:
            return b""

    def _put(self, chunk: bytes) -> None:
        work = self._chunks.put(chunk)
        try:
            put = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise
        patience = GRACE
        while patience > 0:
            try:
                put.result(_LOOK)
                return
            except concurrent.futures.TimeoutError:
                patience -= _LOOK if _is_left(self._descriptor) else 0
        self._loop.call_soon_threadsafe(self._gone)


def _is_left(descriptor: int) -> bool:
    """Whether nobody has the other end of a pipe any more, though there is something left to read."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))
