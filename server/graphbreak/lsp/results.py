"""What is known: the newest report of each entry document, and what all of them together say about a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from ..core.findings import Diagnostic, Kind, Report
from ..core.project import FILE_NAME
from ..core.source import Edit, SourceFile
from ..core.unused import still_unused
from .moving import caught_up, moved_report


class Results:
    """The newest report by the path of its entry document. A report can speak of other files, open or not."""

    def __init__(self) -> None:
        self._reports: dict[str, Report] = {}

    def put(self, entry: str, report: Report) -> None:
        """A newer report of an entry document takes the place of the older one; where it knows nothing new, it only adds to it."""
        older = self._reports.get(entry)
        self._reports[entry] = _added(older, report) if older is not None and report.stale else report

    def drop(self, entry: str) -> None:
        """Forget what an entry document's trace said, in all files; what other traces said stays."""
        self._reports.pop(entry, None)

    def edited(self, step: Edit, after: SourceFile) -> None:
        """Move everything through an edit that was just made."""
        for entry, report in self._reports.items():
            self._reports[entry] = moved_report(report, step, after)

    def align(self, now: SourceFile) -> None:
        """Move everything to the text that a file turned out to have when it was opened, or closed without saving."""
        for entry, report in self._reports.items():
            self._reports[entry] = caught_up(report, (), now)

    def paths(self) -> set[str]:
        """The files that have diagnostics."""
        return {diagnostic.path for diagnostic in self._all()}

    def entries_with(self, path: str) -> list[str]:
        """The entry documents whose last trace involved a file; of a pyproject.toml, those that involved a file in its folder or below."""
        folder, name = os.path.split(path)
        below = os.path.join(folder, "") if name == FILE_NAME else None
        return [
            entry
            for entry, report in self._reports.items()
            if path in report.sources or (below is not None and any(source.startswith(below) for source in report.sources))
        ]

    def source(self, path: str) -> SourceFile | None:
        """The text that positions in a file refer to."""
        found = (report.sources.get(path) for report in self._reports.values())
        return next((source for source in found if source is not None), None)

    def at(self, path: str) -> list[Diagnostic]:
        """What all reports say about a file, in its order, each thing once."""
        here = [diagnostic for diagnostic in self._all() if diagnostic.path == path]
        unique = {(d.span, d.kind, d.code, d.id): d for d in reversed(here)}
        return sorted(unique.values(), key=lambda d: (d.span, d.kind.value, d.code, d.id))

    def linked(self, diagnostic: Diagnostic) -> list[Diagnostic]:
        """For a caller its cause; for a cause the calls that inherit it."""
        is_caller = diagnostic.kind is Kind.CALLER
        others = [other for other in self._all() if other.id == diagnostic.id and (other.kind is Kind.CALLER) is not is_caller]
        unique = {(other.path, other.span): other for other in reversed(others)}
        return sorted(unique.values(), key=lambda other: (other.path, other.span))

    def consequences(self, diagnostic: Diagnostic) -> list[Diagnostic]:
        """The causes that follow from a cause; they are shown with it and not by themselves."""
        return [d for d in self._all() if d.caused_by == diagnostic.id and d.kind is not Kind.CALLER]

    def is_consequence(self, diagnostic: Diagnostic) -> bool:
        """Whether it follows from another cause that is known."""
        return bool(diagnostic.caused_by) and any(d.id == diagnostic.caused_by for d in self._all())

    def _all(self) -> Iterable[Diagnostic]:
        found = (d for report in self._reports.values() for d in report.diagnostics if not d.ignored)
        return still_unused(found, (report.used_ignores for report in self._reports.values()))


def _added(older: Report, report: Report) -> Report:
    """What was known, with what the newest run said of why it could not find out more."""
    kept = tuple(diagnostic for diagnostic in older.diagnostics if diagnostic.kind is not Kind.NOT_ANALYSED)
    return replace(
        report,
        diagnostics=kept + report.diagnostics,
        used_ignores=older.used_ignores | report.used_ignores,
        sources={**older.sources, **report.sources},
    )
