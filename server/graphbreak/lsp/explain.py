"""graphbreak/explain: PyTorch's own explain report on one marked function, made while everything else goes on."""

from __future__ import annotations

from typing import Any

from ..core.explained import DETAILS, Explanation
from .connection import GraphbreakServer
from .convert import to_path
from .notices import UNTRUSTED
from .session import Session


async def explain(ls: GraphbreakServer, params: Any) -> dict[str, object]:
    """Trace the file once more, up to the call of the function, and say what PyTorch says of that; or why it cannot be said."""
    uri, name, details = (getattr(params, key, None) for key in ("uri", "name", "details"))
    explanation = await _explanation(ls.session, uri, name, details)
    return {
        "report": explanation.report,
        "artifacts": [{"name": name, "compileId": compile_id, "text": text} for name, compile_id, text in explanation.artifacts],
        "problem": explanation.problem,
    }


async def _explanation(session: Session, uri: object, name: object, details: object) -> Explanation:
    path = to_path(uri) if isinstance(uri, str) else None
    if path is None or not isinstance(name, str):
        return Explanation(problem="Graphbreak can only explain a function of a file.")
    wanted = [str(detail) for detail in details] if isinstance(details, (list, tuple)) else []
    unknown = [detail for detail in wanted if detail not in DETAILS]
    if unknown:
        return Explanation(problem=f"Graphbreak knows no details {', '.join(unknown)}; it knows {', '.join(DETAILS)}.")
    entry = _entry(session, path, name)
    if not session.configuration.of(entry).trusted:
        return Explanation(problem=UNTRUSTED)
    return await session.analyses.explain(entry, name, wanted)


def _entry(session: Session, path: str, name: str) -> str:
    """The file to run: the one asked for, or where that is only the one that defines the function, one whose trace came by."""
    reports = session.results.reports
    of_function = [
        entry
        for entry, report in reports.items()
        if any(found.name == name and path in (entry, found.path, found.mark_path) for found in report.functions)
    ]
    return path if path in of_function or not of_function else of_function[0]
