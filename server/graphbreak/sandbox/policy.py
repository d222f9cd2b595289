"""What a program may do, as plain data: made from the settings before anything is started."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.requests import Permissions
from . import secrets, variables

_GIB = 1 << 30

_SPOKEN_TO = ("/var/lib/sss/pipes/nss",)
"""What says only which user has which number."""

_COMMON = ("/tmp", "/var/tmp", "/run", "/etc", "/usr", "/opt", "/var/lib")
"""Folders that are never hidden as a whole, whatever a variable says."""

_NO_FILES = ("/dev/", "/proc/", "/sys/")

_PATH = re.compile(r"(?:^|[:=])(~?/[^:,;=]+)")

_OF_DEVICES = ("CUDA_MPS_PIPE_DIRECTORY",)


@dataclass(frozen=True)
class Policy:
    """One program's rights. All paths are absolute.

    `hidden` cannot be read, `write` may be written beside the private folder, `needed` stays visible where a covered place would hide
    it; unix sockets below `sockets` may be spoken to; `private` are variables that name a place in the private folder; `limits` are
    those of `resource`, `tasks` is how many processes and threads there may be, and of less memory than `memory_left` bytes left on the
    machine a job is ended (0: a share of all); without `require`'s layers nothing is started.
    """

    variables: dict[str, str] = field(hash=False)
    hidden: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    network: bool = False
    require: tuple[str, ...] = ()
    private: dict[str, str] = field(default_factory=dict, hash=False)
    limits: dict[str, int] = field(default_factory=dict, hash=False)
    tasks: int = 1024
    memory_left: int = 0
    enabled: bool = True


def policy_for(
    permissions: Permissions, environment: Mapping[str, str], programs: Sequence[str], worker: str, home: str, cpus: int
) -> Policy:
    """The policy for an interpreter (`programs` are all the paths of it) that runs a worker (by the path of its script), with what the user
    permits. `home` is the user's home folder, `cpus` how many processors there are."""
    if not permissions.enabled:
        return Policy(dict(environment), enabled=False)
    read, write = (tuple(_places(paths, home)) for paths in (permissions.read, permissions.write))
    needed = tuple(dict.fromkeys((home, *_needed(programs, worker, environment), *read)))
    return Policy(
        variables.program_variables(environment, permissions.env, permissions.network, home),
        tuple(path for path in hidden_places(environment, home, needed) if not any(touches(path, allowed) for allowed in (*read, *write))),
        write,
        needed,
        tuple(dict.fromkeys((*_SPOKEN_TO, *read, *write, *(environment[name] for name in _OF_DEVICES if name in environment)))),
        permissions.network,
        permissions.require,
        {name: place for name, place in variables.PRIVATE.items() if name not in permissions.env},
        {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 16 * _GIB, "RLIMIT_NOFILE": 16384, "RLIMIT_CPU": 4 * 3600},
        256 + 16 * cpus,
    )


def _places(paths: Iterable[str], home: str) -> Iterator[str]:
    """The places of paths. Whoever allowed them knew where they lead: one that leads elsewhere now, over a link, is left out."""
    for path in paths:
        if path == "~" or path.startswith("~/"):
            yield os.path.realpath(home + path[1:])
        elif os.path.realpath(path) == (place := os.path.normpath(path)):
            yield place


def hidden_places(environment: Mapping[str, str], home: str, needed: Iterable[str]) -> list[str]:
    """Where secrets are: at their usual places, and where the variables say; never all of a folder that holds something needed."""
    found = [os.path.join(home, name) for name in secrets.IN_HOME] + list(secrets.ON_THE_MACHINE)
    told = []
    for name, value in environment.items():
        if (base := secrets.BASES.get(name)) is not None and os.path.isabs(value):
            told += [os.path.join(value, known[len(base) :]) for known in secrets.IN_HOME if known.startswith(base)]
        elif _names_secret(name.upper()):
            told += _paths_in(value, home)
    kept = [os.path.realpath(path) for path in (*needed, *_COMMON)]
    told = [path for path in told if not any(_is_below(place, os.path.realpath(path)) for place in kept)]
    return list(dict.fromkeys((*found, *(path for path in told if not path.startswith(_NO_FILES)))))


def _names_secret(name: str) -> bool:
    return name in secrets.PLACES or (
        name.endswith(secrets.KINDS_OF_FILE) and not secrets.WORDS_OF_FILES.isdisjoint(variables.words_of(name))
    )


def _paths_in(value: str, home: str) -> Iterator[str]:
    """The paths that the value of a variable names: itself, a list, or the address of a socket (`unix:path=/run/bus,guid=...`)."""
    for path in _PATH.findall(value):
        yield os.path.normpath(home + path[1:] if path.startswith("~") else "/" + path.lstrip("/"))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def touches(hidden: str, allowed: str) -> bool:
    """Whether allowing a place allows a hidden one: it is the same, or lies inside; or the allowed one lies inside the hidden one."""
    hidden = os.path.realpath(hidden)
    return _is_below(hidden, allowed) or _is_below(allowed, hidden)


def _needed(programs: Iterable[str], worker: str, environment: Mapping[str, str]) -> Iterable[str]:
    """Where the interpreter, its packages and the worker are."""
    folders = [os.path.dirname(os.path.dirname(program)) for program in programs if os.path.isabs(program)]
    yield from (os.path.realpath(folder) for folder in folders)  # an environment may be a link itself, which leads nowhere without this
    yield from folders
    yield os.path.dirname(worker)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "HF_HOME", "TORCH_HOME", "HF_HUB_CACHE", "CUDA_HOME", "CUDA_MPS_PIPE_DIRECTORY"):
        if os.path.isabs(environment.get(name, "")):
            yield environment[name]
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD"):
        yield from (os.path.normpath(path) for path in environment.get(name, "").split(os.pathsep) if os.path.isabs(path))
