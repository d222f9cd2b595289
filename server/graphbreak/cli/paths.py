"""How paths are shown on the command line."""

from __future__ import annotations

import os


def shown_path(path: str) -> str:
    """A path relative to the working directory where it lies below it."""
    here = os.getcwd()
    return os.path.relpath(path, here) if path.startswith(here.rstrip(os.sep) + os.sep) else path
