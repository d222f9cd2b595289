"""Many marked functions in many files, on the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..editor import environment
from ..reference import Reference
from ..rows import Row, ratio_row

SECONDS = 600
_FILES, _FUNCTIONS = 50, 4
_TRIVIAL = "import torch\n\n\n@torch.compile\ndef f(x):\n    return x + 1\n\n\nf(torch.ones(2))\n"


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """`check --jobs 2`, less a check of one trivial file but for its trace, against half the sum of warm traces of the files."""
    workspace, alone = folder / "workspace", folder / "alone"
    workspace.mkdir()
    alone.mkdir()
    (alone / "trivial.py").write_text(_TRIVIAL, encoding="utf-8")
    checks, halves = [], []
    with Reference(folder) as reference:
        for number in range(pairs):
            files = _written(workspace, number)
            whole = _checked(workspace, folder / "store", len(files) * _FUNCTIONS)
            start = _checked(alone, folder / "store", 1) - reference.trace(alone / "trivial.py")
            checks.append(whole - start)
            halves.append(sum(reference.trace(path) for path in files) / 2)
    words = (
        f"{_FILES * _FUNCTIONS} marked functions in {_FILES} files, `check --jobs 2`, without its start, against the sum of warm traces / 2"
    )
    yield ratio_row(words, checks, halves, 1.4, "check / half of the traces")


def _written(workspace: Path, number: int) -> list[Path]:
    """The files, other ones each time."""
    paths = [workspace / f"m{index}.py" for index in range(_FILES)]
    for index, path in enumerate(paths):
        path.write_text(programs.several(_FUNCTIONS, number * _FILES + index, broken=index % 2 == 0), encoding="utf-8")
    return paths


def _checked(folder: Path, store: Path, functions: int) -> float:
    shutil.rmtree(store, ignore_errors=True)
    command = [sys.executable, "-m", "graphbreak", "check", "--format", "json", "--jobs", "2", str(folder)]
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment(store), cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    took = time.perf_counter() - begin
    traced = [row for row in json.loads(done.stdout)["functions"] if row["outcome"] == "traced"] if done.stdout else []
    if len(traced) != functions:
        raise RuntimeError(f"{len(traced)} of {functions} functions were traced: {done.stderr[-300:]}")
    return took
