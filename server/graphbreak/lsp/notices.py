"""What we tell the user in words: in the editor's log, and for what they must act upon, in a message."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ..core.findings import FunctionResult, Outcome, Report
from .telling import Extension

UNTRUSTED = "Graphbreak analyses nothing here: to find graph breaks it has to run the code, and this workspace is not trusted."


class Notices:
    """Log lines and messages. A message is shown once for each distinct sentence, not once for each save."""

    def __init__(self, server: LanguageServer, extension: Extension) -> None:
        self._server = server
        self._extension = extension
        self._said: set[str] = set()

    def log(self, sentence: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Write a line to the editor's log."""
        self._server.window_log_message(types.LogMessageParams(kind, sentence))

    def log_once(self, sentences: Iterable[str]) -> None:
        """Write lines to the log, those already there left out."""
        for sentence in sentences:
            if self._is_new(sentence):
                self.log(sentence, types.MessageType.Warning)

    def show_once(self, sentence: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        """Show a message where the user sees it, the first time that there is reason to."""
        if self._is_new(sentence):
            self._server.window_show_message(types.ShowMessageParams(kind, sentence))

    def untrusted(self) -> None:
        """Say why nothing is run. An extension that shows the status says so all the time; for others there is a message."""
        if self._extension.shows_status:
            self.log_once([UNTRUSTED])
        else:
            self.show_once(UNTRUSTED)

    def no_environment(self, sentence: str) -> None:
        """There is no torch to trace with: a message, or where the editor's side has more to offer than that, its own."""
        if not self._extension.shows_status:
            self.show_once(sentence, types.MessageType.Error)
        elif self._is_new(sentence):
            self._extension.no_environment(sentence)

    def report(self, report: Report) -> None:
        """Say how a run went, apart from its diagnostics."""
        self.log_once(report.environment.notes)
        self.log_once(report.settings_problems)
        for problem in report.problems:
            if problem not in report.settings_problems:
                self.log(problem, types.MessageType.Warning)
        for function in report.functions:
            if function.outcome is not Outcome.TRACED:
                self.log(_sentence(function), types.MessageType.Warning)
            if function.outcome is Outcome.NO_ENVIRONMENT:
                self.no_environment(function.detail or "Graphbreak found no Python that has torch.")

    def _is_new(self, sentence: str) -> bool:
        new = sentence not in self._said
        self._said.add(sentence)
        return new


def _sentence(function: FunctionResult) -> str:
    where = f"{function.name} ({os.path.basename(function.path)}:{function.line + 1})"
    return f"{where}: {function.outcome.value}" + (f": {function.detail}" if function.detail else "")
