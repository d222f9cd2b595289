"""Finding the marks of a workspace of 5,000 files."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..editor import Editor
from ..rows import Row, ratio_row

SECONDS = 300
_MARKED = 200
_FOUND = re.compile(r"1 of (\d+): ")


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """From the command to trace the workspace to the first word of how many files it has, in a server that knows nothing yet."""
    workspace = folder / "workspace"
    workspace.mkdir()
    every = programs.write_workspace(workspace, marked=_MARKED)
    scans, searches = [], []
    for _ in range(pairs + 1):
        scans.append(_scan(workspace, folder / "store"))
        begin = time.perf_counter()
        found = subprocess.run(["grep", "-rl", "compile", str(workspace)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        searches.append(time.perf_counter() - begin)
    words = f"scan of {every:,} files with {_MARKED} marks, cold, against `grep -rl compile` over the same tree"
    row = ratio_row(words, scans[1:], searches[1:], 8.0, "scan / grep")
    yield Row(**{**row.__dict__, "beside": f"{row.beside} (which lists {len(found)} files)"})


def _scan(workspace: Path, store: Path) -> float:
    with Editor(workspace, store, {"run": "manual"}) as editor:
        editor.ask("graphbreak/rule", {"code": "GB0059"})
        time.sleep(0.3)
        begin = time.perf_counter()
        editor.begin("workspace/executeCommand", {"command": "graphbreak.traceWorkspace", "arguments": []})
        told, at = editor.wait(lambda message: bool(_FOUND.search(_progress(message))), begin)
        editor.tell("workspace/executeCommand", {"command": "graphbreak.cancel", "arguments": []})
        found = _FOUND.search(_progress(told))
    if found is None or int(found[1]) != _MARKED:
        raise RuntimeError(f"the scan found other than {_MARKED} files: {_progress(told)}")
    return at - begin


def _progress(message: dict[str, object]) -> str:
    params = message.get("params")
    value = params.get("value") if message.get("method") == "$/progress" and isinstance(params, dict) else None
    return str(value.get("message") or "") if isinstance(value, dict) else ""
