"""Notices that the editor is gone.

An editor that is killed sends no `exit`. Mostly its end of the pipe closes; where another process holds that open, the
process id that it gave at the start is the only sign.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

POLL = 2.0
"""Seconds between two looks at the editor's process."""

GRACE = 10.0
"""Seconds in which an orderly end must be done."""


def watch(pid: int | None, gone: Callable[[], object], over: threading.Event) -> None:
    """Call `gone` (from another thread) when the process ends, unless `over` is set before.

    An id that names no process from the start is one of another machine or container, and says nothing.
    """
    if pid is not None and pid > 0 and is_alive(pid):
        threading.Thread(target=_wait_for_end, args=(pid, gone, over), name="editor", daemon=True).start()


def _wait_for_end(pid: int, gone: Callable[[], object], over: threading.Event) -> None:
    """A thread and not a task: writing into a pipe that is full and that nobody reads any more stops the event loop."""
    while is_alive(pid):
        if over.wait(POLL):
            return
    gone()
    if not over.wait(GRACE):
        os._exit(1)


def is_alive(pid: int) -> bool:
    """Whether there is a process with this id."""
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # it is somebody else's, or no id of this system: no sign of an end
    return True


def _is_alive_on_windows(pid: int) -> bool:
    if sys.platform != "win32":
        return True
    import ctypes

    synchronize, still_running, access_denied = 0x00100000, 0x102, 5
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    handle = kernel.OpenProcess(synchronize, False, pid)
    if not handle:
        return bool(ctypes.get_last_error() == access_denied)
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == still_running)
    finally:
        kernel.CloseHandle(handle)
