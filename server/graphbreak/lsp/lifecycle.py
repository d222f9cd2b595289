"""initialize, initialized, shutdown, exit: the beginning and the orderly end. `stdio` and `editor` see to the other ends."""

from __future__ import annotations

import asyncio

from lsprotocol import types
from pygls.capabilities import get_capability

from ..rules import read_all
from .connection import GraphbreakServer
from .extensions import CONFIGURATION_SECTION
from .workspace_events import tells_of_files


def initialize(ls: GraphbreakServer, params: types.InitializeParams) -> None:
    """Take what the editor sends once; pygls answers with the capabilities that follow from the list in `server`."""
    ls.watch_editor(params.process_id)
    ls.session.configuration.start(params.initialization_options)


def initialized(ls: GraphbreakServer, params: types.InitializedParams) -> None:
    """Now the editor may be asked: for its settings, and to tell us of changes."""
    ls.session.soon(ls.session.read_settings())
    ls.session.soon(_register(ls))
    ls.session.soon(asyncio.to_thread(read_all))
    if not tells_of_files(ls):
        ls.session.soon(ls.session.watch())


async def shutdown(ls: GraphbreakServer, params: None) -> None:
    """Answered when everything has ended, so that an editor that waits for it leaves nothing behind."""
    await ls.session.close()


def leave(ls: GraphbreakServer, status: int) -> None:
    """exit: the last message. `status` is 1 where no shutdown came first, as the protocol has it."""
    ls.end(status)


async def _register(ls: GraphbreakServer) -> None:
    """Ask for the notifications that some editors send only on request."""
    wanted: list[types.Registration] = []
    if get_capability(ls.client_capabilities, "workspace.did_change_configuration.dynamic_registration"):
        section = types.DidChangeConfigurationRegistrationOptions(section=CONFIGURATION_SECTION)
        wanted.append(types.Registration("configuration", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if tells_of_files(ls):
        watchers = [types.FileSystemWatcher("**/*.py"), types.FileSystemWatcher("**/pyproject.toml")]
        files = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        wanted.append(types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, files))
    if wanted:
        try:
            await ls.client_register_capability_async(types.RegistrationParams(wanted))
        except Exception as error:  # an editor may say that it can and then not do it
            ls.session.notices.log(f"The editor does not tell of changed settings and files: {error}")
