"""`graphbreak record -- COMMAND`: runs a program as it is, and keeps with what its compiled functions were called."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.recorded import FOLDER, NAME, merged_calls, with_calls

_HOOK = Path(__file__).parent.parent / "worker" / "hook"


def record(options: argparse.Namespace) -> int:
    """Run the command; the exit status is the program's own, or 2 where it cannot be started or nothing can be kept."""
    command = options.command_line[1:] if options.command_line[:1] == ["--"] else options.command_line
    if not command:
        print("graphbreak: say which program to record, for example: graphbreak record -- python train.py --epochs 1", file=sys.stderr)
        return 2
    root = os.getcwd()
    folder = tempfile.mkdtemp(prefix="graphbreak-record-")
    try:
        status = _run(command, recording_variables(folder, root))
        if status is None:
            return 2
        kept = _keep(Path(root, FOLDER, NAME), list(_parts(Path(folder))))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return status if kept or status else 2


def recording_variables(folder: str, root: str) -> dict[str, str]:
    """The environment with the hook on Python's path, before whatever is there already."""
    path = os.pathsep.join(filter(None, (str(_HOOK), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "GRAPHBREAK_RECORD": folder, "GRAPHBREAK_RECORD_ROOT": root}


def _run(command: list[str], variables: dict[str, str]) -> int | None:
    """The program's exit status; None where it cannot be started. Ctrl-C is for the program to answer."""
    program = shutil.which(command[0], path=variables.get("PATH"))
    try:
        process = subprocess.Popen([program or command[0], *command[1:]], env=variables)
    except OSError as error:
        print(f"graphbreak: {command[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status


def _parts(folder: Path) -> Iterator[dict[str, Any]]:
    """What each process of the program noted."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            print(f"graphbreak: what process {path.stem} recorded cannot be read", file=sys.stderr)


def _keep(path: Path, parts: list[dict[str, Any]]) -> bool:
    """Write the calls to the project's file and say so; False where there is nothing to keep, or no way to."""
    calls, notes = merged_calls(parts)
    for note in notes:
        print(f"graphbreak: {note}", file=sys.stderr)
    if not calls:
        print(f"graphbreak: no call of a compiled function can be kept; {path} stays as it is", file=sys.stderr)
        return False
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        text = with_calls(before, calls)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except ValueError as error:
        print(f"graphbreak: {path} is not what was written by graphbreak record ({error}); move it away first", file=sys.stderr)
        return False
    except OSError as error:
        print(f"graphbreak: {path} cannot be written: {error.strerror}", file=sys.stderr)
        return False
    count = sum(map(len, calls.values()))
    what = f"{len(calls)} function{'s' * (len(calls) != 1)} with {count} different call{'s' * (count != 1)}"
    print(f"graphbreak: recorded {what} in {os.path.relpath(path)}", file=sys.stderr)
    return True
