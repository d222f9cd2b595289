"""One editor: what is open, what is known, what is running. Everything that handlers ask or tell goes through here."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Coroutine
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ..core.findings import Outcome, Report
from ..core.requests import Analyser, AnalysisRequest
from ..core.source import SourceFile
from .configuration import Configuration
from .convert import Converter
from .diagnostics import Publisher
from .documents import Document, Documents, read_file
from .extensions import STATUS, STATUS_CAPABILITY
from .folders import folder_of, folder_uris
from .moving import caught_up
from .notices import Notices
from .progress import Progress
from .results import Results
from .runs import Run, Runs
from .triggers import Triggers


class Session:
    """The state of one connection."""

    def __init__(self, server: LanguageServer, analyser: Analyser) -> None:
        self.documents = Documents()
        self.results = Results()
        self.notices = Notices(server)
        self.configuration = Configuration(server, self.notices)
        self.progress = Progress(server)
        self.publisher = Publisher(server, self.results, lambda: self.converter)
        self.runs = Runs(self._analyse, lambda: self.documents.revision, self.documents.forget_steps)
        self.triggers = Triggers(self)
        self._server = server
        self._analyser = analyser
        self._saved: dict[str, int] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def converter(self) -> Converter:
        """Converts positions and paths as this editor counts and spells them."""
        encoding = self._server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        return Converter(encoding, self.source, self.documents.uri, self._version)

    def source(self, path: str) -> SourceFile | None:
        """The text of a file that positions refer to: as it is in the editor, else as it was traced."""
        document = self.documents.get(path)
        return document.source if document is not None else self.results.source(path)

    def _version(self, path: str) -> int | None:
        document = self.documents.get(path)
        return None if document is None else document.version

    def opened(self, document: Document) -> None:
        """A document was opened; the editor's text counts from now on, and not the one on disk."""
        self.documents.open(document)
        self.results.align(document.source)
        self.publisher.now()
        self.triggers.opened(document.path)

    def changed(self, document: Document, version: int, changes: list[types.TextDocumentContentChangeEvent]) -> None:
        """A document was changed: what is known of it moves along at once, and is shown again when it is quiet."""
        converter = self.converter
        for change in changes:
            step = self.documents.change(document, converter.from_change(document.source, change))
            self.results.edited(step, document.source)
        document.version = version
        self.publisher.soon()
        self.triggers.typed(document.path)

    def saved(self, path: str) -> None:
        """A file was saved, by this editor or by another program."""
        self._saved[path] = self.documents.revision
        self.triggers.saved(path)

    def closed(self, path: str) -> None:
        """A document was closed: what its own trace said goes, what others said about it stays."""
        self.documents.close(path)
        self.triggers.closed(path)
        on_disk = read_file(path)
        if on_disk is not None:
            self.results.align(on_disk)
        self.forget(path)

    def forget(self, path: str) -> None:
        """Nothing is, and nothing will be, known from tracing this document."""
        self.runs.cancel(path)
        self.results.drop(path)
        self.publisher.now()

    async def read_settings(self) -> None:
        """Ask for the settings, and act on those that are new."""
        await self.configuration.ask()
        self.triggers.settings_changed()

    def soon(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that has to wait for the editor, while its messages go on being handled."""
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def restart(self) -> None:
        """Begin anew with fresh workers; what is shown stays until there is something newer."""
        await self.runs.stop()
        await self._analyser.restart()
        for document in self.documents:
            self.triggers.opened(document.path)

    async def close(self) -> None:
        """End everything that runs. Safe to call twice: on shutdown, and when the editor is found to be gone."""
        if self._closed:
            return
        self._closed = True
        self.triggers.stop()
        self.publisher.cancel()
        for task in list(self._work):
            task.cancel()
        await self.runs.stop()
        await self._analyser.close()

    async def _analyse(self, run: Run) -> None:
        """Trace one document and take in the report; whatever goes wrong, the old results stay."""
        document = self.documents.get(run.path)
        if document is None:
            return
        bar = self.progress.begin(f"Graphbreak: {os.path.basename(run.path)}", run.cancel)
        self._tell(document, "tracing")
        state, message = "idle", ""
        try:
            report = await self._analyser.analyse(self._request(document, run), bar.say)
            if not run.cancelled:
                self._accept(run, report)
        except Exception as error:  # a bug in the engine costs this one answer, not the session
            state, message = "failed", f"Graphbreak failed on {run.path}: {error}"
            self.notices.log("".join(traceback.format_exception(error)), types.MessageType.Error)
        finally:
            bar.end()
            self._tell(document, state, message)

    def _request(self, document: Document, run: Run) -> AnalysisRequest:
        folders = list(folder_uris(self._server.workspace))
        folder = folder_of(document.path, folders)
        root = folder or os.path.dirname(document.path)
        return AnalysisRequest(
            source=document.program,
            root=root,
            roots=tuple(folders) if folder else (*folders, root),
            settings=self.configuration.of(document.path).for_analysis(),
            overlay=self.documents.overlay(),
            version=document.version,
            run_unmarked=run.unmarked,
        )

    def _accept(self, run: Run, report: Report) -> None:
        self.notices.report(report)
        if report.functions and all(function.outcome is Outcome.CANCELLED for function in report.functions):
            return
        involved = list(report.sources)
        for document in self.documents:
            report = caught_up(report, document.since(run.revision), document.source)
        self.results.put(run.path, report)
        self.publisher.now(analysed=run.path)
        # A helper that nobody knew to be involved may have been saved while it ran.
        if any(self._saved.get(path, 0) > run.revision for path in involved):
            self.runs.again(run.path)

    def _tell(self, document: Document, state: str, message: str = "") -> None:
        """Tell an extension that wants to know what goes on."""
        experimental = self._server.client_capabilities.experimental
        if isinstance(experimental, dict) and experimental.get(STATUS_CAPABILITY):
            self._server.protocol.notify(STATUS, {"uri": document.uri, "state": state, "message": message})
