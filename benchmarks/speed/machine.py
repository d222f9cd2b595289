"""What the figures were measured on, and what its processes need."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path


def words() -> str:
    """The machine in one sentence."""
    model = next((line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{os.cpu_count()} cores of {model}, {memory / 2**20:.0f} GB; {platform.system()} {platform.release()}; Python "
        f"{platform.python_version()}; torch {version('torch')}, transformers {version('transformers')}; load {load}"
    )


def version(package: str) -> str:
    """The installed version of a package, without importing it."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def with_descendants(pid: int) -> list[int]:
    """A process and all that it started, by themselves or by others."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def processor_seconds(pids: Iterable[int]) -> float:
    """The processor time that processes have used so far, in seconds: those that have ended meanwhile count nothing."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(task.read_text().split()[0])
            except (OSError, IndexError):
                continue
    return total / 1e9


def memory(pid: int) -> dict[str, float]:
    """What a process has in memory, in MB, by the names of /proc/PID/smaps_rollup."""
    fields = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {field[0].rstrip(":"): int(field[1]) / 1024 for field in fields}


def together(pids: Iterable[int]) -> float:
    """What processes that were forked from each other have in memory, in MB: what they share counts once."""
    found = [memory(pid) for pid in pids]
    return sum(one["Pss_Anon"] for one in found) + max(one["Rss"] - one["Anonymous"] for one in found)


def command(pid: int) -> str:
    """The command line of a process; nothing where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def run_quietly(arguments: list[str], environment: dict[str, str], folder: Path, timeout: float = 120.0) -> str:
    """Run a command to its end: what it says on standard error. Raises where it fails, or takes too long."""
    done = subprocess.run(arguments, env=environment, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{arguments[:3]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stderr
