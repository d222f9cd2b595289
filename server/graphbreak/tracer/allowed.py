"""What the user has allowed the programs of a folder after one of them had tried it in vain; remembered beyond the session."""

from __future__ import annotations

import os
from pathlib import Path

from ..core.asking import Wish
from ..core.requests import Permissions
from .grants import grants_file, read_state, write_state
from .places import still_there

_FILE = "allowed.json"
_NOTHING = Permissions()


def allowed(folder: str) -> Permissions:
    """What the programs of a folder may do beyond the settings. A place that has become a link since counts no more."""
    return _permissions(read_state(allowed_file()).get(os.path.realpath(folder)))


def allow(wish: Wish) -> None:
    """Let the programs of a folder do what is wished for, with what they may do already. Raises OSError where that cannot be remembered."""
    folder = os.path.realpath(wish.folder)
    now = wish.added_to(allowed(folder))
    write_state(allowed_file(), {**read_state(allowed_file()), folder: {"write": list(now.write), "network": now.network}})


def allowed_file() -> Path:
    """Where it is kept."""
    return grants_file().with_name(_FILE)


def _permissions(value: object) -> Permissions:
    """Permissions as they were kept; what is not ours to understand allows nothing."""
    if not isinstance(value, dict):
        return _NOTHING
    write, network = value.get("write", []), value.get("network", False)
    if not isinstance(write, list) or not all(isinstance(path, str) for path in write) or not isinstance(network, bool):
        return _NOTHING
    return Permissions(write=still_there(tuple(write)), network=network)
