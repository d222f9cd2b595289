"""A part of `benchmarks/reach`: functions and modules that nothing calls are traced, and show the breaks that their true inputs show."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness import INTERPRETER, Harness

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.reach.__main__ import is_short
from benchmarks.reach.corpus import Entry, entries
from benchmarks.reach.measure import Measured, measure

NAMES = (
    "given: 002_metrics_item",
    "given: 003_kv_cursor",
    "given: 014_gradient_penalty",
    "given: 018_annealed_step",
    "generative: denoising loop",
    "language: causal self attention with config",
    "language: beam search step",
    "language: cross attention",
    "structures: message passing on an edge list",
    "structures: tabular model with a typed batch",
    "structures: batched matrix solve",
    "training: triplet mining",
    "vision: lenet for digits",
    "vision: window partition",
    "vision: detection head",
)


@pytest.mark.parametrize("entry", [entry for entry in entries() if entry.name in NAMES], ids=lambda entry: entry.name)
def test_what_nothing_calls_is_traced_and_shows_what_true_inputs_show(harness: Harness, entry: Entry) -> None:
    found = harness.submit(measure(harness.engine, entry, INTERPRETER)).result(180)
    assert found.missed == ()
    assert (sorted(found.lost), sorted(found.extra)) == ([], [])


def test_the_corpus_is_whole() -> None:
    found = entries()
    assert len(found) >= 60
    assert len({entry.name for entry in found}) == len(found)
    assert set(NAMES) <= {entry.name for entry in found if not entry.held_out}
    for entry in found:
        compile(entry.without, entry.name, "exec")
        compile(entry.true, entry.name, "exec")
        assert len(entry.without) < len(entry.true)


@pytest.mark.parametrize(
    ("traced", "same", "short"), [(20, 20, False), (18, 18, False), (17, 17, True), (20, 19, False), (20, 18, True), (0, 0, True)]
)
def test_the_benchmark_fails_below_what_is_asked_for(traced: int, same: int, short: bool) -> None:
    entry = entries()[0]
    lost = frozenset([("main.py", 1, 0, "a break")])
    found = [
        Measured(entry, 1, () if index < traced else ("f: no-inputs",), frozenset() if index < same else lost, frozenset(), (), 0.0)
        for index in range(20)
    ]
    assert is_short(found) is short
