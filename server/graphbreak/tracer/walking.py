"""The user's Python files below a folder: not those of environments and packages, and not what git leaves out. Slow: for a thread."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..core.gitignore import FILE_NAME, Rules, is_left_out, read_rules

NOT_THE_USERS = frozenset({"node_modules", "site-packages", "dist-packages", "__pycache__"})
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")
"""What is found at the top of a virtual environment."""


def python_files(folder: str) -> Iterator[str]:
    """The paths of `python_entries`."""
    return (entry.path for entry in python_entries(folder))


def python_entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """The files, each folder's own before those of its folders. What `.gitignore` files leave out is left out, that of the folder's
    repository around it included."""
    waiting = [(folder, _rules_above(folder))]
    while waiting:
        place, rules = waiting.pop()
        try:
            with os.scandir(place) as scanned:
                found = sorted(scanned, key=lambda entry: entry.name)
        except OSError:
            continue
        if place != folder and any(entry.name in _ENVIRONMENT for entry in found):
            continue
        if any(entry.name == FILE_NAME for entry in found):
            rules = (*rules, *_rules_in(place))
        for entry in found:
            if entry.name.endswith(".py") and _is_file(entry) and not (rules and is_left_out(_plain(entry.path), False, rules)):
                yield entry
        below = [entry for entry in found if not entry.name.startswith(".") and entry.name not in NOT_THE_USERS]
        folders = [entry.path for entry in reversed(below) if entry.is_dir(follow_symlinks=False)]
        waiting += [(path, rules) for path in folders if not (rules and is_left_out(_plain(path), True, rules))]


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is no folder; a link that leads to itself is neither."""
    try:
        return not entry.is_dir()
    except OSError:
        return False


def belongs(path: str, folder: str) -> bool:
    """Whether a file is one of those below a folder: told from its path alone, and from the `.gitignore` files on its way."""
    if not path.startswith(folder.rstrip(os.sep) + os.sep) or not os.path.isfile(path):
        return False
    place, rules = folder, (*_rules_above(folder), *_rules_in(folder))
    *between, _ = os.path.relpath(path, folder).split(os.sep)
    for name in between:
        place = os.path.join(place, name)
        made = any(os.path.exists(os.path.join(place, one)) for one in _ENVIRONMENT)
        if made or name.startswith(".") or name in NOT_THE_USERS or is_left_out(_plain(place), True, rules):
            return False
        rules = (*rules, *_rules_in(place))
    return not is_left_out(_plain(path), False, rules)


def _rules_above(folder: str) -> tuple[Rules, ...]:
    """The rules of the folders around one, up to the top of its repository; none where it is in no repository."""
    found: list[Rules] = []
    place = folder
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return ()
        place = above
        found = [*_rules_in(place), *found]
    return tuple(found)


def _rules_in(folder: str) -> list[Rules]:
    try:
        with open(os.path.join(folder, FILE_NAME), encoding="utf-8", errors="replace") as file:
            return [read_rules(_plain(folder), file.read())]
    except OSError:
        return []


def _plain(path: str) -> str:
    return path.replace(os.sep, "/")
