"""Workspace folders: which of them a file belongs to."""

from __future__ import annotations

import os

from pygls.workspace import Workspace

from .convert import to_path


def folder_uris(workspace: Workspace) -> dict[str, str]:
    """The URI of each workspace folder by its path; an old client's single root counts as one."""
    uris = [folder.uri for folder in workspace.folders.values()]
    if not uris and workspace.root_uri:
        uris = [workspace.root_uri]
    paths = ((to_path(uri), uri) for uri in uris)
    return {path: uri for path, uri in paths if path is not None}


def folder_of(path: str, folders: list[str]) -> str | None:
    """The folder that contains a file; of nested ones the innermost."""
    holding = [folder for folder in folders if path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)]
    return max(holding, key=len, default=None)
