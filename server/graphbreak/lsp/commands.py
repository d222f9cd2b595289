"""executeCommand: what the user can ask for by name. Arguments are taken as they come, since any client may send any."""

from __future__ import annotations

from typing import Any

from .connection import GraphbreakServer
from .convert import to_path


async def restart(ls: GraphbreakServer, *args: Any) -> None:
    """Throw the workers away and begin anew."""
    await ls.session.restart()


def trace(ls: GraphbreakServer, *args: Any) -> None:
    """Analyse the document of a URI now. The answer only says that it was heard; the result is published as ever."""
    path = to_path(args[0]) if args and isinstance(args[0], str) else None
    if path is None or ls.session.documents.get(path) is None:
        ls.session.notices.log("Graphbreak can only analyse a file that is open in the editor.")
    else:
        ls.session.triggers.asked(path)


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
