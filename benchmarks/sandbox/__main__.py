"""Traces one small program with and without the sandbox by turns, prints the ratios of the two, and writes RESULTS.md.

    python -m benchmarks.sandbox [--pairs N] [--starts N] [--results FILE]

The text differs each time, so that nothing is answered from what is known. Who comes first alternates. The ratios are of the medians; the
spread is that of the pairs, from the lower to the upper quartile.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from graphbreak.core.findings import Outcome
from graphbreak.core.requests import AnalysisRequest, Permissions, Settings
from graphbreak.core.source import SourceFile
from graphbreak.tracer.engine import Engine

PROGRAM = """\
import torch


@torch.compile
def f(x):
    x = x * {number}
    print("a")
    return x + 1


f(torch.ones(3))
"""
GOAL = 1.10
Pairs = list[tuple[float, float]]


def _request(folder: Path, number: int, enabled: bool) -> AnalysisRequest:
    source = SourceFile(str(folder / "main.py"), PROGRAM.format(number=number))
    settings = Settings(sys.executable, permissions=Permissions(enabled=enabled))
    return AnalysisRequest(source, str(folder), (str(folder),), settings)


async def _trace(engine: Engine, folder: Path, number: int, enabled: bool) -> float:
    begin = time.perf_counter()
    report = await engine.analyse(_request(folder, number, enabled), lambda sentence: None)
    seconds = time.perf_counter() - begin
    (row,) = report.functions
    assert (row.outcome, row.breaks) == (Outcome.TRACED, 1), report
    assert ("not sandboxed" in report.environment.sandbox) is not enabled, report.environment.sandbox
    return seconds


async def warm(folder: Path, pairs: int) -> Pairs:
    """Seconds of warm traces: with the sandbox, without it."""
    engine = Engine()
    try:
        for number in range(1, 4):
            for enabled in (True, False):
                await _trace(engine, folder, number, enabled)
        found: Pairs = []
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            seconds = {enabled: await _trace(engine, folder, 100 + number, enabled) for enabled in order}
            found.append((seconds[True], seconds[False]))
        return found
    finally:
        await engine.close()


async def cold(folder: Path, pairs: int) -> Pairs:
    """Seconds from nothing to the first report, the prepared process included."""
    found: Pairs = []
    for number in range(pairs):
        seconds = {}
        for enabled in (True, False) if number % 2 else (False, True):
            engine = Engine()
            seconds[enabled] = await _trace(engine, folder, 500 + number, enabled)
            await engine.close()
        found.append((seconds[True], seconds[False]))
    return found


def line(name: str, pairs: Pairs) -> str:
    """One row of the page."""
    inside, outside = (statistics.median(pair[index] for pair in pairs) for index in (0, 1))
    low, _, high = statistics.quantiles([pair[0] / pair[1] for pair in pairs], n=4)
    return f"| {name} | {len(pairs)} | {inside:.3f} | {outside:.3f} | {inside / outside:.2f} | {low:.2f} to {high:.2f} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it: the exit status, 1 where a warm trace takes more than the goal allows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox", description="What the sandbox costs.")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        traced = asyncio.run(warm(Path(folder), options.pairs))
        started = asyncio.run(cold(Path(folder), options.starts))
    rows = [line("a warm trace of a small program", traced), line("the first report, from nothing", started)]
    head = ["| what | pairs | with, s | without, s | ratio | of the pairs, middle half |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    ratio = statistics.median(pair[0] for pair in traced) / statistics.median(pair[1] for pair in traced)
    verdict = "ok" if ratio <= GOAL else "MISSED"
    page = [
        "# What the sandbox costs",
        "",
        __doc__.strip() if __doc__ else "",
        "",
        *head,
        *rows,
        "",
        f"Goal: a warm trace at most {GOAL:.2f} times: {verdict}.",
        "",
    ]
    print("\n".join([*head, *rows, f"{verdict:7} a warm trace {ratio:.3f} times (at most {GOAL:.2f})"]))
    options.results.write_text("\n".join(page), encoding="utf-8")
    return int(verdict == "MISSED")


if __name__ == "__main__":
    raise SystemExit(main())
