"""What is sent to the editor, written by a thread: an editor that does not read holds nothing up but what it asks for itself."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable

_MOST_WAITING = 8 * 1024 * 1024
"""Bytes that may wait to be read before no more messages of the editor are handled."""

_LAST_SECONDS = 2.0


class Outgoing:
    """A queue before a descriptor; to be made in the running loop. `gone` is called there once nobody can read any more."""

    def __init__(self, descriptor: int, gone: Callable[[], object]) -> None:
        self._descriptor, self._gone = descriptor, gone
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._change = threading.Condition()
        self._over = False
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()
        threading.Thread(target=self._write, name="stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Send this behind all that waits; returns at once."""
        with self._change:
            if self._over:
                return
            self._waiting.append(data)
            self._size += len(data)
            self._change.notify()
            self._empty.clear()
            if self._size > _MOST_WAITING:
                self._room.clear()

    async def drain(self) -> None:
        """Wait until the editor has read enough of what was sent."""
        await self._room.wait()

    async def close(self) -> None:
        """Let go of the descriptor when everything is written, or when nobody has read for a while."""
        try:
            await asyncio.wait_for(self._empty.wait(), _LAST_SECONDS)
        except asyncio.TimeoutError:
            pass
        with self._change:
            self._over = True
            self._change.notify()

    def _write(self) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._over:
                    self._change.wait()
                if self._over:
                    return
                data = memoryview(self._waiting.popleft())
            try:
                while data:
                    count = os.write(self._descriptor, data)
                    data = data[count:]
                    with self._change:
                        self._size -= count
            except OSError:
                self._nobody_reads()
                return
            self._tell()

    def _nobody_reads(self) -> None:
        with self._change:
            self._over, self._size = True, 0
            self._waiting.clear()
        self._tell()
        self._in_loop(self._gone)

    def _tell(self) -> None:
        with self._change:
            room, empty = self._size <= _MOST_WAITING // 2, self._size == 0
        if room and not self._room.is_set():
            self._in_loop(self._room.set)
        if empty:
            self._in_loop(self._see_whether_empty)

    def _see_whether_empty(self) -> None:
        with self._change:
            if self._size == 0:
                self._empty.set()

    def _in_loop(self, call: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop is closed, we are leaving anyway
            return
