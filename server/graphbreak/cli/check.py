"""`graphbreak check`: analyse files, merge what several of them say of one place, print it, and say it in the exit status."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.baseline import Baseline, BaselineError
from ..core.cost import by_cost
from ..core.findings import Diagnostic, Environment, FunctionResult, Kind, Outcome, Report, Safety, merged_environment
from ..core.fixall import Applied, Choice
from ..core.marks import find_marks
from ..core.merging import not_analysed_id, without_outdone
from ..core.project import ProjectSettings
from ..core.requests import AnalysisRequest, Settings
from ..core.source import SourceFile
from ..core.unused import still_unused
from ..tracer.engine import Engine
from ..tracer.files import read_source
from ..tracer.grants import grant
from ..tracer.project import ProjectReader
from .entries import entry_files, told
from .fix import Analysed, Fixed, fix_files, unified_diff, written_texts
from .permissions import permissions_of
from .targets import Target, exists, targets

_COUNTING = frozenset({Kind.BREAK, Kind.SKIPPED, Kind.RAISED})


class NotWritten(Exception):
    """The fixes could not be written; the message is the sentence to show."""


@dataclass(frozen=True)
class Result:
    """What one `check` found, over all its files. `problems` are sentences for the user; `troubled` says that some are about the runs."""

    environment: Environment
    functions: tuple[FunctionResult, ...]
    diagnostics: tuple[Diagnostic, ...]
    problems: tuple[str, ...]
    sources: dict[str, SourceFile]
    troubled: bool = False
    fixed: tuple[Applied, ...] = ()
    diff: str = ""

    @property
    def status(self) -> int:
        """The exit status of the contract: 1 for breaks, 2 where something could not be analysed and nothing was found, else 0."""
        if any(diagnostic.kind in _COUNTING and diagnostic.is_shown for diagnostic in self.diagnostics):
            return 1
        unknown = any(function.outcome is not Outcome.TRACED for function in self.functions)
        return 2 if unknown or (self.troubled and not self.functions) else 0


def check(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    missing = [path for path in options.paths if not exists(path)]
    if missing:
        print(f"graphbreak: there is no {missing[0]}", file=sys.stderr)
        return 2
    try:
        result = _result(options)
    except (BaselineError, NotWritten) as error:
        print(f"graphbreak: {error}", file=sys.stderr)
        return 2
    if options.format == "json":
        from .json_output import print_json

        print_json(result, sys.stdout)
    else:
        from .text import print_text

        print_text(result, sys.stdout, options.color, diff=options.diff)
    return result.status


def _result(options: argparse.Namespace) -> Result:
    """Analyse, fix, and leave out what the options and the baseline leave out. Raises BaselineError and NotWritten."""
    from .baseline import BaselineFile

    written = BaselineFile(options.write_baseline) if options.write_baseline else None
    baseline = BaselineFile(options.baseline) if options.baseline and written is None else None
    known = baseline.read() if baseline is not None else Baseline()
    if written is not None:
        written.check_folder()
    settings = Settings(interpreter=options.python, timeout=options.timeout, device=options.device, permissions=permissions_of(options))
    fixed, unreadable = asyncio.run(_analyse_all(targets(options.paths), settings, options))
    problem = written_texts(fixed.texts) if options.fix and not options.diff else ""
    if problem:
        raise NotWritten(problem)
    result = merged(fixed.reports, (*unreadable, *fixed.problems))
    result = replace(result, fixed=fixed.applied, diff=unified_diff(fixed.texts) if options.diff else "")
    result = _with_choice(result, options.select, options.ignore)
    if written is not None:
        known = written.of(result)
        written.write(known)
        count = len(known.entries)
        print(f"graphbreak: wrote {count} entr{'y' if count == 1 else 'ies'} to {written.path}", file=sys.stderr)
    used = written or baseline
    return used.applied(known, result) if used is not None else result


async def _analyse_all(files: Sequence[Target], settings: Settings, options: argparse.Namespace) -> tuple[Fixed, list[str]]:
    engine = Engine()
    turn = asyncio.Semaphore(options.jobs)
    unreadable: list[str] = []

    roots = tuple(dict.fromkeys(folder for file in files for folder in workspace_of(file.path)))
    projects = ProjectReader(roots)
    if options.allow_project_permissions:
        for wish in {projects(file.path).wish for file in files}:
            grant(wish)

    async def one(file: Target) -> Analysed | None:
        source = read_source(file.path)
        if source is None:
            unreadable.extend([f"{file.path} cannot be read as Python text."] if file.named else [])
            return None
        if not file.named and not _concerns_us(source, projects(file.path)):
            return None
        async with turn:
            request = replace(request_for(source, settings, file.named), entries=file.entries)
            report = await engine.analyse(request, lambda sentence: None)
            return request, await engine.try_fixes(request, report) if options.try_fixes else report

    try:
        analysed = [pair for pair in await asyncio.gather(*map(one, files)) if pair is not None]
        entries = entry_files(files, [report for _, report in analysed], projects, roots)
        run = {request.source.path for request, _ in analysed}
        others = dict.fromkeys(path for found in entries.values() for path in found if path not in run)
        analysed += [pair for pair in await asyncio.gather(*(one(Target(path, True)) for path in others)) if pair is not None]
        if options.fix or options.diff:
            fixed = await fix_files(engine, analysed, _choice(options, {file.path for file in files} if others else set()))
        else:
            fixed = Fixed(tuple(report for _, report in analysed))
    finally:
        await engine.close()
    return replace(fixed, reports=told(fixed.reports, {file.path for file in files}, entries)), unreadable


def _choice(options: argparse.Namespace, only: set[str]) -> Choice:
    """Which fixes the options ask for: only of what they leave in, and where programs were run in behalf of some files `only` in these."""
    safety = Safety.CHANGES_BEHAVIOUR if options.unsafe_fixes else Safety.SAFE

    def wanted(found: Diagnostic) -> bool:
        return not found.ignored and not _is_out(found.code, options.select, options.ignore) and (not only or found.path in only)

    return Choice(safety, wanted)


def _concerns_us(source: SourceFile, project: ProjectSettings) -> bool:
    marks = find_marks(source, project.examples_of(source.path))
    return bool(marks.marks or marks.stray or project.entries_of(source.path))


def request_for(source: SourceFile, settings: Settings, named: bool) -> AnalysisRequest:
    """The request for a file on the command line: its workspace is the working directory, or its own folder outside of that."""
    roots = workspace_of(source.path)
    return AnalysisRequest(source, roots[-1], roots, settings, run_unmarked=named)


def workspace_of(path: str) -> tuple[str, ...]:
    """The workspace folders of a file on the command line, the one that it lies in last."""
    here, folder = os.getcwd(), os.path.dirname(path)
    inside = path.startswith(here.rstrip(os.sep) + os.sep)
    return (here,) if inside else (here, folder)


def merged(reports: Sequence[Report], problems: Sequence[str] = ()) -> Result:
    """Several reports as one: a function that two files reach has one row, and what one file could not show another may have shown."""
    reports = without_outdone(reports)
    rows: dict[tuple[object, ...], FunctionResult] = {}
    for report in reports:
        for row in report.functions:
            key = (row.mark_path, row.mark_span, row.path if row.outcome is Outcome.TRACED else "", row.name)
            if key not in rows or rows[key].outcome is not Outcome.TRACED:
                rows[key] = row
    traced = {(row.mark_path, row.mark_span) for row in rows.values() if row.outcome is Outcome.TRACED}
    functions = [row for row in rows.values() if row.outcome is Outcome.TRACED or (row.mark_path, row.mark_span) not in traced]
    known = {not_analysed_id(row) for row in functions if row.outcome is not Outcome.TRACED}
    diagnostics: dict[tuple[object, ...], Diagnostic] = {}
    found = (diagnostic for report in reports for diagnostic in report.diagnostics)
    for diagnostic in sorted(still_unused(found, (report.used_ignores for report in reports)), key=lambda one: one.guessed):
        same = (diagnostic.id, diagnostic.path, diagnostic.span, diagnostic.kind)
        if diagnostic.kind is Kind.NOT_ANALYSED and diagnostic.functions and diagnostic.id not in known:
            continue
        other = diagnostics.get(same)
        names = tuple(dict.fromkeys((*other.functions, *diagnostic.functions))) if other else diagnostic.functions
        diagnostics[same] = replace(other or diagnostic, functions=names)
    return Result(
        merged_environment([report.environment for report in reports]),
        tuple(sorted(functions, key=lambda row: (row.mark_path, row.mark_span, row.name))),
        tuple(by_cost(list(diagnostics.values()))),
        (*problems, *dict.fromkeys(sentence for report in reports for sentence in report.problems)),
        {path: source for report in reports for path, source in report.sources.items()},
        bool(problems) or any(set(report.problems) - set(report.settings_problems) for report in reports),
    )


def _with_choice(result: Result, select: Sequence[str], ignore: Sequence[str]) -> Result:
    """Mark what `--select` leaves out and `--ignore` names as ignored."""
    diagnostics = (replace(found, ignored=found.ignored or _is_out(found.code, select, ignore)) for found in result.diagnostics)
    return replace(result, diagnostics=tuple(diagnostics))


def _is_out(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    return (bool(select) and code.upper() not in select) or code.upper() in ignore
