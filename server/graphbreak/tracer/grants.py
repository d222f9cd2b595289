"""What the user has allowed projects to do, remembered by the folder and by exactly what was asked for: a changed request is asked anew."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import platformdirs

from ..core.asking import Wish
from .store import write_whole

_FILE = "grants.json"


def grants_file() -> Path:
    """Where they are kept."""
    return Path(platformdirs.user_state_dir("graphbreak", appauthor=False)) / _FILE


def is_granted(wish: Wish) -> bool:
    """Whether the user has said yes to it."""
    return _key(wish) in read_state(grants_file())


def grant(wish: Wish) -> None:
    """Remember that the user says yes. Raises OSError where that cannot be written."""
    if not wish.words:
        return
    write_state(grants_file(), {**read_state(grants_file()), _key(wish): f"{wish.folder}: {wish.words}"})


def write_state(file: Path, known: Mapping[str, object]) -> None:
    """Put what is known into a file, in one step. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(known, indent=1).encode())


def _key(wish: Wish) -> str:
    return hashlib.sha256(json.dumps([os.path.realpath(wish.folder), asdict(wish.permissions)], sort_keys=True).encode()).hexdigest()


def read_state(file: Path) -> dict[str, object]:
    """What a file remembers; one that is not ours to understand remembers nothing."""
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
