"""Stands beside the program: tells the server what is in force, puts back what it needs to see, watches the memory, and leaves nothing
behind.

In a process namespace it is the first process, whose end is the end of all others.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

WATCH = "memory watch"

_TICK, _IDLE_TICK = 0.1, 1.0
_PACKET = 1 << 16
_MIB = 1 << 20
_LOWEST = 256 * _MIB
_SHARE = 25
_GUILTY = 512 * _MIB


class Line:
    """The way to the server: one packet for each object."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)
        self.descriptor = descriptor

    def tell(self, **words: Any) -> None:
        """Say something, if there is still somebody to hear it."""
        try:
            self._socket.send(json.dumps(words).encode())
        except OSError:
            return

    def hear(self) -> dict[str, Any] | None:
        """What the server says; None when it is gone."""
        try:
            data = self._socket.recv(_PACKET)
            return json.loads(data) if data else None
        except (OSError, ValueError):
            return None


def supervise(watch: Watch, obey: Callable[[dict[str, Any]], None]) -> int:
    """Stay until the program ends; returns its status as `waitpid` has it. `obey` does what the server asks for, and gets an empty order
    at each tick. A single program is one job; any other one is prepared first, and starts a process for each job, from the order to show
    something until that to tidy up."""
    program, single, line = watch.program, watch.single, watch.line
    wake, wake_end = os.pipe()
    for descriptor in (wake, wake_end):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    listening = [line.descriptor, wake]
    busy, obeyed = True, time.monotonic()
    while True:
        ready, _, _ = select.select(listening, [], [], _TICK if busy else _IDLE_TICK)
        if wake in ready:
            _drain(wake)
        ended = _reap(program)
        if ended is not None:
            return ended
        if line.descriptor in ready:
            order = line.hear()
            if order is None:
                listening.remove(line.descriptor)  # the server has let go of it, and ends the program by its own line
            else:
                busy = single or "show" in order or (busy and not ("tidy" in order or "ready" in order))
                obey(order)
                line.tell(done=order)
        if time.monotonic() - obeyed >= (_TICK if busy else _IDLE_TICK):
            obeyed = time.monotonic()
            obey({})
        watch.look()


def _drain(wake: int) -> None:
    try:
        while os.read(wake, 512):
            pass
    except BlockingIOError:
        return


def _reap(program: int) -> int | None:
    """Wait for whoever ended; the status of the program if that was among them."""
    ended = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended if ended is not None else 0
        if pid == 0:
            return ended
        if pid == program:
            ended = status


def end_all_others() -> None:
    """Kill every descendant that is left, for a supervisor without a process namespace."""
    for _ in range(200):
        left = list(descendants(os.getpid()))
        for pid in left:
            _kill(pid)
        _reap(-1)
        if not left:
            return
        time.sleep(0.005)


class Watch:
    """Ends what has taken the memory, before the machine has less than `least` bytes left (0: than a share of all)."""

    def __init__(self, program: int, single: bool, line: Line, least: int, files: Callable[[], int]) -> None:
        """A `single` program is one job. `files` says how much of the memory the temporary files take."""
        self.program, self.single, self.line = program, single, line
        self._least, self._files = least, files

    def look(self) -> None:
        """End the job that has taken the memory, or the program itself where that has. Temporary files count for the largest job: whose
        they are is not known, and they go when no job is left."""
        available, total = memory()
        if available > (self._least or max(_LOWEST, total // _SHARE)):
            return
        files, most = self._files(), min(_GUILTY, total // 8)
        jobs = [self.program] if self.single else children(self.program)
        sizes = {job: files + sum(resident(pid) for pid in (job, *descendants(job))) for job in jobs}
        job = max(sizes, key=lambda pid: sizes[pid], default=0)
        if not job or sizes[job] < most:
            job, most = self.program, _GUILTY
            sizes[job] = files + resident(job)
        if sizes[job] < most:
            return  # it is somebody else who has the memory
        self.line.tell(memory=sizes[job], available=available)
        for pid in [job, *descendants(job)]:
            _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def children(pid: int) -> list[int]:
    """The processes that one has started and not yet waited for."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return found
    return found


def descendants(pid: int) -> Iterator[int]:
    """The processes below one."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def resident(pid: int) -> int:
    """The memory of a process that is nobody else's, in bytes, shared memory included."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            sizes = dict(line.split(":", 1) for line in file if line.startswith(("RssAnon:", "RssShmem:")))
    except OSError:
        return 0
    return sum(int(text.split()[0]) * 1024 for text in sizes.values())


def memory() -> tuple[int, int]:
    """What is left of the memory that this process may use, and how much that is in all, in bytes."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
    except OSError:
        sizes = {}
    available, total = sizes.get("MemAvailable", 1 << 62), sizes.get("MemTotal", 1 << 62)
    limit, used = _of_group("memory.max", "memory.limit_in_bytes"), _of_group("memory.current", "memory.usage_in_bytes")
    if limit and used is not None and limit < total:
        return min(available, limit - used), limit
    return available, total


def _of_group(name: str, older_name: str) -> int | None:
    """A number of the control group that a container makes its root."""
    for path in (f"/sys/fs/cgroup/{name}", f"/sys/fs/cgroup/memory/{older_name}"):
        try:
            with open(path, encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            continue
    return None
