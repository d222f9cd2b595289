"""`check --fix` and `--diff`: the fixes that help, file after file, and what they make of the texts."""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core.differences import edits_between, lines_of
from ..core.findings import Report, Safety
from ..core.fixall import Applied, Choice, changed_texts
from ..core.requests import AnalysisRequest
from ..core.source import SourceFile
from ..core.trials import harm
from ..tracer.engine import Engine
from ..tracer.files import read_source, write_source
from .paths import shown_path

Analysed = tuple[AnalysisRequest, Report]


@dataclass(frozen=True)
class Fixed:
    """What was fixed: the files as they were and as they are to be, by path; `reports` speak of the latter."""

    reports: tuple[Report, ...]
    applied: tuple[Applied, ...] = ()
    texts: Mapping[str, tuple[SourceFile, SourceFile]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


async def fix_files(engine: Engine, files: Sequence[Analysed], choice: Choice) -> Fixed:
    """Fix what helps in some files that were analysed, one after another, since they may share helpers. Nothing is written."""
    return await _Fixing(engine, files, choice).run()


class _Fixing:
    def __init__(self, engine: Engine, files: Sequence[Analysed], choice: Choice) -> None:
        self._engine = engine
        self._choice = choice
        self._files = list(files)
        self._applied: list[Applied] = []
        self._texts: dict[str, tuple[SourceFile, SourceFile]] = {}
        self._problems: list[str] = []

    async def run(self) -> Fixed:
        for index in range(len(self._files)):
            await self._fix(index)
        return Fixed(tuple(report for _, report in self._files), tuple(self._applied), self._texts, tuple(self._problems))

    async def _fix(self, index: int) -> None:
        request, report = self._files[index]
        work = self._engine.fix_all(request, report, self._choice)
        if sys.stderr.isatty():  # each trial takes as long as a trace, and there may be many
            work.say = lambda title: print(f"graphbreak: trying {shown_path(request.source.path)}: {title}", file=sys.stderr)
        state = await work.run()
        self._files[index] = (state.request, work.shown(state))
        changes = changed_texts(work.original, state)
        if not changes:
            return
        others = await self._others(index, changes, all(applied.fix.safety is Safety.SAFE for applied in state.applied))
        if others is None:
            self._files[index] = (request, report)
            return
        for number, analysed in others.items():
            self._files[number] = analysed
        for path, (old, new) in changes.items():
            self._texts[path] = (self._texts.get(path, (old, new))[0], new)
        self._applied += state.applied

    async def _others(self, index: int, changes: Mapping[str, tuple[SourceFile, SourceFile]], quiet: bool) -> dict[int, Analysed] | None:
        """The other files that a change concerns, analysed with it; None if one is worse for it. `quiet` is as in `harm`."""
        found: dict[int, Analysed] = {}
        for number, (request, report) in enumerate(self._files):
            if number == index or not any(path in report.sources for path in changes):
                continue
            texts = {path: new.text for path, (_, new) in changes.items()}
            own = replace(request.source, text=texts.pop(request.source.path, request.source.text))
            after_request = replace(request, source=own, overlay={**request.overlay, **texts})
            after = await self._engine.analyse(after_request, lambda sentence: None)
            edits = {path: edits_between(old, new) for path, (old, new) in changes.items()}
            compare = functools.partial(self._engine.compare, request)
            if problem := await harm(report, after, edits, quiet, compare):
                names = ", ".join(shown_path(path) for path in changes if path != self._files[index][0].source.path)
                self._problems.append(f"Fixes of {names} were left out, since {shown_path(request.source.path)} uses it too: {problem}.")
                return None
            found[number] = (after_request, after)
        return found


def written_texts(texts: Mapping[str, tuple[SourceFile, SourceFile]]) -> str:
    """Write all files, or none where one has been changed meanwhile: a sentence, empty when all is done."""
    for old, _ in texts.values():
        if read_source(old.path) != old:
            return f"{shown_path(old.path)} has been changed since it was traced, so nothing was written."
    return next((problem for old, new in texts.values() if (problem := write_source(old, new.text))), "")


def unified_diff(texts: Mapping[str, tuple[SourceFile, SourceFile]]) -> str:
    """The changes as `patch` reads them, with paths from the working directory."""
    parts = []
    for path, (old, new) in texts.items():
        name = shown_path(path)
        for line in difflib.unified_diff(lines_of(old.text), lines_of(new.text), name, name):
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)
