"""Each promise of SECURITY.md names a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faults import programs, scripts

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = [
    line for line in PAGE.partition("## What is promised on Linux")[2].partition("\n\nAn unpr")[0].splitlines() if line.startswith("| ")
][2:]
NAMED = re.findall(r"`(tests/[\w/.]+)`(?: \(([A-Z]+)\))?", PAGE)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda line: line[2:40])
def test_each_promise_names_its_test(promise: str) -> None:
    _, _, layers, shown, _ = promise.split("|")
    assert layers.strip()
    assert re.search(r"`tests/[\w/.]+`", shown), "no test is named"


@pytest.mark.parametrize(("path", "group"), sorted(set(NAMED)))
def test_the_tests_that_are_named_are_there(path: str, group: str) -> None:
    place = ROOT / path
    files = sorted(place.glob("test_*.py")) if place.is_dir() else [place]
    assert files
    assert any(re.search(r"^(async )?def test_", file.read_text(encoding="utf-8"), re.MULTILINE) for file in files)
    if group:
        found = getattr(programs, group)
        assert found
        assert any(program.telling for program in found), "none of them is run each time"
        assert set(found) <= set(programs.PROGRAMS)


@pytest.mark.parametrize("name", re.findall(r"the script `([\w ]+)`", PAGE))
def test_the_scripts_that_are_named_are_there(name: str) -> None:
    assert name in scripts.SCRIPTS


def test_there_are_promises() -> None:
    assert len(PROMISES) >= 10
