"""What is known: the newest report of each entry document, and what all of them together say about a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..core.findings import Diagnostic, FunctionResult, Kind, Outcome, Report, Verdict
from ..core.lens import clock
from ..core.merging import without_outdone
from ..core.project import FILE_NAME
from ..core.provisional import beside
from ..core.source import Edit, SourceFile
from ..core.trials import with_verdicts, without_verdicts
from ..core.unused import still_unused
from .moving import caught_up, moved_report
from .severities import Severities, as_wished


class Results:
    """The newest report by the path of its entry document. A report can speak of other files, open or not.

    `severities` says, for a path, how loud the user wants each kind to be; `now` what time it is.
    """

    def __init__(self, severities: Callable[[str], Severities] = lambda path: {}, now: Callable[[], float] = time.time) -> None:
        self._severities = severities
        self._now = now
        self._reports: dict[str, Report] = {}
        self._files: dict[str, frozenset[str]] = {}
        self._before: dict[str, Report | None] = {}
        """What was known before the run that provisional results are shown of."""
        self._known: _Index | None = None
        self._shown: dict[str, Report] | None = None

    @property
    def reports(self) -> Mapping[str, Report]:
        """All of them."""
        return self._reports

    @property
    def shown(self) -> Mapping[str, Report]:
        """All of them, each without what another one knows better."""
        if self._shown is None:
            self._shown = dict(zip(self._reports, without_outdone(self._reports.values())))
        return self._shown

    def put(self, entry: str, report: Report, *, only: bool = False) -> None:
        """A newer report of an entry document takes the place of the older one; where it knows nothing new, it only adds to it.

        `only` says that not all of the document's functions were asked for. A provisional report is shown beside what was known before it,
        until one that is not, or a newer provisional one, takes its place.
        """
        now = self._reports.get(entry)
        older = self._before.get(entry, now)
        report = replace(report, made=self._now())
        if report.provisional:
            self._before[entry] = older
            report = beside(older, report)
        else:
            self._before.pop(entry, None)
            if now is not None and report.stale:
                report = _added(now, report, clock(now.made, report.made))
            if older is not None and only:
                report = _beside(older, report)
        self._reports[entry] = report
        self._files[entry] = _files(report)
        self.refresh()

    def foresee(self, entry: str, report: Report) -> None:
        """What an edited function by itself says is shown beside all that is known, until the run that goes on has a whole report."""
        if entry in self._reports:
            self._before[entry] = beside(self._before.get(entry) or self._reports[entry], report)
            self._reports[entry] = beside(self._reports[entry], report)
            self._files[entry] = _files(self._reports[entry])
            self.refresh()

    def ended(self, entry: str) -> None:
        """A run is over. If no report came of it, what it had shown stays with what was known before, until the next one."""
        self._before.pop(entry, None)

    def verdict(self, entry: str, diagnostic: str, title: str, verdict: Verdict) -> None:
        """What a trial showed of a fix, by the id of its diagnostic and its title."""
        self._change(
            entry, lambda report: with_verdicts(report, lambda d, fix: verdict if (d.id, fix.title) == (diagnostic, title) else None)
        )

    def forget_verdicts(self, entry: str) -> None:
        """The text is another one than the fixes of an entry document were tried on."""
        if entry in self._reports:
            self._change(entry, without_verdicts)

    def drop(self, entry: str) -> None:
        """Forget what an entry document's trace said, in all files; what other traces said stays."""
        self._reports.pop(entry, None)
        self._before.pop(entry, None)
        self._files.pop(entry, None)
        self.refresh()

    def refresh(self) -> None:
        """Something changed that the shown diagnostics depend on."""
        self._known = self._shown = None

    def edited(self, step: Edit, after: SourceFile) -> None:
        """Move everything through an edit that was just made."""
        for entry in self.entries_with(after.path):
            self._change(entry, lambda report: moved_report(report, step, after))

    def align(self, now: SourceFile) -> None:
        """Move everything to the text that a file turned out to have when it was opened, or closed without saving."""
        for entry in self.entries_with(now.path):
            self._change(entry, lambda report: caught_up(report, (), now))

    def _change(self, entry: str, change: Callable[[Report], Report]) -> None:
        """Change what is known of an entry document, and what was before the run that goes on."""
        self._reports[entry] = change(self._reports[entry])
        before = self._before.get(entry)
        if before is not None:
            self._before[entry] = change(before)
        self.refresh()

    def paths(self) -> Iterable[str]:
        """The files that have diagnostics."""
        return self._index.by_path.keys()

    def entries_with(self, path: str) -> list[str]:
        """The entry documents whose last trace involved a file; of a pyproject.toml, those that involved a file in its folder or below."""
        folder, name = os.path.split(path)
        below = os.path.join(folder, "") if name == FILE_NAME else None
        return [
            entry
            for entry, files in self._files.items()
            if path in files or (below is not None and any(file.startswith(below) for file in files))
        ]

    def source(self, path: str) -> SourceFile | None:
        """The text that positions in a file refer to."""
        found = (report.sources.get(path) for report in self._reports.values())
        return next((source for source in found if source is not None), None)

    def at(self, path: str) -> list[Diagnostic]:
        """What all reports say about a file, in its order, each thing once."""
        unique = {(d.span, d.kind, d.code, d.id): d for d in reversed(self._index.by_path.get(path, []))}
        return sorted(unique.values(), key=lambda d: (d.span, d.kind.value, d.code, d.id))

    def linked(self, diagnostic: Diagnostic) -> list[Diagnostic]:
        """For a caller its cause; for a cause the calls that inherit it."""
        is_caller = diagnostic.kind is Kind.CALLER
        others = [other for other in self._index.by_id.get(diagnostic.id, []) if (other.kind is Kind.CALLER) is not is_caller]
        unique = {(other.path, other.span): other for other in reversed(others)}
        return sorted(unique.values(), key=lambda other: (other.path, other.span))

    def consequences(self, diagnostic: Diagnostic) -> list[Diagnostic]:
        """The causes that follow from a cause; they are shown with it and not by themselves."""
        return [d for d in self._index.by_cause.get(diagnostic.id, []) if d.kind is not Kind.CALLER]

    def is_consequence(self, diagnostic: Diagnostic) -> bool:
        """Whether it follows from another cause that is known."""
        return bool(diagnostic.caused_by) and diagnostic.caused_by in self._index.by_id

    def functions_of(self, diagnostic: Diagnostic) -> list[FunctionResult]:
        """The functions that a diagnostic is in, each from the first report that says so."""
        found: dict[tuple[str, str], FunctionResult] = {}
        for report in self.shown.values():
            if any(other.id == diagnostic.id for other in report.diagnostics):
                for row in report.functions:
                    if row.name in diagnostic.functions:
                        found.setdefault((row.path, row.name), row)
        return list(found.values())

    def age(self, diagnostic: Diagnostic) -> str:
        """Since when it is known, in the words of a clock, if the newest runs could not find out whether it is still so; else nothing."""
        reports = [report for report in self.shown.values() if any(other.id == diagnostic.id for other in report.diagnostics)]
        if diagnostic.kind is Kind.NOT_ANALYSED or not reports or not all(report.stale for report in reports):
            return ""
        return clock(max(report.made for report in reports), self._now())

    def told_by(self, entry: str) -> list[Diagnostic]:
        """What one entry document's trace says, the ignored included, as loud as the user wishes."""
        wished = as_wished(self.shown[entry].diagnostics, self._severities)
        return list(still_unused(wished, (report.used_ignores for report in self._reports.values())))

    @property
    def _index(self) -> _Index:
        if self._known is None:
            found = sorted((d for report in self.shown.values() for d in report.diagnostics if not d.ignored), key=lambda d: d.guessed)
            wished = as_wished(found, self._severities)
            self._known = _Index(still_unused(wished, (report.used_ignores for report in self._reports.values())))
        return self._known


class _Index:
    """All shown diagnostics by what they are asked for by; made anew when anything changes."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.by_path: dict[str, list[Diagnostic]] = {}
        self.by_id: dict[str, list[Diagnostic]] = {}
        self.by_cause: dict[str, list[Diagnostic]] = {}
        for diagnostic in diagnostics:
            self.by_path.setdefault(diagnostic.path, []).append(diagnostic)
            self.by_id.setdefault(diagnostic.id, []).append(diagnostic)
            if diagnostic.caused_by:
                self.by_cause.setdefault(diagnostic.caused_by, []).append(diagnostic)


def _files(report: Report) -> frozenset[str]:
    """The files that a report speaks of. They stay the same when it is moved."""
    files = {report.path, *report.sources}
    for function in report.functions:
        files |= {function.path, function.mark_path}
        files.update(region.path for region in function.regions)
    return frozenset(files)


def _added(older: Report, report: Report, made: str) -> Report:
    """What was known, with what the newest run said of why it could not find out more; `made` is when it was found out, in words."""
    again = {_key(diagnostic) for diagnostic in report.diagnostics}
    kept = tuple(found for found in older.diagnostics if found.kind is not Kind.NOT_ANALYSED and _key(found) not in again)
    return replace(
        report,
        environment=report.environment if report.environment.torch else older.environment,
        functions=tuple(_still(older, function, made) for function in report.functions),
        diagnostics=kept + report.diagnostics,
        used_ignores=older.used_ignores | report.used_ignores,
        sources={**older.sources, **report.sources},
        made=older.made,
    )


def _beside(older: Report, report: Report) -> Report:
    """What was found of some functions, with what was known of the others before."""
    rows = {_identity(function) for function in report.functions}
    others = tuple(function for function in older.functions if _identity(function) not in rows)
    names = {function.name for function in others}
    found = {_key(diagnostic): diagnostic for diagnostic in report.diagnostics}
    for diagnostic in older.diagnostics:
        kept = tuple(name for name in diagnostic.functions if name in names)
        again = found.get(_key(diagnostic))
        if again is not None:
            found[_key(again)] = replace(again, functions=tuple(dict.fromkeys(again.functions + kept)))
        elif kept:
            found[_key(diagnostic)] = replace(diagnostic, functions=kept)
    return replace(
        report,
        functions=tuple(sorted(others + report.functions, key=lambda function: (function.path, function.line))),
        diagnostics=tuple(found.values()),
        used_ignores=older.used_ignores | report.used_ignores,
        sources={**older.sources, **report.sources},
    )


def _identity(function: FunctionResult) -> tuple[object, ...]:
    return (function.mark_path, function.mark_span, function.path, function.name)


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    return (diagnostic.id, diagnostic.path, diagnostic.span, diagnostic.kind)


def _still(older: Report, function: FunctionResult, made: str) -> FunctionResult:
    """What an earlier run showed of a function, and why the newest did not."""
    same = (found for found in older.functions if (found.mark_path, found.name) == (function.mark_path, function.name))
    known = next(same, None)
    if known is None or known.outcome is not Outcome.TRACED or function.outcome is Outcome.TRACED:
        return function
    return replace(known, detail=f"not analysed since {made}: {function.detail or function.outcome.value}")
