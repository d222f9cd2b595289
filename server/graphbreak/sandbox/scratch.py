"""A private temporary folder on the machine itself, where there is no mount namespace to have one in. It goes with the program; what a
killed program leaves is removed by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil

_PREFIX = "graphbreak-sandbox-"
_OWNER = ".owner"


def make(temporary: str) -> str:
    """Make the folder, and hold on to it until this process ends."""
    path = os.path.join(temporary, f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
    os.mkdir(path, 0o700)
    descriptor = os.open(os.path.join(path, _OWNER), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return path


def remove(path: str) -> None:
    """Remove the folder with all that is in it."""
    shutil.rmtree(path, ignore_errors=True)


def sweep(temporary: str) -> None:
    """Remove the folders of programs that were killed: those of this user that nobody holds on to."""
    for name in os.listdir(temporary):
        path = os.path.join(temporary, name)
        if name.startswith(_PREFIX) and not _is_held(path):
            remove(path)


def _is_held(path: str) -> bool:
    """Whether somebody uses the folder, or it is none of ours."""
    try:
        descriptor = os.open(os.path.join(path, _OWNER), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        if os.fstat(descriptor).st_uid != os.getuid():
            return True
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
