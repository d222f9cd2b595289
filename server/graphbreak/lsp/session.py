"""One editor: what is open, what is known, what is running. Everything that handlers ask or tell goes through here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ..core.requests import Analyser
from ..core.source import SourceFile, Span
from ..tracer.files import read_source
from .analyses import Analyses
from .asking import Asking
from .attention import Attention
from .configuration import Configuration
from .convert import Converter, to_path
from .diagnostics import Publisher
from .documents import Document, Documents
from .entries import Entries
from .folders import folder_uris
from .losing import Lost
from .memory import Memory
from .notices import Notices
from .progress import Progress
from .reading import Reading
from .results import Results
from .runs import Runs
from .telling import Extension
from .trials import Trials
from .triggers import Triggers
from .watching import Watching
from .workspace_trace import WorkspaceTrace


class Session:
    """The state of one connection."""

    def __init__(self, server: LanguageServer, analyser: Analyser) -> None:
        self.documents = Documents()
        self.attention = Attention()
        self._lost = Lost()
        self.extension = Extension(server, lambda path: self.converter.uri(path))
        self.notices = Notices(server, self.extension)
        self.configuration = Configuration(server, self.notices)
        self.results = Results(lambda path: self.configuration.of(path).severity)
        self.progress = Progress(server)
        self.publisher = Publisher(server, self.results, lambda: self.converter, lambda: self.extension.results(self.results.reports))
        self.workspace_trace = WorkspaceTrace(self)
        self.analyses = Analyses(self, server, analyser)
        revision, update = lambda: self.documents.revision, lambda: self.workspace_trace.update()
        self.runs = Runs(self.analyses.analyse, revision, self._quiet, update, self.attention)
        self.trials = Trials(self, analyser)
        self.triggers = Triggers(self)
        self.reading = Reading(self.soon)
        self.watching = Watching(self.changed_outside, self.notices.log)
        self.asking = Asking(server, lambda path: self.runs.request(path))
        self.entries = Entries(self, lambda: list(folder_uris(server.workspace)))
        self._server = server
        self._analyser = analyser
        self._saved: dict[str, int] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._closed = False
        self.memory: Memory | None = None
        """That of the process, where it serves this connection alone."""

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

    def _quiet(self) -> None:
        """Nothing is traced any more."""
        self.documents.forget_steps()
        self.trials.resume()
        if self.memory is not None:
            self.memory.give_back()

    def opened(self, document: Document) -> None:
        """A document was opened; the editor's text counts from now on, and not the one on disk."""
        self._lost.drop(document.path)
        self.documents.open(document)
        self.attention.opened(document.path)
        self._has_now(document.source)
        self.results.align(document.source)
        self.publisher.now()
        self.triggers.opened(document.path)

    def changed(self, document: Document, version: int, changes: list[types.TextDocumentContentChangeEvent]) -> None:
        """A document was changed: what is known of it moves along at once, and is shown again when it is quiet."""
        self._analyser.wake()
        converter = self.converter
        if self.runs.is_idle:
            self.documents.forget_steps()
        for change in changes:
            step = self.documents.change(document, converter.from_change(document.source, change))
            self.results.edited(step, document.source)
        self.attention.at(document.path, step.span.start.line if changes else None)
        self.trials.edited(document.path)
        document.version = version
        self.publisher.soon()
        self.reading.changed(document)
        self.triggers.typed(document.path)

    def changed_unknown(self, path: str, version: int, changes: list[types.TextDocumentContentChangeEvent]) -> None:
        """Something that is not open here was changed: a document whose text is known again if all of it was sent, or none of ours."""
        sent = self._lost.sent(path, version, changes)
        if sent is not None:
            document, rest = sent
            self.opened(document)
            self.changed(document, version, rest)

    def lost(self, uri: str | None) -> None:
        """What the editor did to a document, or to any of them, was not understood: what is known of it may be wrong by now, so it goes."""
        path = None if uri is None else to_path(uri)
        for document in self.documents:
            if uri is None or document.path == path:
                told_by = self.results.entries_with(document.path)
                self.closed(document.path)
                self._lost.put(document)
                for entry in told_by:
                    self.forget(entry)

    def saved_unknown(self, path: str) -> None:
        """Something that is not open here was saved: the text of a document that was lost is the one on disk now, or it is none of ours."""
        document = self._lost.saved(path)
        if document is not None:
            self.opened(document)
            self.saved(path)

    def saved(self, path: str) -> None:
        """A file was saved, by this editor or by another program."""
        if self.documents.get(path) is not None:
            self.attention.at(path)
        self._saved[path] = self.documents.revision
        self.publisher.at_once()
        self.triggers.saved(path)

    def looked_at(self, path: str, span: Span) -> None:
        """The user's attention is here: what belongs to it comes first."""
        self.attention.at(path, span.start.line)
        self.runs.attend(path)
        self.trials.looked_at(path, span)

    def saved_at(self, path: str) -> int:
        """The revision of the texts at which a file was last saved."""
        return self._saved.get(path, 0)

    def changed_outside(self, paths: list[str]) -> None:
        """Files were written, or deleted, perhaps by other programs. The open ones are the editor's: it tells of a save itself."""
        for path in paths:
            if self.documents.get(path) is None:
                self.changed_on_disk(path)

    def changed_on_disk(self, path: str) -> None:
        """A file that is not open was written, or deleted, by another program."""
        self.documents.touch()
        self.trials.edited(path)
        needed = self.entries.is_entry(path) and os.path.isfile(path)
        if self.results.entries_with(path):
            self._align_with_disk(path)
            if not needed:
                self.results.drop(path)
            self.publisher.now()
        if self.runs.is_running(path) or (needed and path not in self.results.reports):
            self.runs.request_in_background([path])
        self.entries.changed_on_disk(path)
        self.workspace_trace.changed_on_disk(path)
        self.saved(path)

    def closed(self, path: str) -> None:
        """A document was closed: what its own trace said goes, what others said about it stays."""
        self._lost.drop(path)
        if self.documents.close(path) is None:
            return
        self.triggers.closed(path)
        self.entries.closed(path)
        self._align_with_disk(path)
        self.forget(path)

    def _align_with_disk(self, path: str) -> None:
        on_disk = read_source(path) if self.results.source(path) is not None else None
        if on_disk is not None:
            self._has_now(on_disk)
            self.results.align(on_disk)

    def _has_now(self, source: SourceFile) -> None:
        """A file turned out to have this text."""
        if self.results.source(source.path) not in (None, source):
            self.trials.edited(source.path)

    def forget(self, path: str) -> None:
        """Nothing is, and nothing will be, known from tracing this document."""
        self.runs.cancel(path)
        self.trials.drop(path)
        self.results.drop(path)
        self.publisher.now()

    async def read_settings(self) -> None:
        """Ask for the settings, and act on those that are new."""
        await self.configuration.ask()
        self.trials.settings_changed()
        self.triggers.settings_changed()
        self.results.refresh()
        self.extension.tell_again()
        self.publisher.now()
        self.extension.refresh_lenses()

    def soon(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that has to wait for the editor, while its messages go on being handled."""
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def watch(self) -> None:
        """See changes on disk by ourselves: the editor does not tell of them."""
        await self.watching.watch(list(folder_uris(self._server.workspace)))

    def trace_workspace(self) -> None:
        """Analyse all that is marked in the workspace folders, in the background."""
        self.soon(self.workspace_trace.start(list(folder_uris(self._server.workspace))))

    async def cancel(self, path: str | None) -> None:
        """End what runs for a document, or everything; what was known before stays."""
        if path is None:
            self.workspace_trace.cancel()
            self.runs.cancel_all()
            await self.trials.stop()
        else:
            self.runs.cancel(path)
            self.trials.drop(path)
        await self.analyses.stop_explaining(path)

    async def restart(self) -> None:
        """Begin anew with fresh workers; what is shown stays until there is something newer."""
        self.workspace_trace.cancel()
        await self.runs.stop()
        await self.trials.stop()
        await self.analyses.stop_explaining()
        await self._analyser.restart()
        for document in self.documents:
            self.triggers.opened(document.path)

    async def close(self) -> None:
        """End everything that runs. Safe to call twice: on shutdown, and when the editor is found to be gone."""
        if self._closed:
            return
        self._closed = True
        self.triggers.stop()
        self.entries.stop()
        self.watching.stop()
        self.reading.stop()
        self.publisher.cancel()
        self.extension.stop()
        self.workspace_trace.stop()
        for task in list(self._work):
            task.cancel()
        await self.runs.stop()
        await self.trials.stop()
        await self.analyses.stop_explaining()
        await self._analyser.close()
