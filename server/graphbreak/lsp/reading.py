"""Long documents are read ahead in a thread when the typing pauses: the requests that follow find their marks in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ..core.marks import find_marks
from .documents import Document

_LONG = 20_000
"""Characters from which reading a text takes longer than a request may."""

_PAUSE = 0.1
"""Seconds without a keystroke; editors ask for lenses and actions somewhat later."""


class Reading:
    """One document at a time: the one that was changed last. `soon` begins work that nobody waits for."""

    def __init__(self, soon: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._soon = soon
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, document: Document) -> None:
        """A document has another text now."""
        self.stop()
        if document.is_python and len(document.source.text) >= _LONG:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, lambda: self._soon(self._read(document)))

    async def _read(self, document: Document) -> None:
        await asyncio.to_thread(find_marks, document.program)

    def stop(self) -> None:
        """Read nothing ahead."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
