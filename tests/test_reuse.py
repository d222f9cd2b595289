"""What is answered from an earlier run is what a new run says: random edits that change nothing, each compared with a real trace."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from graphbreak.core.findings import Report
from graphbreak.tracer.store import Store
from harmless_edits import IDLE, with_edits
from harness import Harness
from markdown_cases import all_cases
from versions import at_home

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
NAMES_OF_IDLE = {"never_entered", "never_entered_either"}
_EXAMPLES = Path(__file__).parent.parent / "examples"
_NOT_KEPT = {"directive: With an error in it"}
SHORT = (
    "branch: Branch on data",
    "directive: An example call in a comment",
    "methods: Lambdas and comprehensions",
    "item: Two on one line",
)
PROGRAMS = {case.name: case.code for case in all_cases()}
PROGRAMS |= {path.name: path.read_text(encoding="utf-8") for path in sorted(_EXAMPLES.glob("*.py")) if "transformers" not in path.name}
_NUMBERS = re.compile(r"^[WIE]\d{4} [\d:.]+ \d+ |<eval_with_key>\.\d+", re.MULTILINE)
_ENOUGH = 40


class Reusing:
    """A file that is analysed again and again, from what is kept or for certain anew."""

    def __init__(self, harness: Harness, path: Path) -> None:
        self.path = path
        self.traced: list[str] = []
        self._harness = harness

    def report(self, text: str) -> Report:
        """The report of a text of the file; `traced` says what was run for it."""
        self.traced.clear()
        request = self._harness.request(self.path, text)
        report = self._harness.submit(self._harness.engine.analyse(request, self.traced.append)).result(120)
        assert self._harness.engine.reuse is not None
        self._harness.submit(self._harness.engine.reuse.settled()).result(20)
        return comparable(report)

    def fresh(self, text: str) -> Report:
        """The report of a text that is really run."""
        request = replace(self._harness.request(self.path, text), fresh=True)
        kept, self._harness.engine.reuse = self._harness.engine.reuse, None
        try:
            return comparable(self._harness.submit(self._harness.engine.analyse(request, lambda sentence: None)).result(120))
        finally:
            self._harness.engine.reuse = kept


def comparable(report: Report) -> Report:
    """Without what differs from run to run: how long it took, the times of what torch logs, and its own numbers for graphs."""
    return replace(
        report, output=_NUMBERS.sub("", report.output), functions=tuple(replace(function, seconds=0.0) for function in report.functions)
    )


@pytest.fixture
def reusing(harness: Harness, tmp_path: Path) -> Iterator[Reusing]:
    harness.engine.reuse = harness.engine.reusing(Store(tmp_path / "kept"))
    folder = tmp_path / "project"
    folder.mkdir()
    yield Reusing(harness, folder / "case.py")
    harness.engine.reuse = None


def without_chance(code: str) -> str:
    """The program with the same random numbers each time."""
    return code.replace("import torch\n", "import torch; torch.manual_seed(0)\n", 1)


@pytest.mark.parametrize("name", [*PROGRAMS] if LONG else SHORT)
def test_what_is_reused_is_what_a_trace_says(reusing: Reusing, name: str) -> None:
    text = without_chance(PROGRAMS[name]) + IDLE
    reusing.path.write_text(text, encoding="utf-8")
    first = reusing.report(text)
    assert first == reusing.report(text)
    assert not reusing.traced or name in _NOT_KEPT
    compared = 0
    for seed in range(_ENOUGH):
        edited = with_edits(text, seed, NAMES_OF_IDLE)
        reused = reusing.report(edited) if edited != text else None
        if reused is not None and not reusing.traced:
            fresh = reusing.fresh(edited)
            assert (reused, reused.sources) == (fresh, fresh.sources), edited
            compared += 1
        if compared == (5 if LONG else 1):
            break
    assert compared or LONG or not at_home()
