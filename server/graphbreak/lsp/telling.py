"""What we tell an extension that knows us, beside what the protocol has: what goes on, with which torch, and that there is news."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict

from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer

from ..core.findings import Environment, Report
from .extensions import CHANGED, COMMANDS_CAPABILITY, ENVIRONMENT, NO_ENVIRONMENT, STATUS, STATUS_CAPABILITY, TRYING


def environment_object(environment: Environment) -> dict[str, object]:
    """Where an analysis ran, as it is sent."""
    return asdict(environment)


class Extension:
    """The other side, as far as it says that it wants to be told. `uri` names files as it does."""

    def __init__(self, server: LanguageServer, uri: Callable[[str], str]) -> None:
        self._server = server
        self._uri = uri
        self._told: dict[str, Report | None] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._trying = False

    @property
    def has_commands(self) -> bool:
        """Whether it has the commands that lenses may name."""
        return self._offers(COMMANDS_CAPABILITY)

    @property
    def shows_messages(self) -> bool:
        """Whether its hovers begin with the messages of the squiggles, whatever we add."""
        return self._offers(STATUS_CAPABILITY)

    @property
    def shows_status(self) -> bool:
        """Whether it shows what goes on, so that no message has to."""
        return self._offers(STATUS_CAPABILITY)

    def no_environment(self, sentence: str) -> None:
        """There is no torch to trace with: it says so, with what can be done about it."""
        self._notify(NO_ENVIRONMENT, {"message": sentence})

    def trying(self, trying: bool) -> None:
        """Fixes are being tried, or not any more; told when it changes."""
        if trying is not self._trying:
            self._trying = trying
            self._notify(TRYING, {"trying": trying})

    def status(self, path: str, state: str, message: str = "") -> None:
        """An analysis began or ended."""
        self._notify(STATUS, {"uri": self._uri(path), "state": state, "message": message})

    def environment(self, path: str, environment: Environment) -> None:
        """Where an analysis ran."""
        self._notify(ENVIRONMENT, {"uri": self._uri(path), **environment_object(environment)})

    def results(self, reports: Mapping[str, Report]) -> None:
        """Name each entry document of which something else is known than when this was last called."""
        news = [entry for entry in {**self._told, **reports} if self._told.get(entry) is not reports.get(entry)]
        for entry in news:
            self._notify(CHANGED, {"uri": self._uri(entry)})
        if news:
            self.refresh_lenses()
        self._told = dict(reports)

    def tell_again(self) -> None:
        """Settings changed, and with them how everything is shown."""
        self._told = dict.fromkeys(self._told)

    def refresh_lenses(self) -> None:
        """Lenses say something else now. Several reasons at once are told once."""
        supported = get_capability(self._server.client_capabilities, "workspace.code_lens.refresh_support")
        if supported and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._refresh())

    def stop(self) -> None:
        """Tell nothing more."""
        if self._refreshing is not None:
            self._refreshing.cancel()

    async def _refresh(self) -> None:
        await asyncio.sleep(0)
        self._server.workspace_code_lens_refresh(None)

    def _notify(self, method: str, params: dict[str, object]) -> None:
        if self.shows_status:
            self._server.protocol.notify(method, params)

    def _offers(self, name: str) -> bool:
        experimental = self._server.client_capabilities.experimental
        return isinstance(experimental, dict) and bool(experimental.get(name))
