"""What graphs take for granted of sizes and numbers that depend on data: they raise where it does not hold.

Most of that eager code needs as well: that a size lies within bounds, can be divided by another (`view`), or that parts make up a whole
(`split`). Not so that two sizes are equal that meet in an operation, since eager code expands one that is 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..worker.protocol import ASSERTED
from .findings import Graph, Report

_NEEDED = re.compile(r"Mod\(|//|, 1\)$")
_SUM = re.compile(r"Eq\(\w+( \+ \w+)+, \w+\)")


def assumed(before: Report, after: Report) -> str:
    """An equality that the compiled code of `after` takes for granted, and neither that of `before` nor eager code; empty without one."""
    known = set(_equalities(before))
    return next((text for text in _equalities(after) if text not in known), "")


def _equalities(report: Report) -> Iterator[str]:
    for row in report.functions:
        for graph in row.graph_list:
            yield from _of_graph(graph)


def _of_graph(graph: Graph) -> list[str]:
    names = [op.name for op in graph.ops]
    texts = [name.removeprefix(ASSERTED) for name in names if name.startswith((ASSERTED + "Eq(", ASSERTED + "Ne("))]
    splits = sum("split" in name for name in names)
    sums = [text for text in texts if _SUM.fullmatch(text)]
    wholes = sums if len(sums) <= splits else []
    return [text for text in texts if text not in wholes and not _NEEDED.search(text)]
