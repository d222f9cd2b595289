"""What `check` is asked to look at: files and tests that are named, and files found in folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.entries import Entry, EntryKind
from ..tracer.walking import python_files

_MADE = frozenset({"build", "dist", "venv", "env"})


@dataclass(frozen=True)
class Target:
    """A file by its absolute path. `named`: by the user, and not found in a folder; `entries` are the tests of it that were named."""

    path: str
    named: bool = False
    entries: tuple[Entry, ...] = ()


def exists(path: str) -> bool:
    """Whether there is what a path, or the id of a test, names (the test itself is only looked for by pytest)."""
    return os.path.exists(path) or (_is_test(path) and os.path.isfile(path.partition("::")[0]))


def targets(paths: Sequence[str]) -> list[Target]:
    """The files that paths stand for, each once; several tests of one file are run together."""
    found: dict[str, Target] = {}
    for path in paths:
        if _is_test(path):
            file, _, test = path.partition("::")
            absolute = os.path.abspath(file)
            known = found.get(absolute, Target(absolute, True))
            found[absolute] = Target(absolute, True, (_with_test(known.entries, path, absolute, test),))
            continue
        absolute = os.path.abspath(path)
        files = [Target(absolute, True)] if os.path.isfile(absolute) else map(Target, sorted(_searched(absolute)))
        found.update((one.path, one) for one in files if one.path not in found)
    return list(found.values())


def _is_test(path: str) -> bool:
    return ".py::" in path and not os.path.exists(path)


def _with_test(entries: tuple[Entry, ...], path: str, absolute: str, test: str) -> Entry:
    text = ", ".join([*(entry.text for entry in entries), path])
    return Entry(text, EntryKind.TEST, absolute, (*(one for entry in entries for one in entry.arguments), test), source="call")


def _searched(folder: str) -> Iterator[str]:
    """The user's files below a folder, as the editor finds them, without what is made there."""
    return (path for path in python_files(folder) if not _MADE.intersection(os.path.relpath(path, folder).split(os.sep)[:-1]))
