"""The server as a process: it speaks on stdin and stdout and ends with its editor, however that ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from typing import Any

from pygls.io_ import StdoutWriter, run_async

from .connection import GraphbreakServer

_log = logging.getLogger(__name__)


def serve_stdio(server: GraphbreakServer) -> int:
    """Serve the editor on the other side of stdin and stdout until it is done or gone: the exit status."""
    requests, answers = _claim_stdio()
    return asyncio.run(_serve_stdio(server, requests, answers))


async def serve(server: GraphbreakServer, reader: asyncio.StreamReader, writer: Any) -> int:
    """Serve one connection until it ends: the exit status. Whatever ended it, nothing is left running."""
    server.protocol.set_writer(writer)
    messages = asyncio.create_task(run_async(threading.Event(), reader, server.protocol, _log, server.report_server_error))
    # Without an `exit` before it, the end of the messages means that the editor is gone.
    messages.add_done_callback(lambda task: server.end(1))
    try:
        return await server.ended()
    finally:
        messages.cancel()
        await asyncio.gather(messages, return_exceptions=True)
        await server.session.close()
        server.over.set()


async def _serve_stdio(server: GraphbreakServer, requests: int, answers: int) -> int:
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, server.end, 1)
    stdout = os.fdopen(answers, "wb")
    try:
        return await serve(server, _reader(requests, loop), StdoutWriter(stdout))
    finally:
        with contextlib.suppress(OSError):  # nobody reads any more
            stdout.close()


def _claim_stdio() -> tuple[int, int]:
    """Keep stdin and stdout for the protocol: a stray `print` goes to stderr, and no child process inherits the pipe."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _reader(descriptor: int, loop: asyncio.AbstractEventLoop) -> asyncio.StreamReader:
    """Read in a daemon thread: it works for every kind of stdin on every platform, and cannot hold the process back."""
    reader = asyncio.StreamReader()

    def read() -> None:
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the loop is closed, we are leaving anyway
            while chunk := os.read(descriptor, 1 << 16):
                loop.call_soon_threadsafe(reader.feed_data, chunk)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(reader.feed_eof)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return reader
