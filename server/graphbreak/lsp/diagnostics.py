"""Reports to squiggles: what is published for a file, and when."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ..core.breaks import REACHED
from ..core.findings import Diagnostic, Kind, Related, Severity
from ..core.source import Span
from .convert import Converter
from .results import Results

QUIET = 0.2
"""Seconds without a change before moved diagnostics are published again; the editor moves its own copy meanwhile."""

_LOUDEST_FIRST = list(Severity)
_NAMED = 3


@dataclass(frozen=True)
class Shown:
    """One squiggle: usually one finding (`members` has just that), or all library causes below one call."""

    members: tuple[Diagnostic, ...]
    severity: Severity
    code: str
    message: str
    related: tuple[Related, ...]


def shown(results: Results, path: str) -> list[Shown]:
    """The squiggles of a file. Library causes that share a place become one, or a single call would carry ten of them."""
    groups: dict[Span, list[Diagnostic]] = {}
    squiggles: list[Shown] = []
    for diagnostic in results.at(path):
        if results.is_consequence(diagnostic):
            continue
        if is_library_cause(diagnostic):
            groups.setdefault(diagnostic.span, []).append(diagnostic)
        else:
            squiggles.append(_single(results, diagnostic))
    for group in groups.values():
        squiggles.append(_single(results, group[0]) if len(group) == 1 else _group(results, group))
    return sorted(squiggles, key=lambda squiggle: squiggle.members[0].span)


def is_library_cause(diagnostic: Diagnostic) -> bool:
    """Whether the break itself lies in a library and is only blamed on the user's call of it."""
    return diagnostic.kind in (Kind.BREAK, Kind.SKIPPED) and bool(diagnostic.stack) and diagnostic.stack[-1].library


def _single(results: Results, diagnostic: Diagnostic) -> Shown:
    follows = tuple(Related(d.path, d.span, f"may follow from this: {_first_line(d.message)}") for d in results.consequences(diagnostic))
    related = _with_links(results, diagnostic, diagnostic.related + follows)
    return Shown((diagnostic,), diagnostic.severity, diagnostic.code, diagnostic.message, related)


def _group(results: Results, group: list[Diagnostic]) -> Shown:
    named = ", ".join(f"{d.code} in {_where(d)}" for d in group[:_NAMED])
    rest = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
    codes = list(dict.fromkeys(d.code for d in group))
    related: tuple[Related, ...] = tuple(place for d in group for place in _library_lines(d))
    for diagnostic in group:
        related = _with_links(results, diagnostic, related)
    return Shown(
        members=tuple(group),
        severity=min((d.severity for d in group), key=_LOUDEST_FIRST.index),
        code=", ".join(codes[:_NAMED]) + (", ..." if len(codes) > _NAMED else ""),
        message=f"{len(group)} graph breaks in library code below this call: {named}{rest}",
        related=related,
    )


def _where(diagnostic: Diagnostic) -> str:
    frame = diagnostic.stack[-1]
    return f"`{frame.function}` ({os.path.basename(frame.path)}:{frame.line + 1})"


def _library_lines(diagnostic: Diagnostic) -> list[Related]:
    """The line that breaks, with its reason, and the deepest line outside torch that led there, where that is another."""
    frame = diagnostic.stack[-1]
    span = frame.span or Span.at(frame.line, 0, frame.line, 0)
    inner = Related(frame.path, span, f"{diagnostic.code}: {_first_line(diagnostic.message)}")
    reached = [
        place for place in diagnostic.related if place.message.startswith(REACHED) and (place.path, place.span) != (frame.path, span)
    ]
    return [inner, *(Related(place.path, place.span, f"{diagnostic.code}: {place.message}") for place in reached)]


def _with_links(results: Results, diagnostic: Diagnostic, related: tuple[Related, ...]) -> tuple[Related, ...]:
    """Add the cause of a caller, or the callers of a cause, where the report has not named these places itself."""
    word = "cause" if diagnostic.kind is Kind.CALLER else "called from here"
    known = {(place.path, place.span) for place in related}
    links = (Related(d.path, d.span, f"{word}: {_first_line(d.message)}") for d in results.linked(diagnostic))
    return related + tuple(link for link in links if (link.path, link.span) not in known)


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]


class Publisher:
    """Publishes what changed: at once when a report arrives, after a short quiet time while the user types."""

    def __init__(
        self, server: LanguageServer, results: Results, converter: Callable[[], Converter], published: Callable[[], None] = lambda: None
    ) -> None:
        self._server = server
        self._results = results
        self._converter = converter
        self._done = published
        self._published: dict[str, types.PublishDiagnosticsParams] = {}
        self._timer: asyncio.TimerHandle | None = None

    def soon(self) -> None:
        """Publish when no further change has come for a moment."""
        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(QUIET, self.now)

    def at_once(self) -> None:
        """Publish what is waiting for a quiet moment: the user saved, and so is not in the middle of something."""
        if self._timer is not None:
            self.now()

    def now(self, analysed: str = "") -> None:
        """Publish every file whose list, or whose version, is another than the one the editor has.

        A file that was just analysed is published in any case: an empty list says that it was looked at and is clean.
        """
        self.cancel()
        converter = self._converter()
        for path in sorted(set(self._results.paths()) | set(self._published) | ({analysed} if analysed else set())):
            related = self.related_supported
            items = [converter.to_diagnostic(squiggle, related=related) for squiggle in shown(self._results, path)]
            params = types.PublishDiagnosticsParams(converter.uri(path), items, version=converter.version(path))
            if self._published.get(path) == params:
                continue
            self._server.text_document_publish_diagnostics(params)
            self._published[path] = params
            if not items:
                del self._published[path]
        self._done()

    def cancel(self) -> None:
        """Forget the publication that was put off."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def related_supported(self) -> bool:
        """Whether the editor can show related places; one that says nothing about it just ignores them."""
        document = self._server.client_capabilities.text_document
        publish = document and document.publish_diagnostics
        return not publish or publish.related_information is not False
