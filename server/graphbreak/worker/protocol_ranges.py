"""What a recorded sample says of the values of a tensor: `range`, the least and the greatest, and beside it `also`, the few that lie apart.

Labels and indices have such values: -100 or 255 for what a loss is to ignore, -1 for padding. What lies between them and the others was
never there. Whoever records and whoever keeps what was recorded put two samples together by the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEYS = frozenset({"range", "also"})
MOST_APART = 4
"""So many values may lie apart; where more are below 0, the numbers are signed ones, and have a range as any others."""


def is_tensor(sample: Mapping[str, Any]) -> bool:
    """Whether an object is the sample of a tensor, not what a program has under names of its own."""
    return isinstance(sample.get("tensor"), str)


def put_together(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The `range` and `also` of two samples of the same form; empty where one of them says nothing of its values."""
    if not (KEYS & one.keys() and KEYS & other.keys()):
        return {}
    ranges = [sample["range"] for sample in (one, other) if "range" in sample]
    if any(high is None for _, high in ranges):
        return {"range": [min(low for low, _ in ranges), None]}
    ends = [end for limits in ranges for end in limits]
    apart = sorted({*one.get("also", ()), *other.get("also", ())})
    if min(ends, default=0) < 0:
        ends, apart = ends + apart, []
    if len(apart) > MOST_APART:
        ends, apart = ends + [value for value in apart if value >= 0], [value for value in apart if value < 0]
    if len(apart) > MOST_APART:
        ends, apart = ends + apart, []
    return said(ends, apart)


def said(ends: list[int], apart: list[int]) -> dict[str, Any]:
    """`range` from the numbers that it has to hold, and `also` with those that it does not hold anyway."""
    found: dict[str, Any] = {"range": [min(ends), max(ends)]} if ends else {}
    apart = [value for value in apart if not ends or not min(ends) <= value <= max(ends)]
    return {**found, "also": apart} if apart else found


def is_older(kept: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a range was written when what lies apart was not told from the rest: it begins with what is known to lie apart by now."""
    return "range" in kept and "also" not in kept and kept["range"][0] < 0 and kept["range"][0] in new.get("also", ())
