"""Which pyproject.toml counts for a file, and what it says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..core.project import FILE_NAME, ProjectSettings, no_project, read_project
from ..core.recorded import FOLDER as RECORDED_FOLDER
from ..core.recorded import NAME as RECORDED_NAME
from ..core.recorded import Recorded, read_recorded
from .files import read_source
from .places import real_wish

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class ProjectReader:
    """The settings for each file, from the nearest pyproject.toml with a `[tool.graphbreak]` table, up to its workspace folder.

    Each pyproject.toml is read at most once, so that one report speaks of one state of it. One that cannot be read is an end of the search
    too: what it would have said is not known.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = [os.path.normpath(root) for root in roots]
        self._known: dict[str, ProjectSettings | None] = {}
        self._recorded: dict[str, Recorded | None] = {}

    def __call__(self, path: str) -> ProjectSettings:
        """The settings that count for a file."""
        settings, recorded = self._project(path), self._recorded_for(path)
        if recorded is None:
            return settings
        problems = (*settings.problems, *([recorded.problem] if recorded.problem else []))
        return replace(settings, examples=(*settings.examples, *recorded.examples), problems=problems)

    def _project(self, path: str) -> ProjectSettings:
        for folder in self._folders(path):
            if folder not in self._known:
                self._known[folder] = read_file(os.path.join(folder, FILE_NAME))
            if (settings := self._known[folder]) is not None:
                return settings
        return no_project(path)

    def _recorded_for(self, path: str) -> Recorded | None:
        """The inputs that were recorded in the nearest folder above a file that has some."""
        for folder in self._folders(path):
            if folder not in self._recorded:
                source = read_source(os.path.join(folder, RECORDED_FOLDER, RECORDED_NAME))
                self._recorded[folder] = read_recorded(source) if source is not None else None
            if (recorded := self._recorded[folder]) is not None:
                return recorded
        return None

    def _folders(self, path: str) -> Iterator[str]:
        """The folder of a file and those above it, up to the innermost root that holds it."""
        folder = os.path.dirname(path)
        holding = [root for root in self._roots if folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)]
        root = max(holding, key=len, default=None)
        while root is not None:
            yield folder
            if folder == root:
                return
            folder = os.path.dirname(folder)


def read_file(path: str) -> ProjectSettings | None:
    """What a pyproject.toml sets for us; None where there is none, or where it is about other tools only."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
        tool = tomllib.loads(text).get("tool", {})
    except FileNotFoundError:
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return ProjectSettings(path, problems=(f"{path} is not valid TOML, so its settings are not used: {error}.",))
    except OSError as error:
        return ProjectSettings(path, problems=(f"{path} cannot be read, so its settings are not used: {error.strerror}.",))
    if not isinstance(tool, dict) or "graphbreak" not in tool:
        return None
    settings = read_project(path, tool["graphbreak"], text, os.path.isfile)
    wish, problems = real_wish(settings.wish)
    return replace(settings, wish=wish, problems=(*settings.problems, *problems))
