"""What two runs of a program printed and logged, compared line by line."""

from __future__ import annotations

import math
import re
from typing import Protocol

from .snapshots import without_addresses

_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*", re.MULTILINE)
_WHERE = re.compile(r"\S+\.py:\d+|\bline \d+\b")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e[-+]?\d+)?")
_HISTORY = re.compile(r"grad_fn=<\w+>")
_WARNING = re.compile(r"\w+: ")
"""How a warning begins in the log; a record has its logger's name before the colon."""
_STREAMS = (("out", "prints"), ("err", "prints to standard error"))


class Run(Protocol):
    """The notes of one run."""

    def logged(self) -> list[str]:
        """What it logged and warned of."""

    def output(self, name: str) -> str:
        """What was written to `out` or `err`."""


def difference(first: Run, second: Run, numbers: bool = True) -> str:
    """What the second run printed or logged otherwise; without `numbers`, digits count as alike."""
    for name, word in _STREAMS:
        before, after = (_words(run.output(name), numbers) for run in (first, second))
        if before != after:
            return f"it {word} something else ({_first_other(before, after)})"
    before, after = (_logged(run, numbers) for run in (first, second))
    return f"it logs something else ({_first_other(before, after)})" if before != after else ""


def compiled_difference(first: Run, second: Run, numbers: bool = True) -> str:
    """The same where the second run is compiled. It has to write the same lines in the same order; numbers in them may be off by as much
    as other arithmetic makes them. Beside these lines PyTorch may warn of what it compiles."""
    for name, word in _STREAMS:
        before, after = (_words(run.output(name), numbers) for run in (first, second))
        if name == "err":
            after = _known(after, before)
        if not _close(before, after):
            return f"it {word} something else ({_first_other(before, after)})"
    before, after = (_logged(run, numbers) for run in (first, second))
    after = _known(after, before, _WARNING)
    return f"it logs something else ({_first_other(before, after)})" if not _close(before, after) else ""


def _logged(run: Run, numbers: bool) -> list[str]:
    """Records and warnings, each as one text, however many lines it has."""
    return ["\n".join(_words(text, numbers)) for text in run.logged() if text.strip()]


def _words(text: str, numbers: bool) -> list[str]:
    """Printed lines without what an edit moves: addresses, line numbers, the frames of a traceback."""
    text = _WHERE.sub("…", _TRACEBACK.sub("", without_addresses(text.replace("\r\n", "\n"))))
    lines = (text if numbers else _NUMBER.sub("#", text)).replace("\r", "\n").split("\n")
    return [line for line in lines if line.strip()]


def _form(line: str) -> str:
    """A line without its numbers, and without the function that a gradient would come from: a graph has one of its own."""
    return _NUMBER.sub("#", _HISTORY.sub("grad_fn", line))


def _known(lines: list[str], others: list[str], kind: re.Pattern[str] = re.compile("")) -> list[str]:
    """Lines without those of a kind that no other line is like."""
    forms = {_form(line) for line in others}
    return [line for line in lines if not kind.match(line) or _form(line) in forms]


def _close(before: list[str], after: list[str]) -> bool:
    return before == after or (len(before) == len(after) and all(_alike(one, other) for one, other in zip(before, after)))


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    pairs = zip(_NUMBER.findall(_HISTORY.sub("", one)), _NUMBER.findall(_HISTORY.sub("", other)))
    return _form(one) == _form(other) and all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-6) for a, b in pairs)


def _first_other(before: list[str], after: list[str]) -> str:
    missing = [line for line in before if line not in after]
    added = [line for line in after if line not in before]
    line = (missing or added or ["in another order"])[0].strip().partition("\n")[0]
    if missing or added:
        return f"{'not ' if missing else ''}{line[:60]!r}"
    return line if len(before) == len(after) else "not as often" if len(before) > len(after) else "more often"
