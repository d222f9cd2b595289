"""Runs a training script with and without `graphbreak record`, by turns, prints the slowdown, and traces the model's file alone afterwards.

    python -m benchmarks.record [--pairs N] [--python INTERPRETER]

Processor time is what is compared, of the program's own processes, whatever else the machine does: in each pair of runs, one right behind
the other, each first by turns. The median of the pairs counts, with the interval that holds it in 19 of 20 such measurements whatever the
distribution (the sign test's). RESULTS.md is written when all was run; the exit status is 1 where the median is not under the goal.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from graphbreak.cli.record import recording_variables

HERE = Path(__file__).parent
GOAL = 3.0
CASES = {
    "2 steps": ["train.py", "--steps", "2"],
    "300 steps": ["train.py", "--steps", "300"],
}


@dataclass
class Measured:
    """Seconds of processor time and on the clock of the runs of one case, without and with recording."""

    name: str
    plain: list[tuple[float, float]] = field(default_factory=list)
    recorded: list[tuple[float, float]] = field(default_factory=list)

    def slowdowns(self, which: int) -> list[float]:
        """In percent, of each pair, the least first: of processor time (0) or of time on the clock (1)."""
        return sorted((after[which] / before[which] - 1) * 100 for before, after in zip(self.plain, self.recorded))

    def slowdown(self, which: int) -> float:
        """The median of the pairs."""
        return statistics.median(self.slowdowns(which))

    @property
    def interval(self) -> str:
        """In which the true median of processor time lies, by the sign test, and how surely."""
        found = self.slowdowns(0)
        outer, sure = sign_interval(len(found))
        return f"{found[outer]:+.1f} to {found[-1 - outer]:+.1f} % ({sure:.0%})"

    @property
    def line(self) -> str:
        """The row of the table."""
        cpu, clock = self.slowdown(0), self.slowdown(1)
        base = statistics.median(times[0] for times in self.plain)
        spread = (max(times[0] for times in self.plain) / min(times[0] for times in self.plain) - 1) * 100
        return f"| {self.name} | {len(self.plain)} | {base:.1f} s | {cpu:+.1f} % | {self.interval} | {clock:+.1f} % | {spread:.1f} % |"


def sign_interval(count: int) -> tuple[int, float]:
    """How many of so many sorted differences may be left out at each end so that the rest holds the true median in 19 of 20 measurements,
    and how surely it then does: less than that where there are too few of them."""

    def sure(outer: int) -> float:
        return 1 - 2 * sum(math.comb(count, index) for index in range(outer + 1)) / (1 << count)

    outer = max((outer for outer in range((count + 1) // 2) if sure(outer) >= 0.95), default=0)
    return outer, sure(outer)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description="What recording costs.")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs the program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for path in (HERE / "program").glob("*.py"):
            shutil.copy(path, folder)
        found = [_measure(name, [options.python, *command], options.pairs, folder) for name, command in CASES.items()]
        record = [sys.executable, "-m", "graphbreak", "record", "--", options.python, "train.py"]
        subprocess.run(record, cwd=folder, env=_variables(), check=True)
        check = [sys.executable, "-m", "graphbreak", "check", "model.py", "--python", options.python]
        traced = subprocess.run(check, cwd=folder, capture_output=True, text=True, env=_variables(), check=False).stdout
    row = next((line for line in traced.splitlines() if line.startswith("LanguageModel.forward")), "not traced:\n" + traced)
    print(f"\nthe model's file alone: {row}")
    lines = [
        "# What `graphbreak record` costs", "",
        f"Written by `make bench-record`. Goal: under {GOAL:g} %. Runs in pairs; medians of the pairs' differences.", "",
        "| program | pairs | processor time | slowdown | interval | on the clock | spread without recording |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(one.line for one in found), "", f"The model's file alone afterwards: `{row}`", "",
    ]  # fmt: skip
    (HERE / "RESULTS.md").write_text("\n".join(lines), encoding="utf-8")
    raise SystemExit(any(one.slowdown(0) >= GOAL for one in found) or "from recorded" not in row)


def _measure(name: str, command: list[str], pairs: int, folder: str) -> Measured:
    _seconds(command, folder)  # fills the compiler's caches
    found = Measured(name)
    with tempfile.TemporaryDirectory() as notes:
        runs = [(found.plain, None), (found.recorded, recording_variables(notes, folder))]
        for index in range(pairs):
            for times, recording in runs if index % 2 == 0 else reversed(runs):
                times.append(_seconds(command, folder, recording))
            print(f"{name}: {found.plain[-1][0]:.2f} s, recorded {found.recorded[-1][0]:.2f} s", flush=True)
    print(f"{name}: {found.slowdown(0):+.1f} % of processor time, {found.interval}, {found.slowdown(1):+.1f} % on the clock")
    return found


def _seconds(command: list[str], folder: str, recording: dict[str, str] | None = None) -> tuple[float, float]:
    """The processor time of a command with all its children, and the time it took, both in seconds."""
    started = time.monotonic()
    variables = {**(recording or os.environ), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, ended, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(ended)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started


def _variables() -> dict[str, str]:
    server = str(HERE.parent.parent / "server")
    return {**os.environ, "PYTHONPATH": server, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    main()
