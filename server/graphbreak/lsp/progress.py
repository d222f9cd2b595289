"""Work-done progress: one bar for each running analysis, which the user can cancel."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer


class Progress:
    """The bars that the editor shows, by token."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._bars: dict[int | str, Bar] = {}

    def begin(self, title: str, cancel: Callable[[], None]) -> Bar:
        """Show a bar; `cancel` is called when the user cancels it. The analysis does not wait for the editor to show it."""
        bar = Bar(self._server, title, cancel, ended=lambda bar: self._bars.pop(bar.token, None))
        if get_capability(self._server.client_capabilities, "window.work_done_progress"):
            self._bars[bar.token] = bar
            bar.open()
        return bar

    def cancel(self, token: int | str) -> None:
        """The user cancelled a bar."""
        if token in self._bars:
            self._bars[token].cancel()


class Bar:
    """One bar. It is created by a request, so what is said before the answer is kept for when the bar is there."""

    def __init__(self, server: LanguageServer, title: str, cancel: Callable[[], None], ended: Callable[[Bar], object]) -> None:
        self.token = str(uuid.uuid4())
        self.cancel = cancel
        self._server = server
        self._title = title
        self._ended = ended
        self._latest: str | None = None
        self._visible = False
        self._opening: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Ask the editor for the bar."""
        self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        try:
            await self._server.work_done_progress.create_async(self.token)
        except Exception:  # an editor may refuse, for whatever reason: then there is no bar
            return
        if self._opening is not None:
            begin = types.WorkDoneProgressBegin(title=self._title, cancellable=True, message=self._latest)
            self._server.work_done_progress.begin(self.token, begin)
            self._visible = True

    def say(self, sentence: str) -> None:
        """Show what is being done."""
        self._latest = sentence
        if self._visible:
            report = types.WorkDoneProgressReport(cancellable=True, message=sentence)
            self._server.work_done_progress.report(self.token, report)

    def end(self) -> None:
        """Take the bar away."""
        self._opening = None
        if self._visible:
            self._server.work_done_progress.end(self.token, types.WorkDoneProgressEnd())
        self._server.work_done_progress.tokens.pop(self.token, None)
        self._ended(self)
