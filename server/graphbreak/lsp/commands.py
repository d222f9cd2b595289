"""executeCommand: what the user can ask for by name. Arguments are taken as they come, since any client may send any."""

from __future__ import annotations

from typing import Any

from .connection import GraphbreakServer
from .convert import to_path
from .documents import Document


async def restart(ls: GraphbreakServer, *args: Any) -> None:
    """Throw the workers away and begin anew."""
    await ls.session.restart()


def trace(ls: GraphbreakServer, *args: Any) -> str | None:
    """Analyse the document of a URI now, or one function of it. The answer says that it was heard; the result is published as ever."""
    path = to_path(args[0]) if args and isinstance(args[0], str) else None
    document = None if path is None else ls.session.documents.get(path)
    if document is not None:
        name = _function(document, args[1] if len(args) > 1 else None)
        ls.session.triggers.asked(document.path, name)
        return name or None
    if path is not None and path in ls.session.results.reports and ls.session.configuration.of(path).trusted:
        ls.session.runs.request_in_background([path])
    else:
        ls.session.notices.log("Graphbreak can only analyse a file that is open in the editor.")
    return None


def _function(document: Document, wanted: object) -> str:
    """The name of the marked function that is meant: by its name, or by a line in it. Nothing stands for all of them."""
    marks = [mark for mark in document.marks.marks if not mark.options.disabled]
    if isinstance(wanted, str):
        return wanted if any(mark.name == wanted for mark in marks) else ""
    if not marks or not isinstance(wanted, int):
        return ""
    above = [mark for mark in marks if min(mark.line, mark.span.start.line) <= wanted]
    return max(above, key=lambda mark: mark.line, default=marks[0]).name


async def cancel(ls: GraphbreakServer, *args: Any) -> None:
    """End what runs: for a document, or without one everything."""
    if args and isinstance(args[0], str):
        path = to_path(args[0])
        if path is not None:
            await ls.session.cancel(path)
    else:
        await ls.session.cancel(None)


def trace_workspace(ls: GraphbreakServer, *args: Any) -> None:
    """Analyse every file of the workspace in which something is marked. The answer only says that it was heard."""
    ls.session.trace_workspace()
