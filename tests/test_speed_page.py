"""The page that `make bench` writes: verdicts, limits, spreads, plots. What is measured is none of this."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def _module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.speed.{name}")


def test_a_ratio_is_the_median_of_its_pairs_and_free_seconds_raise_its_limit() -> None:
    rows = _module("rows")
    row = rows.ratio_row("f", [0.2, 0.3, 0.9], [0.1, 0.1, 0.2], 1.3, "ours / theirs", extra=0.06)
    assert (row.measured, row.n, row.low, row.high) == pytest.approx((3.0, 3, 2.0, 4.5))
    assert row.limit == pytest.approx(1.3 + 0.06 / 0.1)
    assert row.verdict == "MISSED"
    assert rows.from_json(row.as_json()) == row
    assert row.beside == "ours 300 ms, theirs 100 ms"


def test_a_tail_is_the_99th_percentile() -> None:
    row = _module("rows").tail_row("f", [number / 1000 for number in range(1, 201)], 198.0, "")
    assert (row.measured, row.low, row.high, row.verdict) == (198.0, 100.5, 200.0, "ok")


def test_the_page_names_what_was_missed_and_what_failed(tmp_path: Path) -> None:
    rows = _module("rows")
    found = [
        rows.Row("kept", 0.05, "x", 1 / 8, 10, 0.04, 0.06, "a 1 ms, b 20 ms"),
        rows.Row("missed", 7.5, "ms", 5.0, 600, 1.0, 9.0),
        rows.Row("failed", None, problem="it did not end within 300 s"),
    ]
    data = {
        "growth-operations": [[10, 0.2, 0.1], [100, 0.5, 0.3]],
        "profile": {"parts": ["ours", "Dynamo"], "medians": {"small": [0.01, 0.03]}},
    }
    text = _module("page").page(found, "2 cores", data, tmp_path / "results", 60.0, False)
    assert "| kept | 1/20.0 | 1/8.0 | ok | 10 | 1/25.0 to 1/16.7 | a 1 ms, b 20 ms |" in text
    assert "| missed | 7.5 ms | 5.0 ms | MISSED |" in text
    assert "- failed: there is no figure: it did not end within 300 s." in text
    assert "| ours | 10.0 ms (25 %) |" in text
    assert "not complete" in text
    picture = ElementTree.parse(tmp_path / "results" / "growth-operations.svg").getroot()
    assert picture.tag.endswith("svg")
    assert sum(part.tag.endswith("polyline") for part in picture.iter()) == 3


def test_the_page_says_what_no_limit_is_for(tmp_path: Path) -> None:
    rows, page = _module("rows"), _module("page")
    kept = rows.Row("its break", 1 / 6, "x", 1 / 5, 10)
    end = rows.Row("its end", 1 / 3.1, "x", None, 10, beyond=1 / 5)
    profile = {"profile": {"parts": ["ours", "Dynamo, as it counts"], "medians": {"small": [0.03, 0.03], "a model": [0.1, 4.9]}}}
    text = page.page([kept, rows.from_json(end.as_json())], "2 cores", profile, tmp_path / "results", 60.0, True)
    assert "Each of the 1 figures that have a limit keeps it." in text
    assert "its end: this has no limit, and at 1/3.1 does not reach 1/5.0" in text
    assert "Dynamo by itself takes 98 % of an analysis (a model)" in text
    assert "does not reach" not in page.page([kept], "2 cores", profile, tmp_path / "results", 60.0, True)


def test_every_figure_is_there() -> None:
    for name in _module("figures").NAMES:
        figure = _module(f"figures.{name}")
        assert callable(figure.measure)
        assert figure.SECONDS <= 900
