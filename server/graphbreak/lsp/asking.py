"""Asks the user for what only they can allow: what a project wants its programs to do, and running them where there is no sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ..core.asking import Wish
from ..tracer.grants import grant

_ALLOW, _NOT_NOW = "Allow", "Not now"


class Asking:
    """One question for each thing in a session; a yes is remembered beyond it. `again` is told to trace a file anew."""

    def __init__(self, server: LanguageServer, again: Callable[[str], None]) -> None:
        self._server = server
        self._again = again
        self._asked: set[Wish] = set()

    async def ask(self, wish: Wish, path: str) -> None:
        """Ask, unless that was done; what is asked for was missed in the trace of a file."""
        if wish in self._asked:
            return
        self._asked.add(wish)
        actions = [types.MessageActionItem(_ALLOW), types.MessageActionItem(_NOT_NOW)]
        params = types.ShowMessageRequestParams(types.MessageType.Warning, _question(wish), actions)
        try:
            answer = await self._server.window_show_message_request_async(params)
        except Exception:  # an editor that cannot ask has not said yes
            return
        if answer is not None and answer.title == _ALLOW:
            await asyncio.to_thread(grant, wish)
            self._again(path)


def _question(wish: Wish) -> str:
    if not wish.permissions.enabled:
        return f"Graphbreak has no sandbox on this platform: to analyse {wish.folder} it runs its programs with all your rights."
    return f"{wish.folder}/pyproject.toml asks that the programs that Graphbreak runs may {wish.words}."
