"""One analysis from its request to its report, and one explanation likewise: what they are given, who is told, where the result goes."""

from __future__ import annotations

import asyncio
import os
import traceback
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ..core.explained import Explanation
from ..core.findings import Outcome, Report
from ..core.requests import Analyser, AnalysisRequest
from ..core.source import SourceFile
from ..tracer.files import read_source
from .folders import folder_of, folder_uris
from .moving import caught_up
from .progress import Bar
from .runs import Run

if TYPE_CHECKING:
    from .session import Session


class Analyses:
    """Does what `Runs` decides to do."""

    def __init__(self, session: Session, server: LanguageServer, analyser: Analyser) -> None:
        self._session = session
        self._server = server
        self._analyser = analyser
        self._explaining: dict[asyncio.Task[Explanation], str] = {}

    async def analyse(self, run: Run) -> None:
        """Trace one document and take in the report; whatever goes wrong, the old results stay."""
        session = self._session
        source = await self._source(run.path)
        if source is None:
            return
        begun, bar = False, None

        def say(sentence: str) -> None:
            """Something is run, so it takes time; that is shown from now on."""
            nonlocal begun, bar
            if not begun:
                begun, bar = True, self._begin(run)
            if bar is not None:
                bar.say(sentence)

        session.trials.pause()
        state, message = "idle", ""
        foreseeing = None
        try:
            request = self.request(source, unmarked=run.unmarked, only=run.only)
            foreseeing = asyncio.create_task(self._foresee(run, request))
            report = await self._analyser.analyse(request, say, lambda seen: self._found(run, seen))
            if not run.cancelled:
                self._accept(run, request, report)
        except Exception as error:  # a bug in the engine costs this one answer, not the session
            state, message = "failed", f"Graphbreak failed on {run.path}: {error}"
            session.notices.log("".join(traceback.format_exception(error)), types.MessageType.Error)
        finally:
            if foreseeing is not None:
                foreseeing.cancel()
            if bar is not None:
                bar.end()
            session.results.ended(run.path)
            session.extension.status(run.path, state, message)
            self._tell_lenses(run.path)

    def _begin(self, run: Run) -> Bar | None:
        """Show that a document is being traced, with a bar where somebody waits for it."""
        self._session.extension.status(run.path, "tracing")
        self._tell_lenses(run.path)
        return None if run.background else self._session.progress.begin(f"Graphbreak: {os.path.basename(run.path)}", run.cancel)

    async def explain(self, path: str, name: str, details: list[str]) -> Explanation:
        """PyTorch's own report on a function of a file. What goes wrong is a sentence in it."""
        source = await self._source(path)
        if source is None:
            return Explanation(problem=f"{path} cannot be read.")
        task = asyncio.create_task(self._analyser.explain(self.request(source), name, details))
        self._explaining[task] = path

        def cancel() -> None:
            task.cancel()

        bar = self._session.progress.begin(f"Graphbreak: explaining {name}", cancel)
        try:
            await asyncio.wait({task})
            return Explanation(problem="It was cancelled.") if task.cancelled() else task.result()
        except Exception as error:
            self._session.notices.log("".join(traceback.format_exception(error)), types.MessageType.Error)
            return Explanation(problem=f"Graphbreak failed on {path}: {error}")
        finally:
            task.cancel()
            del self._explaining[task]
            bar.end()

    async def stop_explaining(self, path: str | None = None) -> None:
        """End the explanations of a file, or all, and wait until they have ended."""
        tasks = [task for task, explained in self._explaining.items() if path in (None, explained)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _source(self, path: str) -> SourceFile | None:
        document = self._session.documents.get(path)
        return document.program if document is not None else await asyncio.to_thread(read_source, path)

    def request(self, source: SourceFile, *, unmarked: bool = False, only: str = "") -> AnalysisRequest:
        """What the engine is given for a file; what the user asked for (`unmarked`) is run whatever is known."""
        session = self._session
        document = session.documents.get(source.path)
        folders = list(folder_uris(self._server.workspace))
        folder = folder_of(source.path, folders)
        root = folder or os.path.dirname(source.path)
        return AnalysisRequest(
            source=source,
            root=root,
            roots=tuple(folders) if folder else (*folders, root),
            settings=session.configuration.of(source.path).for_analysis(),
            overlay=session.documents.overlay(),
            version=None if document is None else document.version,
            run_unmarked=unmarked or session.entries.is_entry(source.path),
            fresh=unmarked,
            only=only,
            keep=not session.workspace_trace.goes_on,
            line=session.attention.line(source.path),
        )

    def _tell_lenses(self, path: str) -> None:
        """Lenses say that a trace goes on only where nothing is known; what it finds is told when it is taken in."""
        if path not in self._session.results.reports:
            self._session.extension.refresh_lenses()

    def _found(self, run: Run, seen: Report) -> None:
        """Show what a run has found so far, unless it is wanted no more."""
        session = self._session
        if not run.cancelled:
            session.results.put(run.path, self._moved(run, seen))
            session.publisher.now()

    async def _foresee(self, run: Run, request: AnalysisRequest) -> None:
        """Show what an edited function by itself says, while the whole is traced. If that cannot be found out, the whole will tell."""
        session = self._session

        def show(seen: Report) -> None:
            if not run.cancelled:
                session.results.foresee(run.path, self._moved(run, seen))
                session.publisher.now()

        try:
            await self._analyser.foresee(request, show)
        except Exception as error:
            session.notices.log("".join(traceback.format_exception(error)), types.MessageType.Error)

    def _moved(self, run: Run, report: Report) -> Report:
        """The report, brought to the texts that there are now."""
        for document in self._session.documents:
            report = caught_up(report, document.since(run.revision), document.source)
        return report

    def _accept(self, run: Run, request: AnalysisRequest, report: Report) -> None:
        session = self._session
        session.notices.report(report)
        if report.wish is not None:
            session.soon(session.asking.ask(report.wish, run.path))
        elif report.attempted is not None and not run.background:
            session.soon(session.asking.offer(report.attempted, run.path))
        session.extension.environment(run.path, report.environment)
        if report.functions and all(function.outcome is Outcome.CANCELLED for function in report.functions):
            return
        involved = list(report.sources)
        report = self._moved(run, report)
        session.results.put(run.path, report, only=bool(run.only))
        session.publisher.now(analysed=run.path)
        session.entries.look(run.path, closed_too=session.workspace_trace.goes_on)
        # A helper that nobody knew to be involved may have been saved while it ran.
        if any(session.saved_at(path) > run.revision for path in involved):
            session.runs.again(run.path)
        elif session.documents.revision == run.revision:
            session.trials.take(run.path, request, report)
