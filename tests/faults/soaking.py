"""Very many traces through one server, good and hostile programs by turns: what it takes at the end it must have taken at the beginning.

    python -m faults.soaking [--traces N] [--seconds S] [--results FILE]

with `server` and `tests` on the path. It says how it goes after each hundred, and writes what it found so far when its time is over.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .programs import DYING, ESCAPING, HEAD, LEAVING, NEVER_ENDING, ODD, REPLACING, STAYING, TAKING, Hostile
from .raw_editor import REAL, RawEditor

GOOD = """\
import torch


@torch.compile
def f(x):
    x = x * {number}
    print("a")
    return x + 1


f(torch.ones(3))
"""
CLEAN = "import torch\n\n\n@torch.compile\ndef f(x):\n    return x * {number}\n\n\nf(torch.ones(3))\n"
TIMEOUT = 4.0
_ENDS = frozenset({"idle", "failed"})
"""The states in which no trace goes on."""

EVERY = 10
"""Each so many programs there is a hostile one, and as often it is looked at what the server takes."""

_LEFT_OUT = {
    "a hundred gigabytes",
    "a thread bomb",
    "a fork bomb",
    "a fork bomb that leaves its group",
    "60,000 lines",
    "a very long exception",
}
HOSTILE = [
    one
    for group in (DYING, LEAVING, STAYING, ESCAPING, REPLACING, ODD, TAKING, NEVER_ENDING[:4])
    for one in group
    if one.name not in _LEFT_OUT and "{" not in one.act
]


_SLOPE, _HOVER = 2048, 100.0
"""What the memory of the server may grow by for each trace, in bytes; what 99 of 100 hovers may take at most, in ms."""
ROUND = len(HOSTILE) * EVERY
"""After so many traces each hostile program had its turn."""


@dataclass
class Sample:
    """What the server and its workers take after so many traces."""

    traces: int
    memory: int
    """Of the server, in bytes."""
    descriptors: int
    processes: int
    zombies: int
    temporary: int
    """Files and folders in the temporary folder of the server, and in the private ones of its workers."""


@dataclass
class Soak:
    """What came of it."""

    samples: list[Sample] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Good programs with a wrong result."""
    seconds: float = 0.0
    hovers: list[float] = field(default_factory=list)
    """How long each hover was waited for while a trace ran, in seconds."""
    idle: list[float] = field(default_factory=list)
    """The same while nothing is traced."""
    left: list[str] = field(default_factory=list)
    """What is in the temporary folder, and which processes run, when the server has ended."""

    def hover(self, percent: int) -> float:
        """So many percent of the hovers took at most so long, in milliseconds."""
        return sorted(self.hovers)[(len(self.hovers) - 1) * percent // 100] * 1000

    @property
    def slope(self) -> float:
        """How many bytes the memory of the server grows by for each trace, by least squares, once every hostile program had its turn: the
        largest of them costs what it costs, once."""
        later = [one for one in self.samples if one.traces >= ROUND]
        if len(later) < 3:
            return 0.0
        middle, mean = sum(one.traces for one in later) / len(later), sum(one.memory for one in later) / len(later)
        spread = sum((one.traces - middle) ** 2 for one in later)
        return sum((one.traces - middle) * (one.memory - mean) for one in later) / spread


class Soaker:
    """One editor with one document, in which another program is saved again and again."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.temporary = folder / "workspace", folder / "temporary"
        self.workspace.mkdir()
        self.temporary.mkdir()
        self.path = self.workspace / "main.py"
        self.editor = RawEditor(REAL, folder=self.workspace, TMPDIR=str(self.temporary))
        self.soak = Soak()
        self._states: list[str] = []
        self._version = 1

    def begin(self) -> None:
        """Say hello, and have the first trace over."""
        folder = {"uri": self.workspace.as_uri(), "name": "workspace"}
        options = {"interpreter": sys.executable, "timeout": TIMEOUT, "tryFixes": False}
        self.editor.listen("graphbreak/status", lambda params: self._states.append(params["state"]))
        self.editor.ask(
            "initialize", processId=os.getpid(), rootUri=None, workspaceFolders=[folder],
            capabilities={"experimental": {"graphbreakStatus": True}}, initializationOptions=options,
        )  # fmt: skip
        self.editor.notify("initialized")
        self.path.write_text(CLEAN.format(number=0))
        self.editor.open(self.path, self.path.read_text())
        self._wait(0, 120)
        self.soak.hovers.clear()
        for _ in range(30):
            self.soak.idle.append(self._hover())
            time.sleep(0.03)

    def _hover(self) -> float:
        asked = time.monotonic()
        self.editor.hover(self.path, 6, 5)
        return time.monotonic() - asked

    def trace(self, number: int) -> None:
        """Save another program, and wait for what is said of it."""
        hostile = HOSTILE[number // EVERY % len(HOSTILE)] if number % EVERY == EVERY - 1 else None
        text = _hostile_text(hostile, number) if hostile else (GOOD if number % 2 else CLEAN).format(number=number)
        before = len(self._states)
        self._version += 1
        for name, content in (hostile.files if hostile else {}).items():
            (self.workspace / name).write_text(content)
        self.editor.change(self.path, self._version, {"text": text})
        self.editor.save(self.path)
        report = self._report(before)
        for name in hostile.files if hostile else {}:
            (self.workspace / name).unlink()
        self.soak.ends[", ".join(sorted({row["outcome"] for row in report["functions"]}))] += 1
        shown = [found["code"] for found in report["diagnostics"]]
        if hostile is None and (shown != (["GB0059"] if number % 2 else []) or report["version"] != self._version):
            self.soak.wrong.append(f"{number}: {shown}, version {report['version']} and not {self._version}, {report['functions']}")

    def _report(self, before: int) -> dict[str, Any]:
        """The report on what was saved last. What ends first may be a trace that the save ended: one was begun when a file of the last
        program went away."""
        while True:
            self._wait(before, TIMEOUT + 60)
            before = next(index for index, state in enumerate(self._states) if index >= before and state in _ENDS) + 1
            report: dict[str, Any] = self.editor.ask("graphbreak/report", uri=self.path.as_uri())["result"]["reports"][0]
            if report["version"] == self._version:
                return report

    def _wait(self, before: int, seconds: float) -> None:
        """Hover again and again until the trace has ended."""
        end = time.monotonic() + seconds
        while not _ENDS & set(self._states[before:]):
            assert time.monotonic() < end, "the trace does not end"
            self.soak.hovers.append(self._hover())
            time.sleep(0.03)

    def look(self, traces: int) -> Sample:
        """What is taken now, when what a job leaves has had its time to go, and what is kept ready its time to come."""
        end, sample = time.monotonic() + 10, self._sample(traces)
        while time.monotonic() < end:
            time.sleep(0.05 if self.soak.samples else 1.0)
            before, sample = sample, self._sample(traces)
            if _taken(sample) == _taken(self.soak.samples[0] if self.soak.samples else before):
                break
        return sample

    def _sample(self, traces: int) -> Sample:
        processes, temporary = self.editor.processes(), len(list(self.temporary.rglob("*")))
        descriptors = len(os.listdir(f"/proc/{self.editor.process.pid}/fd"))
        return Sample(traces, self.editor.memory(), descriptors, len(processes), _zombies(self.editor.process.pid), temporary)

    def finish(self) -> None:
        """End the server and see what is left."""
        self.editor.end()
        end = time.monotonic() + 10
        while self.editor.processes() and time.monotonic() < end:
            time.sleep(0.05)
        self.soak.left += [f"process {pid}" for pid in self.editor.processes()]
        self.soak.left += [str(path) for path in self.temporary.rglob("*")]
        self.soak.left += [str(path) for path in self.workspace.rglob("*") if path != self.path]


def _taken(sample: Sample) -> tuple[int, ...]:
    """What may not change."""
    return sample.descriptors, sample.processes, sample.zombies, sample.temporary


def _hostile_text(hostile: Hostile, number: int) -> str:
    return HEAD + hostile.act + f"\n# {number}\n"


def _zombies(server: int) -> int:
    """The descendants of the server that ended and that nobody has waited for."""
    parents: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        parents[int(folder.name)] = (int(parent), state)
    found = {server}
    while more := {pid for pid, (parent, _) in parents.items() if parent in found and pid not in found}:
        found |= more
    return sum(parents[pid][1] == "Z" for pid in found if pid in parents)


def soak(folder: Path, traces: int, seconds: float = float("inf"), say: bool = False) -> Soak:
    """Trace so many programs, or as many as the time allows."""
    soaker, begun = Soaker(folder), time.monotonic()
    try:
        soaker.begin()
        for number in range(traces):
            soaker.trace(number)
            if number % EVERY == EVERY - 1:
                soaker.soak.samples.append(soaker.look(number + 1))
            soaker.soak.seconds = time.monotonic() - begun
            if say and number % 100 == 99:
                print(_line(soaker.soak), flush=True)
            if soaker.soak.seconds > seconds:
                break
        soaker.finish()
        return soaker.soak
    finally:
        soaker.editor.close()


def _line(soak: Soak) -> str:
    last = soak.samples[-1]
    return (
        f"{last.traces:5} traces, {soak.seconds:5.0f} s: server {last.memory / 2**20:.1f} MiB ({soak.slope:+.0f} bytes for each trace), "
        f"{last.descriptors} descriptors, {last.processes} processes, {last.zombies} zombies, {last.temporary} temporary files, "
        f"{len(soak.wrong)} wrong, hover {soak.hover(50):.1f} ms ({soak.hover(99):.1f} ms in 99 of 100)"
    )


def results(soak: Soak) -> str:
    """The page about a run."""
    rows = [sample for sample in soak.samples if sample.traces % 100 == 0 or sample is soak.samples[0] or sample is soak.samples[-1]]
    ends = ", ".join(f"{count} {end or 'without a marked function'}" for end, count in soak.ends.most_common())
    hovers = f"median {soak.hover(50):.1f} ms, 99 of 100 at most {soak.hover(99):.1f} ms, longest {soak.hover(100):.0f} ms"
    lines = [
        "# Soak",
        "",
        "`make soak` saves one program after another in one document of one real server, every tenth of them hostile",
        "(`tests/faults/programs.py`), hovers while it is traced, and looks every ten at what the server takes.",
        "",
        f"{soak.samples[-1].traces} traces in {soak.seconds:.0f} s on Python {platform.python_version()}, {platform.system()}: {ends}.",
        f"Wrong results of good programs: {len(soak.wrong)}. Left behind when the server had ended: {len(soak.left)} files and processes.",
        f"A hover while a trace runs ({len(soak.hovers)} of them): {hovers}.",
        f"Slope of the server's memory: {soak.slope:+.0f} bytes for each trace, from the {ROUND}th on: by then each of the {len(HOSTILE)}",
        "hostile programs had its turn, and the largest of them (a source of very many terms) has cost what it costs once.",
        "",
        "| traces | memory of the server, MiB | descriptors | processes | zombies | temporary files |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
        *(f"| {s.traces} | {s.memory / 2**20:.1f} | {s.descriptors} | {s.processes} | {s.zombies} | {s.temporary} |" for s in rows),
    ]
    return "\n".join([*lines, *(f"\nWrong: {json.dumps(line)}" for line in (*soak.wrong, *soak.left)), ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it from the command line: the exit status, 1 where something grew, was wrong or was left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--results", type=Path)
    options: Any = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(Path(folder), options.traces, options.seconds, say=True)
    print("\n".join([_line(found), *found.wrong, *found.left]))
    if options.results is not None:
        options.results.write_text(results(found), encoding="utf-8")
    missed = [
        name
        for name, bad in (
            ("results of good programs", bool(found.wrong)),
            ("nothing left behind", bool(found.left)),
            ("memory", found.slope > _SLOPE),
            ("hovers", found.hover(99) > _HOVER),
        )
        if bad
    ]
    print("\n".join(f"MISSED  {name}" for name in missed) or "ok")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
