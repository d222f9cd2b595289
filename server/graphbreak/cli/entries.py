"""Which further files `check` runs, since they come by the files that it is to look at; and what of their reports concerns those."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..core.findings import Diagnostic, FunctionResult, Kind, Outcome, Report
from ..core.functions import NOTHING_CALLS
from ..core.merging import is_open
from ..core.project import Projects
from ..tracer.scan import WorkspaceScan
from .targets import Target


def entry_files(files: Sequence[Target], reports: Sequence[Report], projects: Projects, roots: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For each file the files to run beside it: the entries of its project, and those found for what its own run did not show."""
    scan = WorkspaceScan(roots)
    return {file.path: tuple(_entries_for(file, reports, projects, scan)) for file in files if not file.entries}


def _entries_for(file: Target, reports: Sequence[Report], projects: Projects, scan: WorkspaceScan) -> Iterator[str]:
    path = file.path
    configured = [entry.path for entry in projects(path).entries if entry.path != path]
    reaching = scan.reaching(path, {}) if configured else frozenset()
    chosen = [entry for entry in configured if entry in reaching] or (configured if file.named else [])
    if chosen:
        yield from chosen
    elif _is_open(file, reports):
        yield from scan.entries_for(path, {})


def _is_open(file: Target, reports: Sequence[Report]) -> bool:
    """Whether something that another file calls may be in it: a mark that nothing came to, or no mark in a file that the user named."""
    rows = [row for report in reports for row in report.functions if row.mark_path == file.path]
    if not rows:
        return file.named
    shown = {row.mark_span for row in rows if row.outcome is Outcome.TRACED and not is_open(row)}
    return any(is_open(row) and row.mark_span not in shown for row in rows)


def told(reports: Sequence[Report], paths: set[str], entries: Mapping[str, Sequence[str]]) -> tuple[Report, ...]:
    """The reports as far as they are about some files; `entries` has what was run in behalf of each."""
    return tuple(
        _with_reason(report, entries.get(report.path, ())) if report.path in paths else _concerning(report, paths) for report in reports
    )


def _concerning(report: Report, paths: set[str]) -> Report:
    """What a run of another file says of some files: what is marked in them, written in them or comes by them, with its causes."""
    here = {diagnostic.id for diagnostic in report.diagnostics if diagnostic.path in paths and diagnostic.kind is not Kind.NOT_ANALYSED}
    own = {row.name for row in report.functions if row.mark_path in paths or row.path in paths}
    through = {row.name for row in report.functions if any(region.path in paths for region in row.regions)}

    def counts(diagnostic: Diagnostic) -> bool:
        if diagnostic.kind is Kind.RAISED:
            return diagnostic.path in paths or any(frame.path in paths for frame in diagnostic.stack)
        if diagnostic.kind in (Kind.NOT_ANALYSED, Kind.UNUSED_IGNORE):
            return diagnostic.path in paths
        return diagnostic.id in here or bool(own.intersection(diagnostic.functions))

    diagnostics = tuple(filter(counts, report.diagnostics))
    names = own.union(through, *(diagnostic.functions for diagnostic in diagnostics))
    functions = tuple(row for row in report.functions if row.name in names and row.outcome is Outcome.TRACED)
    raised = [one for one in report.diagnostics if one.kind is Kind.RAISED and one not in diagnostics]
    problems = tuple(f"{one.path}:{one.span.start.line + 1}: {one.message.rstrip('.')}." for one in raised)
    return replace(report, functions=functions, diagnostics=diagnostics, problems=(*report.problems, *problems))


def _with_reason(report: Report, entries: Sequence[str]) -> Report:
    """The report of a file, where it says of what nothing calls which other files were run in search of a call."""
    run = [os.path.basename(path) for path in entries]
    if not run:
        return report
    sentence = f"neither {', '.join(['this file', *run[:-1]])} nor {run[-1]} calls it"

    def row(one: FunctionResult) -> FunctionResult:
        return replace(one, detail=one.detail.replace(NOTHING_CALLS, sentence))

    def diagnostic(one: Diagnostic) -> Diagnostic:
        return replace(one, message=one.message.replace(NOTHING_CALLS, sentence)) if one.kind is Kind.NOT_ANALYSED else one

    return replace(report, functions=tuple(map(row, report.functions)), diagnostics=tuple(map(diagnostic, report.diagnostics)))
