"""PyTorch's list of graph break types, found on disk beside the interpreter's torch. Torch is not imported for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ..core.registry import RegistryEntry, parse_registry

_FILE = Path("_dynamo", "graph_break_registry.json")
_SITES = ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages")
_ASK = "import sysconfig; print(*{sysconfig.get_path(name) for name in ('purelib', 'platlib')}, sep='\\n')"


def read_registry(interpreter: str) -> dict[str, RegistryEntry]:
    """The entries by code; none where there is no torch, or one without a list (before 2.8)."""
    torch = _torch_folder(interpreter)
    if torch is None:
        return {}
    try:
        return parse_registry((torch / _FILE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def _torch_folder(interpreter: str) -> Path | None:
    """Where the interpreter would import torch from: its own site-packages, else where it says that these are. It is started without what
    the environment would have it run (`-I -S`), since that is not for outside of the sandbox."""
    prefixes = Path(interpreter).parent, Path(interpreter).parent.parent  # of Scripts or bin, and on Windows outside an environment
    for place in (place for prefix in prefixes for pattern in _SITES for place in sorted(prefix.glob(pattern))):
        if (place / "torch" / _FILE).is_file():
            return place / "torch"
    try:
        answer = subprocess.run([interpreter, "-I", "-S", "-c", _ASK], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    places = [Path(line) for line in answer.splitlines()]
    return next((place / "torch" for place in places if (place / "torch" / _FILE).is_file()), None)
