"""Measures the figures, prints them as they come, and writes benchmarks/RESULTS.md.

    python -m benchmarks.speed [--pairs N] [--results FILE] [NAME ...]

Each figure is measured in a process of its own, with a time limit, so that one that fails or hangs costs only its own rows. The exit
status is 1 where a figure is missed or missing. Names: see `figures`. With names, or fewer pairs than ten, RESULTS.md is written only
where `--results` says so.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import machine
from .figures import NAMES
from .page import line_of, load, page
from .rows import Row, from_json

RESULTS = Path(__file__).parent.parent / "RESULTS.md"
_MARK = "ROW "


def main() -> int:
    """Run the benchmark, or one figure of it for the process that runs it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description="How fast the product is, as ratios in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"figures to measure: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--pairs", type=int, default=10, help="how often each pair is measured (default 10)")
    parser.add_argument("--results", type=Path, help="where to write the page")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no figure {unknown[0]}; there are {', '.join(NAMES)}")
    if options.alone is not None:
        return _alone(options.names[0], options.pairs, options.alone)
    results = options.results or (RESULTS if not options.names and options.pairs >= 10 else None)
    return _all(options.names or NAMES, options.pairs, results)


def _all(names: Sequence[str], pairs: int, results: Path | None) -> int:
    begin, words = time.monotonic(), machine.words()
    rows: list[Row] = []
    data: dict[str, object] = {}
    print(f"{words}\n", flush=True)
    for number, name in enumerate(names):
        with tempfile.TemporaryDirectory(prefix="graphbreak-speed-") as folder:
            for row in _measured(name, pairs, Path(folder)):
                print(line_of(row), flush=True)
                rows.append(row)
            data.update(load(Path(folder)))
        if results is not None:
            complete = number == len(names) - 1 and set(names) == set(NAMES)
            text = page(rows, words, data, results.parent / "speed" / "results", time.monotonic() - begin, complete)
            results.write_text(text, encoding="utf-8")
    print(f"\n{time.monotonic() - begin:.0f} s", flush=True)
    return int(any(row.verdict in ("MISSED", "FAILED") for row in rows))


def _measured(name: str, pairs: int, folder: Path) -> Iterator[Row]:
    """The rows of one figure as they come, and one that says why where it fails or takes too long."""
    limit = importlib.import_module(f"{__package__}.figures.{name}").SECONDS
    command = [sys.executable, "-m", __package__, "--pairs", str(pairs), "--alone", str(folder), name]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        try:
            said, _ = process.communicate(timeout=limit)
            problem = "" if process.returncode == 0 else _last(errors, f"it ended with {process.returncode}")
        except subprocess.TimeoutExpired:
            _end(machine.with_descendants(process.pid))
            said, _ = process.communicate(timeout=30)  # what it printed until then
            problem = f"it did not end within {limit} s"
    yield from (from_json(line.removeprefix(_MARK)) for line in (said or "").splitlines() if line.startswith(_MARK))
    if problem:
        yield Row(name, None, problem=problem)


def _end(pids: Sequence[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def _last(errors: object, otherwise: str) -> str:
    errors.seek(0)  # type: ignore[attr-defined]
    lines = errors.read().strip().splitlines()  # type: ignore[attr-defined]
    return lines[-1][:300].replace("|", "/") if lines else otherwise


def _alone(name: str, pairs: int, folder: Path) -> int:
    figure = importlib.import_module(f"{__package__}.figures.{name}")
    try:
        for row in figure.measure(pairs, folder):
            print(_MARK + row.as_json(), flush=True)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
