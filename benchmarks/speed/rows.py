"""One line of the results, and the few statistics that it needs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One figure. `unit` is `x` for a ratio of two things measured in turns, else `ms`, `MB` or `%`.

    `limit` is what it may be at most, None where it only informs. `low` and `high` are the quartiles (of a p99: the median and the
    largest). `beside` says what was measured, and what it is compared with, in absolute terms. `problem` is why there is no figure.
    """

    figure: str
    measured: float | None
    unit: str = "x"
    limit: float | None = None
    n: int = 0
    low: float = 0.0
    high: float = 0.0
    beside: str = ""
    problem: str = ""
    beyond: float | None = None
    """A limit that is for another figure, and that this one does not keep to: it is not held to it, and the page says so."""

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, `FAILED` (there is no figure) or nothing (there is no limit)."""
        if self.measured is None:
            return "FAILED"
        return "" if self.limit is None else "ok" if self.measured <= self.limit else "MISSED"

    def as_json(self) -> str:
        """On one line, for `from_json`."""
        return json.dumps(asdict(self))


def from_json(line: str) -> Row:
    """A row that was written by `as_json`."""
    return Row(**json.loads(line))


def ratio_row(figure: str, ours: Sequence[float], theirs: Sequence[float], limit: float | None, words: str, extra: float = 0.0) -> Row:
    """Ours in multiples of theirs, both in seconds and measured in turns: the median of the pairs.

    `extra` seconds of ours are free of charge: the limit is raised by what they are worth. `words` names both, as in `a save / a trace`.
    """
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    allowed = None if limit is None else limit + extra / statistics.median(theirs)
    one, other = words.split(" / ")
    beside = f"{one} {seconds(statistics.median(ours))}, {other} {seconds(statistics.median(theirs))}"
    return Row(figure, statistics.median(ratios), "x", allowed, len(ratios), *quartiles(ratios), beside)


def tail_row(figure: str, times: Sequence[float], limit: float, beside: str) -> Row:
    """The 99th percentile of many times in seconds, in milliseconds."""
    ordered = sorted(time * 1000 for time in times)
    return Row(figure, percentile(ordered, 99), "ms", limit, len(ordered), statistics.median(ordered), ordered[-1], beside)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value that so many percent of an ascending list are at or below."""
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * percent // 100) - 1).__int__())]


def quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    """The first and the third of an ascending list."""
    return percentile(ordered, 25), percentile(ordered, 75)


def seconds(value: float) -> str:
    """A time in the unit that suits it."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
