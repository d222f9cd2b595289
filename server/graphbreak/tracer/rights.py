"""What the programs of one request may do: what the user permits, with what a project asks for once the user has said yes to that."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.asking import Wish
from ..core.denials import attempted
from ..core.findings import Report
from ..core.project import ProjectSettings
from ..core.requests import AnalysisRequest, Permissions
from ..sandbox.policy import hidden_places, touches
from ..worker.protocol import Denied
from .allowed import allowed
from .grants import is_granted
from .places import real_permissions


@dataclass(frozen=True)
class Rights:
    """What one job may do beyond the sandbox's own rules, and the folders that it must see."""

    permissions: Permissions
    folders: tuple[str, ...] = ()


def permitted(permissions: Permissions, project: ProjectSettings, root: str) -> tuple[Permissions, Wish | None]:
    """The permissions in force in a folder, and what the project asks for that the user has not granted."""
    wish = project.wish
    if permissions.enabled:
        permissions = Wish(root, allowed(root)).added_to(real_permissions(permissions))
    if not permissions.enabled or wish.is_met_by(permissions):
        return permissions, None
    return (wish.added_to(permissions), None) if is_granted(wish) else (permissions, wish)


def unconfined(request: AnalysisRequest, available: bool) -> Wish | None:
    """The question that is to be answered before anything is run without a sandbox, where there is none (`available`)."""
    if available or request.settings.confirmed or not request.settings.permissions.enabled:
        return None
    wish = Wish(request.root, Permissions(enabled=False))
    return None if is_granted(wish) else wish


def with_attempts(report: Report, denials: Sequence[Denied], request: AnalysisRequest) -> Report:
    """The report with what its program tried in vain, and the user could allow with a word.

    Nothing that is wide enough to hold the folder itself or the home is offered, since the program says what it tried; nor what
    would show a secret; nor a path, but the place that it leads to here.
    """
    denials = [_real(denied) for denied in denials]
    home = os.path.expanduser("~")
    wide = [os.path.join(os.path.realpath(folder), "") for folder in (request.root, home)]
    few = [denied for denied in denials if not any(folder.startswith(os.path.join(denied.target, "")) for folder in wide)]
    secrets = hidden_places(os.environ, home, (home, request.root))
    few = [denied for denied in few if not any(touches(place, denied.target) for place in secrets)]
    return replace(report, attempted=attempted(few, request.root))


def _real(denied: Denied) -> Denied:
    path = denied.target
    known = denied.action == "write" and os.path.isabs(path) and os.path.normpath(path) == path
    return replace(denied, target=os.path.realpath(path)) if known else denied


def with_wish(report: Report, wish: Wish | None) -> Report:
    """The report with a sentence about what the project asks for in vain."""
    if wish is None:
        return report
    if not wish.permissions.enabled:
        return replace(report, wish=wish)
    asks = f"{wish.folder}/pyproject.toml asks that its programs may {wish.words}"
    sentence = f"{asks}; that was not granted (`--allow-project-permissions` does)."
    problems, of_settings = (*report.problems, sentence), (*report.settings_problems, sentence)
    return replace(report, wish=wish, problems=problems, settings_problems=of_settings)
