"""Changes around the documents: settings, folders, files changed by other programs."""

from __future__ import annotations

from lsprotocol import types
from pygls.capabilities import get_capability

from .connection import GraphbreakServer
from .convert import to_path


def did_change_configuration(ls: GraphbreakServer, params: types.DidChangeConfigurationParams) -> None:
    """Read the settings anew; documents whose settings changed are analysed again."""
    ls.session.configuration.pushed(params.settings)
    ls.session.soon(ls.session.read_settings())


def did_change_workspace_folders(ls: GraphbreakServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Other folders, other settings."""
    ls.session.soon(ls.session.read_settings())
    if not tells_of_files(ls):
        ls.session.soon(ls.session.watch())


def tells_of_files(ls: GraphbreakServer) -> bool:
    """Whether the editor can be asked to tell of changed files."""
    return bool(get_capability(ls.client_capabilities, "workspace.did_change_watched_files.dynamic_registration"))


def did_change_watched_files(ls: GraphbreakServer, params: types.DidChangeWatchedFilesParams) -> None:
    """A file that is not open was written by another program. An open one is the editor's: it will tell of the save itself."""
    paths = {to_path(event.uri) for event in params.changes}
    ls.session.changed_outside(sorted(path for path in paths if path is not None))


def cancel_progress(ls: GraphbreakServer, params: types.WorkDoneProgressCancelParams) -> None:
    """The user does not want to wait any longer; what was known before stays."""
    ls.session.progress.cancel(params.token)
