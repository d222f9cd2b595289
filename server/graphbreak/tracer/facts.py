"""What a result depends on outside of its program's texts, as it is on disk now: the interpreter, its libraries, files and folders."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..core.kept import digest, importable
from ..worker.protocol import Hello, Needed
from .prepared import WORKER

_SITES = ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages")
_OF_TORCH = ("", "version.py", "_dynamo")
_AT_START = ("*.pth", "sitecustomize.py", "usercustomize.py")
_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"]+)", re.MULTILINE)
_TELLING = (
    "TORCH", "PYTORCH", "PYTHON", "CUDA", "OMP_", "MKL", "HF_", "TRITON", "LD_", "LANG", "LC_", "TZ", "HOME", "PATH", "GRAPHBREAK", "KMP_",
    "NCCL", "GLOO", "NVIDIA", "ACCELERATE_", "TRANSFORMERS_", "XDG_", "AT_", "USE_", "DISABLE_",
)  # fmt: skip
_GPUS = ("/dev/nvidiactl", "/dev/kfd")
_MOST_BYTES = 4 * 1024 * 1024
_NO_FILE = "no file"


def stamp(path: str) -> str:
    """When a file or folder was changed, and its size; nothing where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"


def libraries(interpreter: str) -> dict[str, str]:
    """The stamps by which one sees that an interpreter or what is installed for it has changed: of itself, its folders of packages, what
    Python reads of these as it starts, and the torch in them."""
    prefixes = dict.fromkeys(Path(path).parent.parent for path in (interpreter, os.path.realpath(interpreter)))
    sites = [site for prefix in prefixes for pattern in _SITES for site in sorted(prefix.glob(pattern))]
    places = [interpreter, os.path.realpath(interpreter), *(str(prefix / "pyvenv.cfg") for prefix in prefixes), *map(str, sites)]
    places += [str(path) for site in sites for pattern in _AT_START for path in sorted(site.glob(pattern))]
    places += [str(site / "torch" / name) for site in sites for name in _OF_TORCH]
    return {place: stamp(place) for place in places}


def around(torch_folder: str) -> dict[str, str]:
    """The same of a torch, wherever it is installed."""
    places = (os.path.dirname(torch_folder), *(os.path.join(torch_folder, name) for name in _OF_TORCH))
    return {place: stamp(place) for place in places}


def unchanged(libraries: Mapping[str, str]) -> bool:
    """Whether they still are as they were; quick, since it looks for nothing new beside the folders, whose stamps tell of that."""
    return all(stamp(place) == known for place, known in libraries.items())


def is_covered(hello: Hello, known: Mapping[str, str]) -> bool:
    """Whether the stamps are those of the torch that a worker has, and that is still the one on disk."""
    if known.get(os.path.dirname(hello.torch_folder)) is None:
        return False
    try:
        found = _VERSION.search(Path(hello.torch_folder, "version.py").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False
    return found is not None and found[1] == hello.torch


def still(needed: Needed) -> bool:
    """Whether all that a program read, beside the texts that it is made of, is as it was then."""
    files = all(state(path, known) == known for path, known in needed.files.items())
    folders = files and all(_names(folder) == names for folder, names in needed.folders.items())
    return folders and all(importable(_names(folder)) == importable(names) for folder, names in needed.searched.items())


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def state(path: str, known: str = "") -> str:
    """What a file says, named as it is in `known`: by its stamp, or a digest."""
    now = stamp(path)
    if (" " in known and known != _NO_FILE) or not now:
        return now
    try:
        if not os.path.isfile(path):
            return _NO_FILE
        return now if os.path.getsize(path) > _MOST_BYTES else digest(Path(path).read_bytes())
    except OSError:
        return ""


@cache
def own_version() -> str:
    """A name for the worker that is installed here, so that what another one said is not taken for its."""
    modules = sorted(Path(WORKER).parent.rglob("*.py"))
    return digest("\n".join(f"{module.name} {stamp(str(module))}" for module in modules))


def variables_of(variables: Mapping[str, str], telling: bool = True) -> str:
    """A name for the environment's variables: all of them, or those that Python, torch and their like heed."""
    names = sorted(name for name in variables if not telling or name.startswith(_TELLING))
    return digest("\n".join(f"{name}={variables[name]}" for name in names))


def machine() -> list[object]:
    """What a result depends on of this machine."""
    return [sys.platform, platform.machine(), os.cpu_count(), *(os.path.exists(gpu) for gpu in _GPUS)]
