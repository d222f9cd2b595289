"""graphbreak/active: the document that the user went to. Other editors tell it by what is done there."""

from __future__ import annotations

from typing import Any

from .connection import GraphbreakServer
from .convert import to_path


def active(ls: GraphbreakServer, params: Any) -> None:
    """What is to be traced of it comes before all else."""
    uri = getattr(params, "uri", None)
    path = to_path(uri) if isinstance(uri, str) else None
    if path is not None and ls.session.documents.get(path) is not None:
        ls.session.runs.attend(path)
