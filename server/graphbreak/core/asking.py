"""What a project asks its user to let its programs do: only a request, until the user has said yes to exactly it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .requests import Permissions

_LISTS = ("write", "read", "env")


@dataclass(frozen=True)
class Wish:
    """The table `[tool.graphbreak.sandbox]` of a project in `folder`, its paths made absolute."""

    folder: str = ""
    permissions: Permissions = field(default_factory=Permissions)

    def is_met_by(self, permissions: Permissions) -> bool:
        """Whether nothing is asked for that the permissions do not give."""
        return permissions == self.added_to(permissions)

    def added_to(self, permissions: Permissions) -> Permissions:
        """The permissions with what is asked for."""
        asked = self.permissions
        return replace(
            permissions,
            write=_both(permissions.write, asked.write),
            read=_both(permissions.read, asked.read),
            env=_both(permissions.env, asked.env),
            network=permissions.network or asked.network,
        )

    @property
    def words(self) -> str:
        """What is asked for, in words."""
        asked = self.permissions
        parts = [] if asked.enabled else ["run without a sandbox"]
        parts += [f"{verb} {', '.join(names)}" for verb, names in (("write", asked.write), ("read", asked.read)) if names]
        parts += [f"see the variable{'s' if len(asked.env) > 1 else ''} {', '.join(asked.env)}"] if asked.env else []
        parts += ["use the network"] if asked.network else []
        return ", ".join(parts)


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def read_wish(value: object, folder: str) -> Wish:
    """The request in a table. Raises TypeError for one that is not understood: nothing of it counts then."""
    if not isinstance(value, Mapping) or not set(value) <= {*_LISTS, "network"}:
        raise TypeError('expected a table of "write", "read", "env" and "network"')
    lists = {name: value.get(name, []) for name in _LISTS}
    if not all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in lists.values()):
        raise TypeError('expected lists of words for "write", "read" and "env"')
    if not isinstance(network := value.get("network", False), bool):
        raise TypeError('expected true or false for "network"')
    write, read = (tuple(_placed(path, folder) for path in lists[name]) for name in ("write", "read"))
    asked = Permissions(write, read, tuple(lists["env"]), network)
    return Wish() if asked == Permissions() else Wish(folder, asked)


def _placed(path: str, folder: str) -> str:
    return path if path.startswith("~") else posixpath.normpath(posixpath.join(folder, path))
