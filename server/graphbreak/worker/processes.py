"""What the prepared parent does with processes: finds those below it, and ends them."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Inherit the processes below this one whose own parent is gone."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Be killed when the process that forked this one ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def children() -> set[int]:
    """The processes that this one has started or inherited and not yet waited for."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return {int(pid) for pid in file.read().split()}
    except (OSError, ValueError):
        return set()


def kill(pid: int) -> None:
    """End a child and wait for it."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except OSError:
        return


def exists(group: int) -> bool:
    """Whether a process group has a member, be it one that is only waiting to be reaped."""
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def kill_group(pid: int) -> None:
    """End a process group, or its leader alone where it has not become one yet."""
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except OSError:
            continue


def _prctl(option: int, value: int) -> None:
    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (AttributeError, OSError):
        return  # not Linux: the server ends the group itself
