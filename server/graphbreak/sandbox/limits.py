"""Layer: limits on what one program can use up, and the low priority it runs with."""

from __future__ import annotations

import os
import resource

from . import system

LIMITS, TASKS, QUIET = "limits", "task limit", "no new privileges"

_RESERVED = 300
"""The ids below this one are given out only once."""

_PER_NAMESPACE = (6, 14)
"""The Linux from which on the largest process id is a namespace's own affair."""


def bound_tasks(most: int) -> bool:
    """Let at most so many processes and threads exist in this process namespace; for the first process in it. False where that is not to
    be had."""
    try:
        release = tuple(int(part) for part in os.uname().release.split(".")[:2])
        if release < _PER_NAMESPACE or os.getpid() != 1:
            return False
        with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as file:
            file.write(str(most + _RESERVED))
    except (OSError, ValueError):
        return False
    return True


def apply(limits: dict[str, int]) -> None:
    """Set the limits by their names in `resource` (such as `RLIMIT_FSIZE`), none above what is in force already."""
    for name, wanted in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(number, (value, value))
    os.nice(3)


def go_first() -> None:
    """Should the machine's memory run out all the same, let this process and what it starts be the first to go."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("500")
    except OSError:
        return


def forbid_core_files() -> None:
    """Write nothing when this process crashes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def forbid_new_privileges() -> None:
    """See `system`; a layer of its own, since Landlock and seccomp rest upon it."""
    system.forbid_new_privileges()
