"""Where the paths that are asked for lead: what a user says yes to is the place itself, and not a link that may lead elsewhere tomorrow."""

from __future__ import annotations

import os
from dataclasses import replace

from ..core.asking import Wish
from ..core.requests import Permissions


def real(path: str) -> str:
    """The place that a path (which may begin with `~`) leads to now."""
    return os.path.realpath(os.path.expanduser(path))


def real_permissions(permissions: Permissions) -> Permissions:
    """The same permissions by the places that their paths lead to now; for paths of the user's own."""
    write, read = (tuple(dict.fromkeys(real(path) for path in paths)) for paths in (permissions.write, permissions.read))
    return replace(permissions, write=write, read=read)


def real_wish(wish: Wish) -> tuple[Wish, tuple[str, ...]]:
    """What a project asks for by the places that its paths lead to now, and a sentence for each path that it does not ask for after all:
    one of its own folder that leads out of it, without naming the place itself."""
    asked = wish.permissions
    named = {path for path in (*asked.write, *asked.read) if not _is_below(path, wish.folder)}
    named = {os.path.normpath(os.path.expanduser(path)) for path in named}
    problems = []

    def kept(paths: tuple[str, ...]) -> tuple[str, ...]:
        found = []
        for path in paths:
            place = real(path)
            if _is_below(path, wish.folder) and not _is_below(place, os.path.realpath(wish.folder)) and place not in named:
                leads = f"{path} leads out of the project, to {place}"
                problems.append(f"{wish.folder}/pyproject.toml asks for {path}, but {leads}: it has to name that place itself.")
            else:
                found.append(place)
        return tuple(dict.fromkeys(found))

    permissions = replace(asked, write=kept(asked.write), read=kept(asked.read))
    return (Wish() if permissions == Permissions() else replace(wish, permissions=permissions)), tuple(dict.fromkeys(problems))


def still_there(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the places that are still what they were when they were allowed, and no link by now."""
    return tuple(path for path in paths if os.path.realpath(path) == path)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
