"""A benchmark that misses its goal says so, and ends with 1. What is measured is none of this."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def program(
    group: str, name: str, before: int, safe: int, unsafe: int, reason: str = "GB0170 Data-dependent branching", **other: Any
) -> str:
    outcome = {"group": group, "name": name, "before": {reason: before}, "safe": {reason: safe}, "unsafe": {reason: unsafe}, "same": True}
    return json.dumps({**outcome, **other})


GOOD = [program("models", f"model {number}", 10, 6, 1) for number in range(12)]
CASES = {
    "all is reached": (GOOD, ""),
    "too few by families": ([*GOOD, program("cases", "a", 10, 4, 9)], "a family of fixes is for"),
    "too few of all": ([*GOOD, program("cases", "a", 60, 30, 59, "GB4347 Missing tp_iternext")], "all causes, removed with"),
    "too few safe ones": ([*GOOD, program("cases", "a", 10, 10, 1)], "safe fixes alone"),
    "another value": ([*GOOD, program("cases", "a", 1, 0, 0, same=False)], "values are equal"),
    "no known value": ([*GOOD, program("cases", "a", 1, 0, 0, same=None)], "values are equal"),
    "less is compiled": ([*GOOD, program("cases", "a", 20, 0, 0, lost=1)], "a family of fixes is for"),
    "too few models": (GOOD[1:], "vendored models"),
    "nothing was run": ([], "all causes, removed with"),
}


@pytest.mark.parametrize("name", CASES)
def test_fixes(tmp_path: Path, name: str) -> None:
    lines, missed = CASES[name]
    (tmp_path / "programs.jsonl").write_text("".join(f"{line}\n" for line in lines))
    page = tmp_path / "RESULTS.md"
    command = [sys.executable, "benchmarks/fixes/run.py", "--groups", "none", "--out", str(tmp_path), "--results", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == int(bool(missed)), done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("MISSED")]
    assert any(missed in line for line in said) if missed else not said
    assert ("| MISSED |" in page.read_text()) is bool(missed)


def test_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    judged = importlib.import_module("benchmarks.fixes.verdict").judged
    assert [judged(took) for took in (0.4, 1.0, 1.001)] == [("ok", 0), ("ok", 0), ("MISSED", 1)]


def test_focus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    focus = importlib.import_module("benchmarks.focus.__main__")
    case = focus.CASES[0]
    assert focus.Measured(case, [1.0, 1.0], [9.0, 8.0]).verdict == "ok"
    assert focus.Measured(case, [1.0, 1.0], [7.0, 7.5]).verdict == "MISSED"
    assert focus.Measured(case, [1.0], [9.0], ["something else came"]).verdict == "MISSED"
    assert "| MISSED |" in focus._page([focus.Measured(case, [1.0], [2.0])])


@pytest.mark.parametrize(("inside", "status"), [(0.1, 0), (0.2, 1)])
def test_sandbox(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, inside: float, status: int) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    sandbox = importlib.import_module("benchmarks.sandbox.__main__")

    async def pairs(folder: Path, number: int) -> list[tuple[float, float]]:
        return [(inside, 0.1)] * number

    monkeypatch.setattr(sandbox, "warm", pairs)
    monkeypatch.setattr(sandbox, "cold", pairs)
    assert sandbox.main(["--results", str(tmp_path / "page.md")]) == status
    assert ("MISSED" in capsys.readouterr().out) is bool(status)
    assert ("MISSED" in (tmp_path / "page.md").read_text()) is bool(status)
