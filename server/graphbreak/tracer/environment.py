"""Which Python a worker runs under, and with which variables."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

_TURNS_COMPILE_OFF = (
    "TORCH_COMPILE_DISABLE",
    "TORCHDYNAMO_DISABLE",
    "TORCHDYNAMO_SUPPRESS_ERRORS",
    "TORCH_COMPILE_DEBUG",
    "TORCH_LOGS",
    "TORCH_LOGS_OUT",
    "TORCH_TRACE",
    "TORCHDYNAMO_VERBOSE",
)


def worker_variables(variables: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The environment of a worker, and a sentence for each variable that was left out because it would falsify the trace."""
    kept = {name: value for name, value in variables.items() if name not in _TURNS_COMPILE_OFF}
    notes = [f"{name}={variables[name]} was unset for the trace." for name in _TURNS_COMPILE_OFF if name in variables]
    return kept, notes


def choose_interpreter(setting: str | None, root: str, variables: Mapping[str, str]) -> str:
    """The Python to trace with: the setting; else an active environment that has torch; else `.venv` in the folder; else the server's own
    if that has torch; else `python3`. The path may not exist; starting it then says so."""
    if setting:
        return _resolved(setting, root)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = variables.get(name)
        if prefix and _has_torch(Path(prefix)):
            return str(_python_in(Path(prefix)))
    local = Path(root) / ".venv"
    if _python_in(local).exists():
        return str(_python_in(local))
    if importlib.util.find_spec("torch") is not None:  # looks for it without importing it
        return sys.executable
    return shutil.which("python3") or shutil.which("python") or "python3"


def paths_of(interpreter: str) -> tuple[str, ...]:
    """All the paths that are needed to start an interpreter: its own, those its links lead over, and what a script of that name is run
    by."""
    found = _links(interpreter)
    try:
        with open(interpreter, "rb") as file:
            line = file.readline(1024)
    except OSError:
        return tuple(found)
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    return tuple(dict.fromkeys((*found, *(path for word in words[:1] for path in _links(word)))))


def _links(path: str) -> list[str]:
    """A path, each one that it is a link to, and where that is in the end."""
    found = [path]
    while os.path.islink(path) and len(found) < 40:
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        found.append(path)
    return [*found, os.path.realpath(path)]


def _resolved(setting: str, root: str) -> str:
    """A setting may be a path (absolute, from the home folder, or relative to the workspace folder) or the name of a command."""
    expanded = os.path.expanduser(setting)
    if os.path.isabs(expanded):
        return expanded
    if os.sep in expanded or (os.altsep and os.altsep in expanded):
        return os.path.join(root, expanded)
    return shutil.which(expanded) or expanded


def _python_in(prefix: Path) -> Path:
    return prefix / "Scripts" / "python.exe" if os.name == "nt" else prefix / "bin" / "python"


def _has_torch(prefix: Path) -> bool:
    places = [prefix / "Lib" / "site-packages"] if os.name == "nt" else sorted(prefix.glob("lib/python3*/site-packages"))
    return any((place / "torch" / "__init__.py").exists() for place in places)
