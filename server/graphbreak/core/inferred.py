"""Inputs that were guessed: which marks they are for, what they leave unknown, and how results from them are told from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..worker.protocol import ExampleCall, Inferred, Job
from .findings import Diagnostic, Kind, Outcome
from .functions import DISABLED_ABOVE, Traced
from .marks import Directive, Mark
from .requests import AnalysisRequest

SOURCE = "inferred"
"""The name of the source."""
GUESSED = "Seen with guessed inputs."
"""What a diagnostic ends with that no call of the user's own showed."""
_UNCALLED = (Outcome.NOT_REACHED, Outcome.RAISED, Outcome.TIMED_OUT)


def left_over(request: AnalysisRequest, rows: Sequence[Traced], stray: Sequence[Directive]) -> list[Mark]:
    """The marks of the request's file that its runs did not come to; none where only other programs were asked for.

    One with an example call has been shown as its user wants, or has its error, be it that of a comment that is not one yet (`stray`).
    """
    if request.entries:
        return []
    rows = [row for row in rows if row.result.mark_path == request.source.path and request.only in ("", row.result.name)]
    shown = {row.mark for row in rows if not _is_unknown(row)}
    found = dict.fromkeys(row.mark for row in rows if row.mark is not None and row.mark not in shown)
    written = {directive.target_line for directive in stray}
    return [mark for mark in found if written.isdisjoint(range(mark.span.start.line, mark.line + 1))]


def _is_unknown(row: Traced) -> bool:
    result = row.result
    asked = row.mark is not None and row.mark.directives
    return result.outcome in _UNCALLED and not result.inputs and not result.graphs and result.detail != DISABLED_ABOVE and not asked


def combined(rows: Sequence[Traced], guessed: Sequence[Traced]) -> tuple[list[Traced], list[Traced]]:
    """The rows of the runs before and those of the guesses, where each mark is said once: by what is known most about it."""
    found = {row.mark: row for row in guessed if row.mark is not None}
    kept, better = [], [row for row in guessed if row.result.outcome is Outcome.TRACED or row.result.inputs]
    for row in rows:
        guess = found.get(row.mark) if row.mark is not None else None
        if guess is None or not _is_unknown(row) or (guess not in better and guess.result.outcome not in _WITH_WHY):
            kept.append(row)
        elif guess not in better:
            why = f"{row.result.detail}, and {guess.result.detail}"
            kept.append(replace(row, result=replace(row.result, outcome=guess.result.outcome, detail=why)))
    return kept, better


_WITH_WHY = (Outcome.NO_INPUTS, Outcome.NOT_REACHED)


def settled_job(job: Job, found: Sequence[Inferred]) -> Job | None:
    """The job with the calls that were found in the place of its guesses, to be done again with the same inputs; None if there are none."""
    if not job.guesses:
        return job
    guesses = [(answer, job.guesses[answer.guess]) for answer in found if answer.expression]
    calls = [
        ExampleCall(
            answer.expression, guess.mark.line, guess.mark.column or 0, answer.compile_path, guess.fullgraph, guess.dynamic, guess.mark.file
        )
        for answer, guess in guesses
    ]
    return replace(job, guesses=[], calls=calls) if calls else None


def as_guessed(diagnostic: Diagnostic) -> Diagnostic:
    """The same diagnostic, which says that its inputs were guessed."""
    if diagnostic.kind is Kind.NOT_ANALYSED:
        return diagnostic
    message = diagnostic.message.rstrip()
    end = "" if message.endswith((".", "…", "!", "?")) else "."
    return replace(diagnostic, message=f"{message}{end} {GUESSED}", guessed=True)
