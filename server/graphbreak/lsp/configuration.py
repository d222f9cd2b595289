"""The settings in force for each file: those sent at the start, with what the editor answers for each folder on top."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer

from .extensions import CONFIGURATION_SECTION
from .folders import folder_of, folder_uris
from .notices import Notices
from .settings import ClientSettings, read_options, read_settings

ANSWER_TIME = 5.0
"""Seconds after which an editor that does not answer is taken to have nothing set."""


class Configuration:
    """Knows the settings of every file. Until `known`, the editor has not been heard and nothing should be run."""

    def __init__(self, server: LanguageServer, notices: Notices) -> None:
        self._server = server
        self._notices = notices
        self._options = ClientSettings()
        self._everywhere = ClientSettings()
        self._folders: dict[str, ClientSettings] = {}
        self._heard = asyncio.Event()

    @property
    def known(self) -> bool:
        """Whether the editor has been heard."""
        return self._heard.is_set()

    async def heard(self) -> None:
        """Wait until it has been."""
        await self._heard.wait()

    def of(self, path: str) -> ClientSettings:
        """The settings for a file."""
        folder = folder_of(path, list(self._folders))
        return self._everywhere if folder is None else self._folders[folder]

    def start(self, options: object) -> None:
        """Take the `initializationOptions`."""
        self._options, problems = read_options(options)
        self._notices.log_once(problems)
        self._everywhere = self._options

    @property
    def can_ask(self) -> bool:
        """Whether the editor answers `workspace/configuration`."""
        return bool(get_capability(self._server.client_capabilities, "workspace.configuration"))

    async def ask(self) -> None:
        """Read the settings of all folders anew, from the editor where it can be asked."""
        folders = folder_uris(self._server.workspace)
        if self.can_ask:
            answer = await self._answer([None, *folders.values()])
            everywhere, *each = (self._read(raw) for raw in answer)
        else:
            everywhere, each = self._everywhere, [self._everywhere] * len(folders)
        self._everywhere, self._folders = everywhere, dict(zip(folders, each, strict=True))
        self._heard.set()

    def pushed(self, settings: object) -> None:
        """The editor says that settings changed; one that cannot be asked has sent them along."""
        if not self.can_ask and isinstance(settings, Mapping):
            self._everywhere = self._read(settings.get(CONFIGURATION_SECTION, settings))

    async def _answer(self, scopes: list[str | None]) -> list[object]:
        items = [types.ConfigurationItem(scope_uri=scope, section=CONFIGURATION_SECTION) for scope in scopes]
        # `wait` leaves a late answer in peace; a cancelled one would trip pygls when it comes after all.
        asked = asyncio.ensure_future(self._server.workspace_configuration_async(types.ConfigurationParams(items)))
        await asyncio.wait({asked}, timeout=ANSWER_TIME)
        nothing: list[object] = [None] * len(scopes)
        if not asked.done() or asked.cancelled() or asked.exception() is not None:
            self._notices.log_once(["The editor did not answer for its `graphbreak` settings; those it started with are used."])
            return nothing
        return (list(asked.result()) + nothing)[: len(scopes)]

    def _read(self, raw: object) -> ClientSettings:
        settings, problems = read_settings(raw, self._options)
        self._notices.log_once(problems)
        return settings
