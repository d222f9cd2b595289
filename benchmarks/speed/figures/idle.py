"""What it costs while nothing happens: processor time, and memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .. import machine, programs
from ..editor import Editor
from ..rows import Row, quartiles

SECONDS = 420
_WINDOW = 4.0
_ASLEEP = "import torch, time; print('ready', flush=True); time.sleep(600)"


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """After a trace, when all that is made ready is ready: server, launcher, prepared parents and their spares."""
    path = folder / "program.py"
    used, server, parents, families, bare = [], [], [], [], []
    for number in range(pairs):
        with Editor(folder, folder / f"store{number}", {"tryFixes": False}) as editor:
            editor.open(path, programs.small(number))
            editor.traced(path, 0.0)
            editor.rest(4.0)
            used.append(_processor_share(editor.pid))
            server.append(machine.memory(editor.pid)["Rss"])
            family = _workers(editor.pid)
            parents.append(max(machine.memory(pid)["Rss"] for pid in family[:1]))
            families.append(machine.together(family))
            bare.append(_bare_torch(folder))
    every = sorted(used)
    words = f"{pairs} times {_WINDOW:.0f} s, {len(family) + 1} Python processes"
    yield Row("processor time of server and workers when idle", statistics.mean(used), "%", 0.5, len(used), *quartiles(every), words)
    yield _megabytes("memory of the server", server, 90.0)
    yield _of_bare("memory of an idle prepared parent, against `import torch` alone", parents, bare, 1.6)
    yield _of_bare("the same with its children that wait, what they share counted once", families, bare, None)


def _processor_share(pid: int) -> float:
    """Per cent of a core."""
    pids = machine.with_descendants(pid)
    before, begin = machine.processor_seconds(pids), time.perf_counter()
    time.sleep(_WINDOW)
    return 100 * (machine.processor_seconds(pids) - before) / (time.perf_counter() - begin)


def _workers(pid: int) -> list[int]:
    """The processes that have torch, the oldest first: that is the prepared parent."""
    found = [one for one in machine.with_descendants(pid)[1:] if "libtorch" in Path(f"/proc/{one}/maps").read_text(errors="replace")]
    if not found:
        raise RuntimeError("there is no prepared parent")
    return sorted(found, key=lambda one: int(Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[19]))


def _bare_torch(folder: Path) -> float:
    process = subprocess.Popen([sys.executable, "-c", _ASLEEP], stdout=subprocess.PIPE, cwd=folder)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.2)
        return machine.memory(process.pid)["Rss"]
    finally:
        process.kill()
        process.wait()


def _megabytes(figure: str, values: list[float], limit: float) -> Row:
    ordered = sorted(values)
    return Row(figure, statistics.median(ordered), "MB", limit, len(ordered), *quartiles(ordered), "resident, shared pages included")


def _of_bare(figure: str, ours: list[float], bare: list[float], limit: float | None) -> Row:
    ratios = sorted(one / other for one, other in zip(ours, bare, strict=True))
    beside = f"{statistics.median(ours):.0f} MB, `import torch` {statistics.median(bare):.0f} MB"
    return Row(figure, statistics.median(ratios), "x", limit, len(ratios), *quartiles(ratios), beside)
