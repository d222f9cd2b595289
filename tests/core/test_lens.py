"""What the row above a marked function says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphbreak.core.findings import FunctionResult, InputSet, Outcome
from graphbreak.core.lens import title
from graphbreak.core.source import Span

F = FunctionResult(
    "/a.py", "f", 1, "/a.py", Span.at(0, 1, 0, 14), Outcome.TRACED, graphs=3, breaks=1, inputs=(InputSet("call", "x: f32[8]"),)
)
MANY = (InputSet("directive", "x: 1"), InputSet("inferred", "x: 2"))
WITHIN = "compiled as part of another marked function that calls it"
LONG = ", ".join(f"layer_{n}: f32[8, 16]" for n in range(9))

TITLES = [
    (F, "3 graphs · 1 break · x: f32[8] (from call)"),
    (replace(F, graphs=1, breaks=0), "1 graph · no breaks · x: f32[8] (from call)"),
    (replace(F, graphs=2, breaks=1, skipped=1), "2 graphs · 2 breaks · x: f32[8] (from call)"),
    (replace(F, graphs=2, breaks=0, recompiles=1), "2 graphs, 1 of them a recompile · no breaks · x: f32[8] (from call)"),
    (replace(F, graphs=3, breaks=0, recompiles=2), "3 graphs, 2 of them recompiles · no breaks · x: f32[8] (from call)"),
    (replace(F, graphs=0, breaks=1, skipped=1, provisional=True), "2 breaks so far · x: f32[8] (from call)"),
    (replace(F, graphs=0, breaks=0, skipped=1), "runs eagerly · x: f32[8] (from call)"),
    (replace(F, graphs=0, breaks=1, fullgraph=True), "0 graphs · 1 break · x: f32[8] (from call)"),
    (replace(F, inputs=MANY), "3 graphs · 1 break · x: 2 (a guess) and 1 more set"),
    (replace(F, inputs=(InputSet("call", ""),)), "3 graphs · 1 break · no arguments (from call)"),
    (replace(F, graphs=0, breaks=0, inputs=(), detail=WITHIN), WITHIN),
    (replace(F, outcome=Outcome.TIMED_OUT, detail="stopped after 60 s"), "3 graphs · 1 break · x: f32[8] (from call) · stopped after 60 s"),
    (replace(F, outcome=Outcome.NOT_REACHED, graphs=0, breaks=0, detail="nothing calls it."), "not analysed: nothing calls it"),
    (
        replace(F, outcome=Outcome.NO_ENVIRONMENT, graphs=0, breaks=0, detail="There is no torch in /p."),
        "not analysed: no Python with torch",
    ),
    (replace(F, outcome=Outcome.RAISED, graphs=0, breaks=0, detail="a" * 300 + "\nb"), f"not analysed: {'a' * 99}…"),
    (replace(F, outcome=Outcome.CANCELLED, graphs=0, breaks=0), "not analysed: cancelled"),
]


@pytest.mark.parametrize(("function", "said"), TITLES)
def test_titles(function: FunctionResult, said: str) -> None:
    assert title(function) == said


def test_breaks_that_were_asked_for_are_counted_by_themselves() -> None:
    assert title(replace(F, inputs=()), 2) == "3 graphs · 1 break, 2 intended breaks"
    assert title(replace(F, breaks=0, inputs=()), 1) == "3 graphs · 1 intended break"


def test_long_inputs_are_cut() -> None:
    said = title(replace(F, inputs=(InputSet("call", LONG),)))
    assert said.endswith("… (from call)")
    assert len(said) < 110
