"""The language server: every message that it answers, in one list."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from .. import __version__
from ..core.requests import Analyser
from ..tracer.engine import Engine
from ..tracer.store import Store, default_folder
from . import (
    active,
    code_actions,
    code_lens,
    commands,
    completion,
    explain,
    extensions,
    hover,
    lifecycle,
    report,
    rule,
    stdio,
    text_sync,
    workspace_events,
)
from .connection import GraphbreakServer


def create_server(analyser: Analyser | Callable[[], Analyser]) -> GraphbreakServer:
    """A server on top of an engine, or of what makes one."""
    server = GraphbreakServer(__version__, analyser() if callable(analyser) else analyser)

    server.feature(types.INITIALIZE)(lifecycle.initialize)
    server.feature(types.INITIALIZED)(lifecycle.initialized)
    server.feature(types.SHUTDOWN)(lifecycle.shutdown)
    server.feature(types.EXIT)(lifecycle.leave)

    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(text_sync.did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(text_sync.did_change)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(text_sync.did_save)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(text_sync.did_close)

    server.feature(types.TEXT_DOCUMENT_HOVER)(hover.hover)
    server.feature(types.TEXT_DOCUMENT_COMPLETION, completion.OPTIONS)(completion.completion)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, code_actions.OPTIONS)(code_actions.code_action)

    server.feature(types.TEXT_DOCUMENT_CODE_LENS, code_lens.OPTIONS)(code_lens.code_lens)

    server.feature(extensions.ACTIVE)(active.active)
    server.feature(extensions.REPORT)(report.report)
    server.feature(extensions.EXPLAIN)(explain.explain)
    server.feature(extensions.RULE)(rule.rule)

    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(workspace_events.did_change_configuration)
    server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(workspace_events.did_change_workspace_folders)
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(workspace_events.did_change_watched_files)
    server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)(workspace_events.cancel_progress)

    server.command(extensions.RESTART)(commands.restart)
    server.command(extensions.TRACE)(commands.trace)
    server.command(extensions.CANCEL)(commands.cancel)
    server.command(extensions.TRACE_WORKSPACE)(commands.trace_workspace)
    return server


def editors_engine() -> Engine:
    """The engine for an editor: what it found before is found again at once."""
    folder = default_folder()
    return Engine(store=Store(folder) if folder is not None else None)


def run_stdio(analyser: Analyser | Callable[[], Analyser] = editors_engine) -> int:
    """Serve one editor on stdin and stdout until it is done or gone: the exit status."""
    return stdio.serve_stdio(create_server(analyser))
