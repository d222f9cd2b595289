"""Cuts what an editor sends into messages, and finds the next one again behind what is none."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

MOST = 64 * 1024 * 1024
"""Bytes of the longest message that is read; a longer one is passed over, so that it takes no memory."""

_MOST_HEADER = 64 * 1024
_CHUNK = 64 * 1024
_HEADERS = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n(?:[^\r\n:]+:[^\r\n]*\r?\n)*\r?\n", re.IGNORECASE)
_OTHER_HEADERS = re.compile(rb"(?:[A-Za-z-]+[ \t]*:[^\r\n]*\r?\n)*\s*")


class Reader(Protocol):
    """Where bytes come from."""

    async def read(self, n: int) -> bytes:
        """At most `n` bytes, none of them at the end."""


@dataclass(frozen=True)
class NoMessage:
    """Something that was passed over; `why` is a sentence about it."""

    why: str


async def messages(reader: Reader, most: int = MOST) -> AsyncIterator[bytes | NoMessage]:
    """The bodies of the messages, until the stream ends; what stands between them is told once for each place."""
    frames = _Frames(reader, most)
    while (found := await frames.next()) is not None:
        yield found


class _Frames:
    """What has been read and is not yet a message."""

    def __init__(self, reader: Reader, most: int) -> None:
        self._reader, self._most = reader, most
        self._buffer = bytearray()
        self._astray = False
        """Whether what is read now was already told to be no message."""

    async def next(self) -> bytes | NoMessage | None:
        while (headers := _HEADERS.search(self._buffer)) is None:
            if self._drop_what_is_no_header():
                return NoMessage("what was sent has no `Content-Length` before it, so it is passed over")
            if not await self._more():
                return None
        length, between = int(headers.group(1)), bytes(self._buffer[: headers.start()])
        if not self._astray and not _OTHER_HEADERS.fullmatch(between):
            self._astray = True
            return NoMessage(f"{len(between)} bytes between two messages belong to neither, so they are passed over")
        self._astray = False
        del self._buffer[: headers.end()]
        return await self._pass_over(length) if length > self._most else await self._body(length)

    def _drop_what_is_no_header(self) -> bool:
        """Forget what is too long for a header; whether that has to be told."""
        if len(self._buffer) <= _MOST_HEADER:
            return False
        del self._buffer[: -_MOST_HEADER // 2]  # the beginning of the next header may be in the rest
        told, self._astray = self._astray, True
        return not told

    async def _body(self, length: int) -> bytes | None:
        while len(self._buffer) < length:
            if not await self._more():
                return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    async def _pass_over(self, length: int) -> NoMessage | None:
        left = length
        while left > len(self._buffer):
            left -= len(self._buffer)
            self._buffer.clear()
            if not await self._more():
                return None
        del self._buffer[:left]
        return NoMessage(f"a message of {length} bytes is more than the {self._most} that are read, so it is passed over")

    async def _more(self) -> bool:
        chunk = await self._reader.read(_CHUNK)
        self._buffer += chunk
        return bool(chunk)
