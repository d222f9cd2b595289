"""graphbreak/report: what is known, of one file or of all, for an extension to draw. Answered from the newest reports, see `wire`."""

from __future__ import annotations

from typing import Any

from .connection import GraphbreakServer
from .convert import to_path
from .wire import report_object


def report(ls: GraphbreakServer, params: Any) -> dict[str, object]:
    """Every report that speaks of a file; without a file all of them."""
    uri = getattr(params, "uri", None)
    results = ls.session.results
    if uri is None:
        entries = list(results.reports)
    else:
        path = to_path(uri) if isinstance(uri, str) else None
        entries = results.entries_with(path) if path is not None else []
    return {"reports": [report_object(ls.session, entry) for entry in sorted(entries)]}
