"""Fixes applied one after another until none helps any more, each tried on the text that the ones before it left.

New breaks come to light behind those that are gone, so a step may leave as many as there were; what counts in the end is the last state
with fewer. That is compared with the original once more, as a whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..worker.protocol import Compared, Job
from .cost import by_cost
from .differences import edits_between
from .findings import Diagnostic, Fix, Kind, Report, Safety, Verdict
from .judging import causes, image
from .requests import AnalysisRequest
from .source import SourceFile, Span
from .trials import Analyse, Compare, Trial, backend_for, can_remove, compare_runs, joined, try_fix, with_verdicts

TryOne = Callable[[AnalysisRequest, Report, Diagnostic, Fix, Sequence[Diagnostic]], Awaitable[Trial]]
"""Tries a fix of a diagnostic of a report, and of further diagnostics of it."""

_MOST_STEPS = 200
_ATTEMPTS = 2
"""How often a fix is tried that fails: the second time when others have been applied."""


@dataclass(frozen=True)
class Applied:
    """A fix that was applied: for which diagnostic of the text as it was then, and with which verdict.

    `line` (0-based) is where that stood in the text before any fix, as near as can be said.
    """

    diagnostic: Diagnostic
    fix: Fix
    line: int


@dataclass(frozen=True)
class State:
    """A text that some fixes led to: the request for it, its report, and the fixes in order."""

    request: AnalysisRequest
    report: Report
    applied: tuple[Applied, ...] = ()

    @property
    def count(self) -> int:
        """How much is left: causes, and recompiles."""
        return len(causes(self.report)) + sum(row.recompiles for row in self.report.functions)

    def text(self, path: str) -> SourceFile | None:
        """What a file says here."""
        if path == self.request.source.path:
            return self.request.source
        return SourceFile(path, self.request.overlay[path]) if path in self.request.overlay else self.report.sources.get(path)


@dataclass(frozen=True)
class Choice:
    """What may be applied: fixes at least as safe as `safety`, of diagnostics for which `wanted` is true."""

    safety: Safety = Safety.SAFE
    wanted: Callable[[Diagnostic], bool] = lambda diagnostic: not diagnostic.ignored
    together_first: bool = True
    """Whether all are tried at once before any has been tried alone."""


class Remembering:
    """Asks for the same report and the same comparison once: the fixes of several breaks are often one edit."""

    def __init__(self, analyse: Analyse, compare: Compare) -> None:
        self._analyse, self._compare = analyse, compare
        self._reports: dict[tuple[object, ...], Report] = {}
        self._answers: dict[str, Compared] = {}

    async def analyse(self, request: AnalysisRequest) -> Report:
        """The report of a request. All requests are those of one file with other texts."""
        key = (request.source.text, *sorted(request.overlay.items()))
        if key not in self._reports:
            self._reports[key] = await self._analyse(request)
        return self._reports[key]

    async def compare(self, job: Job) -> Compared:
        """What a job and its edited one do."""
        key = repr(job)
        if key not in self._answers:
            self._answers[key] = await self._compare(job)
        return self._answers[key]

    async def try_one(
        self, request: AnalysisRequest, before: Report, diagnostic: Diagnostic, fix: Fix, others: Sequence[Diagnostic]
    ) -> Trial:
        """Try a fix, see `try_fix`."""
        return await try_fix(request, before, diagnostic, fix, self.analyse, self.compare, others)


class FixAll:
    """All of one file. `best` is what is verified so far, at any time while `run` is at work."""

    def __init__(self, request: AnalysisRequest, report: Report, try_one: TryOne, compare: Compare, choice: Choice = Choice()) -> None:
        self._tries = try_one
        self._compare = compare
        self._choice = choice
        self._failed: dict[tuple[str, ...], tuple[int, int]] = {}
        self._granting: set[tuple[str, ...]] = set()
        self._verdicts: dict[tuple[int, str, str], Verdict] = {}
        self.say: Callable[[str], None] = lambda title: None
        """Hears the title of each fix, or of several, before it is tried."""
        self.original = State(request, report)
        self.best = self.original
        self.best_at: dict[Safety, State] = {}
        """What was reached with fixes at least that safe, for each level that is done."""

    @property
    def words(self) -> str:
        """What is reached so far, for a title."""
        before, after = self.original.count, self.best.count
        return f"removes {before - after} of {before}, outputs equal"

    async def run(self) -> State:
        """Apply what helps: the state with the fewest causes left that does the same as the original."""
        here = self.original
        for level in sorted({Safety.SAFE, self._choice.safety}, reverse=True):
            while len(here.applied) < _MOST_STEPS:
                further = await self._step(here, level)
                if further is None and here is self.best:
                    break
                if further is None:
                    here = self._back(here)
                elif further.count >= self.best.count:
                    here = further
                elif await self._is_whole(further):
                    here = self.best = further
                else:
                    for applied in further.applied[len(here.applied) :]:
                        self._fail(here, applied.diagnostic, applied.fix, _ATTEMPTS)
                    here = self.best
            self.best_at[level] = self.best
        return self.best

    def _back(self, state: State) -> State:
        """The best state, after what led away from it came to nothing: that is tried again only behind other fixes."""
        for applied in state.applied[len(self.best.applied) :]:
            self._fail(self.best, applied.diagnostic, applied.fix)
        return self.best

    async def _step(self, state: State, level: Safety) -> State | None:
        """The state after the next fixes that help, or None: all that were never tried at once, and if that is wrong one after another."""
        together = await self._all_at_once(state, level) if state.applied or self._choice.together_first else None
        if together is not None:
            return together
        for diagnostic, fix in self._candidates(state, level):
            trial = await self._trial(state, diagnostic, fix)
            self._verdicts[len(state.applied), diagnostic.id, fix.title] = trial.verdict
            if trial.helps or (trial.granting and level is not Safety.SAFE):
                safety = level if trial.granting else fix.safety
                done = replace(fix, safety=safety, verified=replace(trial.verdict, accepted=True))
                applied = Applied(diagnostic, done, self._original_line(state, diagnostic))
                return State(trial.request, trial.after, (*state.applied, applied))
            if trial.granting:
                self._granting.add(_key(state, diagnostic, fix))
            else:
                self._fail(state, diagnostic, fix)
        return None

    async def _trial(self, state: State, diagnostic: Diagnostic, fix: Fix, others: Sequence[Diagnostic] = ()) -> Trial:
        self.say(fix.title)
        return await self._tries(state.request, state.report, diagnostic, fix, others)

    async def _all_at_once(self, state: State, level: Safety) -> State | None:
        first: dict[str, tuple[Diagnostic, Fix]] = {}
        for diagnostic, fix in self._candidates(state, level):
            if _key(state, diagnostic, fix) not in self._failed:
                first.setdefault(diagnostic.id, (diagnostic, fix))
        if len(first) < 2:
            return None
        targets, fix = joined(list(first.values()))
        if len(targets) < 2:
            return None
        trial = await self._trial(state, targets[0], fix, targets[1:])
        if not trial.helps:
            return None
        fixes = [replace(first[target.id][1], verified=trial.verdict) for target in targets]
        applied = (Applied(target, one, self._original_line(state, target)) for target, one in zip(targets, fixes))
        return State(trial.request, trial.after, (*state.applied, *applied))

    def _fail(self, state: State, diagnostic: Diagnostic, fix: Fix, times: int = 1) -> None:
        key = _key(state, diagnostic, fix)
        self._failed[key] = (self._failed.get(key, (0, 0))[0] + times, len(state.applied))

    def _original_line(self, state: State, diagnostic: Diagnostic) -> int:
        old, new = self.original.text(diagnostic.path), state.text(diagnostic.path)
        place = diagnostic.span
        if old is None or new is None:
            return place.start.line
        return image(Span(place.start, place.start), edits_between(new, old)).start.line

    def shown(self, state: State) -> Report:
        """The report of a state, its fixes with what their trials on this text showed."""
        return with_verdicts(state.report, lambda found, fix: self._verdicts.get((len(state.applied), found.id, fix.title)))

    def _candidates(self, state: State, level: Safety) -> Iterator[tuple[Diagnostic, Fix]]:
        """What is worth trying, the dearest break first, consequences of others last; what failed before only on another text."""
        found = [d for d in by_cost(list(state.report.diagnostics)) if d.kind is not Kind.CALLER and self._choice.wanted(d)]
        found.sort(key=lambda diagnostic: bool(diagnostic.caused_by))
        for safety in sorted({Safety.SAFE, level}, reverse=True):
            for diagnostic in found:
                for fix in diagnostic.fixes:
                    if fix.safety is safety and can_remove(diagnostic, fix) and self._is_open(state, diagnostic, fix, level):
                        yield diagnostic, fix

    def _is_open(self, state: State, diagnostic: Diagnostic, fix: Fix, level: Safety) -> bool:
        if level is Safety.SAFE and _key(state, diagnostic, fix) in self._granting:
            return False
        attempts, steps = self._failed.get(_key(state, diagnostic, fix), (0, -1))
        return attempts == 0 or (attempts < _ATTEMPTS and steps != len(state.applied))

    async def _is_whole(self, state: State) -> bool:
        """Whether a state does what the original does, with all its fixes together; those of a single trial have been compared already."""
        if len({id(applied.fix.verified) for applied in state.applied}) == 1:
            return True
        backend = backend_for(applied.fix for applied in state.applied)
        quiet = all(applied.fix.safety is Safety.SAFE for applied in state.applied)
        compared = await compare_runs(self.original.report.jobs, state.report.jobs, backend, self._compare)
        return compared.values is True and (compared.printed is not False or not quiet)


def _key(state: State, diagnostic: Diagnostic, fix: Fix) -> tuple[str, ...]:
    """What a fix of a break is called, wherever the lines have gone meanwhile."""
    source = state.text(diagnostic.path)
    text = source.slice(diagnostic.span) if source is not None else ""
    return diagnostic.path, diagnostic.gb_type, text, fix.title


def changed_texts(first: State, last: State) -> Mapping[str, tuple[SourceFile, SourceFile]]:
    """The files that differ between two states of one request, as they were and as they are."""
    paths = {first.request.source.path, *last.request.overlay}
    pairs = ((path, first.text(path), last.text(path)) for path in sorted(paths))
    return {path: (old, new) for path, old, new in pairs if old is not None and new is not None and old.text != new.text}
