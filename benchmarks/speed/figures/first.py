"""The first squiggle after the server starts, with nothing stored."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .. import programs
from ..editor import Editor
from ..machine import run_quietly
from ..rows import Row, ratio_row
from ..saving import cold_environment

SECONDS = 300


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """From the start of the server's process, against the cold command from its start to its end."""
    path = folder / "program.py"
    path.write_text(programs.small(0), encoding="utf-8")
    starts, commands = [], []
    for number in range(pairs + 1):
        shutil.rmtree(folder / "store", ignore_errors=True)
        with Editor(folder, folder / "store") as editor:
            editor.open(path)
            _, at = editor.wait(lambda message: _has_break(message, path), timeout=120)
            took = at - editor.began
        begin = time.perf_counter()
        run_quietly([sys.executable, str(path)], cold_environment(folder), folder)
        if number:  # the first of each reads torch from the disk
            starts.append(took)
            commands.append(time.perf_counter() - begin)
    yield ratio_row("first squiggle after the server starts, against the cold command", starts, commands, 1.3, "squiggle / command")


def _has_break(message: dict[str, object], path: Path) -> bool:
    params = message.get("params")
    wanted = message.get("method") == "textDocument/publishDiagnostics" and isinstance(params, dict) and params["uri"] == path.as_uri()
    return wanted and any(found.get("code") == "GB0059" for found in params["diagnostics"])  # type: ignore[index]
