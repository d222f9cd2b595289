"""Asks the user for what only they can allow: what a project wants its programs to do, what these tried in vain, and running them
where there is no sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ..core.asking import Wish
from ..tracer.allowed import allow
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
        await self._ask(wish, _question(wish), lambda: grant(wish), path)

    async def offer(self, wish: Wish, path: str) -> None:
        """Ask whether the programs of a folder may do what that of a file has tried in vain, unless that was asked."""
        name = os.path.basename(path)
        question = f"{name} tried to {wish.words}: the sandbox does not allow it. Allow it to the programs of {wish.folder}?"
        await self._ask(wish, question, lambda: allow(wish), path)

    async def _ask(self, wish: Wish, question: str, remember: Callable[[], None], path: str) -> None:
        if wish in self._asked:
            return
        self._asked.add(wish)
        actions = [types.MessageActionItem(_ALLOW), types.MessageActionItem(_NOT_NOW)]
        params = types.ShowMessageRequestParams(types.MessageType.Warning, question, actions)
        try:
            answer = await self._server.window_show_message_request_async(params)
        except Exception:  # an editor that cannot ask has not said yes
            return
        if answer is None or answer.title != _ALLOW:
            return
        try:
            await asyncio.to_thread(remember)
        except OSError as error:
            problem = f"Graphbreak cannot remember that it is allowed, so it is not: {error}."
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, problem))
            return
        self._again(path)


def _question(wish: Wish) -> str:
    if not wish.permissions.enabled:
        return f"Graphbreak has no sandbox on this platform: to analyse {wish.folder} it runs its programs with all your rights."
    return f"{wish.folder}/pyproject.toml asks that the programs that Graphbreak runs may {wish.words}."
