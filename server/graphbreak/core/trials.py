"""A fix is tried: its edits go into a copy, that is traced with the same inputs, and what it computes is compared with the original.

`try_fix` is given the two things that reach outside: an analysis, and a comparison of two jobs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..worker.protocol import Compared, Job
from .assumed import assumed
from .findings import Diagnostic, Fix, Kind, Report, Safety, Verdict
from .judging import COUNTED, Change, Edits, causes, changed, lost_function, lost_operations
from .requests import AnalysisRequest
from .source import Edit, Span

Analyse = Callable[[AnalysisRequest], Awaitable[Report]]
Compare = Callable[[Job], Awaitable[Compared]]
"""Runs a job that has an `edited` one; never raises for what user code does."""

ADMITTING_BACKEND = "aot_eager"
"""What compiles the graphs of a fix that lets more into them than the code says."""
DYNAMO_ALONE = "eager"
"""What runs the graphs of any other fix as they are: what Dynamo itself leaves out or puts off shows."""

_TRIED = frozenset({Kind.BREAK, Kind.SKIPPED, Kind.RECOMPILE, Kind.INTENDED, Kind.RAISED})
_NEVER_TRIED = "ignore"
"""The family of fixes that change comments only."""
_BOUNDARIES = "disable"
"""The family of fixes that make a break an intended one, and so never remove one."""
_IN_ORDER = frozenset({"move out", "reorder output"})
"""The families of fixes that do something at another place or time, and must not change what is done, nor in which order."""


@dataclass(frozen=True)
class Trial:
    """What came of trying a fix. `after` is the report of the edited text, `request` the one that asked for it.

    `helps` says that the break is gone and nothing is worse, though others may have come to light behind it; `granting`, that this would
    be so, but for what the graphs take for granted, see `assumed`: it is none that does the same as before.
    """

    verdict: Verdict
    request: AnalysisRequest
    after: Report
    helps: bool = False
    granting: bool = False
    change: Change = field(default_factory=Change)


def can_be_tried(diagnostic: Diagnostic, fix: Fix) -> bool:
    """Whether there is anything to try: the fix changes code, and the diagnostic is of a kind that a trace shows."""
    return diagnostic.kind in _TRIED and fix.family != _NEVER_TRIED and fix.safety is not Safety.DISPLAY and bool(fix.edits)


def can_remove(diagnostic: Diagnostic, fix: Fix) -> bool:
    """Whether a trial can show that a fix leaves fewer breaks."""
    return can_be_tried(diagnostic, fix) and fix.family != _BOUNDARIES


def is_removal(fix: Fix, safety: Safety = Safety.SAFE) -> bool:
    """Whether a fix was tried, is at least that safe, and leaves fewer causes: what may be applied unseen."""
    verdict = fix.verified
    return verdict is not None and verdict.accepted and verdict.removes and fix.safety >= safety


def shown_title(diagnostic: Diagnostic, fix: Fix) -> str:
    """The title of a fix with what its trial showed."""
    if fix.verified is not None:
        return f"{fix.title} — {fix.verified.summary}"
    return f"{fix.title} (not tried yet)" if can_be_tried(diagnostic, fix) else fix.title


def in_order(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Fixes as they are shown: those that remove a break, the other ones that work, untried ones, and last those that do not work."""

    def rank(fix: Fix) -> int:
        if fix.verified is None:
            return 2
        return (0 if fix.verified.removes else 1) if fix.verified.accepted else 3

    return tuple(sorted(fixes, key=rank))


async def with_trials(report: Report, try_one: Callable[[Diagnostic, Fix], Awaitable[Trial]]) -> Report:
    """The report with a verdict on each of its fixes that can be tried, one after another."""
    verdicts = {}
    for diagnostic in report.diagnostics:
        for fix in diagnostic.fixes:
            if can_be_tried(diagnostic, fix):
                verdicts[diagnostic.id, fix.title] = (await try_one(diagnostic, fix)).verdict
    return with_verdicts(report, lambda diagnostic, fix: verdicts.get((diagnostic.id, fix.title)))


def with_verdicts(report: Report, verdict: Callable[[Diagnostic, Fix], Verdict | None]) -> Report:
    """The report with the verdicts that there are, the fixes of each diagnostic in the order in which they are then shown."""
    diagnostics = []
    for found in report.diagnostics:
        fixes = (replace(fix, verified=verdict(found, fix) or fix.verified) for fix in found.fixes)
        diagnostics.append(found.with_fixes(in_order(fixes)))
    return replace(report, diagnostics=tuple(diagnostics))


def without_verdicts(report: Report) -> Report:
    """The report as if none of its fixes had been tried; their order stays."""
    found = (one.with_fixes(tuple(replace(fix, verified=None) for fix in one.fixes)) for one in report.diagnostics)
    return replace(report, diagnostics=tuple(found))


def edited(request: AnalysisRequest, report: Report, edits: Edits) -> AnalysisRequest:
    """The same request for the text after some edits of what the report speaks of."""
    texts = {path: report.sources[path].apply(group).text for path, group in edits.items()}
    own = texts.pop(request.source.path, request.source.text)
    return replace(request, source=replace(request.source, text=own), overlay={**request.overlay, **texts})


def joined(pairs: Sequence[tuple[Diagnostic, Fix]]) -> tuple[list[Diagnostic], Fix]:
    """Fixes of several diagnostics as one, without those whose edits get in each other's way; the same edit is made once."""
    edits: dict[str, tuple[Edit, ...]] = {}
    taken: list[tuple[Diagnostic, Fix]] = []
    for diagnostic, fix in pairs:
        new = {path: tuple(edit for edit in group if edit not in edits.get(path, ())) for path, group in fix.edits.items()}
        if not any(_collide(one.span, other.span) for path, group in new.items() for one in group for other in edits.get(path, ())):
            edits.update((path, (*edits.get(path, ()), *group)) for path, group in new.items())
            taken.append((diagnostic, fix))
    fixes = [fix for _, fix in taken]
    title = "; ".join(dict.fromkeys(fix.title for fix in fixes))
    freed = tuple(place for fix in fixes for place in fix.freed)
    family = next((f.family for f in fixes if f.family in _IN_ORDER), "")
    fix = Fix(title, min(f.safety for f in fixes), edits, admits=any(f.admits for f in fixes), family=family, freed=freed)
    return [diagnostic for diagnostic, _ in taken], fix


def _collide(one: Span, other: Span) -> bool:
    """Whether two edits replace the same text, or one puts text in where the other begins or ends."""
    if one.start == one.end or other.start == other.end:
        return one.touches(other)
    return one.start < other.end and other.start < one.end


async def try_fix(
    request: AnalysisRequest,
    before: Report,
    diagnostic: Diagnostic,
    fix: Fix,
    analyse: Analyse,
    compare: Compare,
    others: Sequence[Diagnostic] = (),
) -> Trial:
    """Try a fix of a diagnostic of `before`, which is the report of `request`; `others` are further ones that it is for."""
    after_request = edited(request, before, fix.edits)
    after = await analyse(after_request)
    change = changed(before, after, fix.edits)
    numbers = len(causes(before)), len(causes(after))
    problem = next((why for one in (diagnostic, *others) if (why := _problem(before, after, one, fix, change))), "")
    if problem:
        return Trial(_failed(numbers, problem), after_request, after, change=change)
    compared = await compare_runs(before.jobs, after.jobs, backend_for((fix,)), compare)
    return _judged(before, after, fix, change, numbers, compared, after_request)


def backend_for(fixes: Iterable[Fix]) -> str:
    """What the edited program is compiled with where it is compared."""
    return ADMITTING_BACKEND if any(fix.admits for fix in fixes) else DYNAMO_ALONE


def _keeps_words(fix: Fix) -> bool:
    """Whether a fix promises that what is printed and logged stays as it is."""
    return fix.safety is Safety.SAFE or fix.family in _IN_ORDER


async def compare_runs(before: Sequence[Job], after: Sequence[Job], backend: str, compare: Compare) -> Compared:
    """What became of all runs of a file; the worst of them is the answer."""
    if not before or len(before) != len(after):
        return Compared(None, None, 0, "the file is not run in the same ways")
    found = []
    for one, other in zip(before, after):
        found.append(await compare(replace(one, edited=other, backend=backend)))
        if found[-1].values is False:
            return found[-1]
    telling = [answer for answer in found if answer.calls] or found  # a run that calls nothing marked says nothing
    worst = next((answer for answer in telling if answer.values is None), next((a for a in found if a.printed is False), telling[0]))
    return replace(
        worst, values=None if any(answer.values is None for answer in telling) else True, calls=sum(answer.calls for answer in found)
    )


async def harm(before: Report, after: Report, edits: Edits, quiet: bool, compare: Compare) -> str:
    """What is worse in a file after edits that were made for the sake of another one, in words; empty where nothing is. `quiet` says that
    they are safe, so that what is printed and logged has to stay as well."""
    change = changed(before, after, edits)
    worse = lost_function(before, after) or _more_problems(before, after)
    if worse or change.made or len(causes(after)) > len(causes(before)):
        return worse or "it makes other breaks"
    compared = await compare_runs(before.jobs, after.jobs, DYNAMO_ALONE, compare)
    if compared.values is False:
        return f"the outputs differ: {compared.reason}"
    return compared.reason if quiet and compared.printed is False else ""


def _problem(before: Report, after: Report, diagnostic: Diagnostic, fix: Fix, change: Change) -> str:
    """Why the trace alone shows that this is no fix; empty where it does not."""
    still = change.moved.get(diagnostic.id)
    worse = lost_function(before, after)
    if worse:
        return worse
    if _more_problems(before, after):
        return _more_problems(before, after)
    rarer = diagnostic.kind is Kind.RECOMPILE and _recompiles(after) < _recompiles(before)
    if still is not None and not rarer:
        return "the break is still there"
    moved = [found for found in change.made if found.kind in (Kind.BREAK, Kind.SKIPPED) and found.gb_type == diagnostic.gb_type]
    if moved:
        return f"the break is still there, now in line {moved[0].span.start.line + 1}"
    failures = [found for found in (*change.made, *change.revealed) if found.kind is Kind.RAISED]
    if failures:
        return f"it fails: {_first_line(failures[0])}"
    new = [found for found in change.made if found.kind in (Kind.BREAK, Kind.SKIPPED)]
    if new:
        return f"it makes another break ({new[0].code} in line {new[0].span.start.line + 1})"
    return _lost(before, after, diagnostic, fix, change)


def _lost(before: Report, after: Report, diagnostic: Diagnostic, fix: Fix, change: Change) -> str:
    recompiles = sum(row.recompiles for row in after.functions) - sum(row.recompiles for row in before.functions)
    if recompiles > 0 or (recompiles == 0 and diagnostic.kind is Kind.RECOMPILE):
        return "it is compiled again for other inputs" if recompiles else "it is compiled as often as before"
    concerned = [row for row in after.functions if row.name in diagnostic.functions or not diagnostic.functions]
    if concerned and not any(row.graphs for row in concerned):
        return "nothing is compiled"
    lost = lost_operations(before, after, fix.edits, fix.freed)
    return f"{lost} operation{'' if lost == 1 else 's'} fewer would be captured" if lost > 0 else ""


def _more_problems(before: Report, after: Report) -> str:
    new = [sentence for sentence in after.problems if sentence not in before.problems]
    return new[0].rstrip(".") if len(after.problems) > len(before.problems) and new else ""


def _judged(
    before: Report,
    after: Report,
    fix: Fix,
    change: Change,
    numbers: tuple[int, int],
    compared: Compared,
    request: AnalysisRequest,
) -> Trial:
    """The verdict on a fix that the trace has nothing against."""
    if compared.values is False:
        return Trial(_failed(numbers, f"the outputs differ: {compared.reason}", False), request, after, change=change)
    if compared.printed is False and _keeps_words(fix):
        return Trial(_failed(numbers, compared.reason, True), request, after, change=change)
    intended = [found for found in change.made if found.kind is Kind.INTENDED]
    fewer = numbers[1] < numbers[0] or _recompiles(after) < _recompiles(before)
    summary = _summary(before, after, change, numbers, bool(intended))
    if compared.values is None:
        words = f"the outputs cannot be compared: {compared.reason}"
        return Trial(Verdict(*numbers, None, False, words, f"{summary}, outputs not compared"), request, after, change=change)
    summary += ", outputs equal"
    asked = assumed(before, after) if fix.safety is Safety.SAFE else ""
    if asked:
        reason = f"compiled code would raise where `{asked}` does not hold"
        verdict = Verdict(*numbers, True, False, reason, f"{summary}, {reason}", fewer)
        return Trial(verdict, request, after, granting=True, change=change)
    reason = "" if fewer or intended else f"it only lays bare {_count(len(change.revealed), 'further break')} behind this one"
    verdict = Verdict(*numbers, True, not reason, reason, summary, fewer)
    return Trial(verdict, request, after, helps=not intended, change=change)


def _summary(before: Report, after: Report, change: Change, numbers: tuple[int, int], intended: bool) -> str:
    """What is said behind the title of a fix that works."""
    gone = sum(found.kind in COUNTED for found in change.gone)
    revealed = sum(found.kind in COUNTED for found in change.revealed)
    if intended and numbers[0] == numbers[1]:
        words = "makes the break an intended one"
    elif gone:
        words = f"removes {gone} of {_count(numbers[0], 'break')}"
    else:
        words = f"removes {_recompiles(before) - _recompiles(after)} of {_count(_recompiles(before), 'recompile')}"
    return words + (f", lays bare {_count(revealed, 'further one')}" if revealed else "")


def _failed(numbers: tuple[int, int], reason: str, same: bool | None = None) -> Verdict:
    return Verdict(*numbers, same, False, reason, f"tried: {reason}", failed=True)


def _recompiles(report: Report) -> int:
    return sum(row.recompiles for row in report.functions)


def _first_line(diagnostic: Diagnostic) -> str:
    return diagnostic.message.partition("\n")[0]


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
