"""The prepared parent: forks a process for each job, and keeps one forked ahead that is warm.

What a fork writes to for the first time is copied, page by page, and a first trace writes to a lot. So a *spare* is forked while nothing
else is to be done; it traces something small of its own and then waits for the job that it becomes.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from . import confinement, processes, protocol
from .protocol import Exited, Fork, Grow, Grown, Kill, Message, Spare

_PAUSE_SECONDS = 0.05
_BUSY_SECONDS = 1.0
_MOST_FAILURES = 3


class Parent:
    """It holds nothing but its children; each message on the control socket is one packet. `do_job` is what a job's process does with
    its own socket, `warm_up` what a spare does first, and then `start_cuda` where the next job is expected to use it."""

    def __init__(
        self,
        control: socket.socket,
        do_job: Callable[[int], NoReturn],
        warm_up: Callable[[], None],
        start_cuda: Callable[[], bool],
        grown: bool = False,
    ) -> None:
        self._control, self._do_job, self._warm_up, self._start_cuda, self._grown = control, do_job, warm_up, start_cuda, grown
        self._jobs: dict[int, int] = {}
        self._spare, self._line = 0, None  # type: tuple[int, socket.socket | None]
        self._ready, self._failures = False, 0
        self._on_cuda, self._wants_cuda, self._cuda_works = False, False, True
        self._branches: set[int] = set()
        self._last = time.monotonic()
        self._wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        os.set_blocking(self._wake, False)
        self._wake_end = wake_end
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        processes.adopt_orphans()
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Fork, kill and report until the server is gone; then end all that runs."""
        while True:
            listening: list[Any] = [self._control, self._wake]
            if self._line is not None and not self._ready:
                listening.append(self._line)
            ready, _, _ = select.select(listening, [], [], self._until_spare())
            if self._wake in ready:
                self._drain()
                self._reap()
            if self._line is not None and self._line in ready:
                self._hear_spare()
            if self._control in ready and not self._answer():
                break
            if self._until_spare() == 0:
                self._make_spare()
        self._drop_spare()
        groups, self._jobs, self._branches = [*self._jobs.values(), *self._branches], {}, set()
        for group in groups:
            self._end_group(group)

    def _drain(self) -> None:
        try:
            while os.read(self._wake, 512):
                pass
        except BlockingIOError:
            return

    def _answer(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, 65536, 2)
        except ConnectionError:
            return False
        if not data:
            return False
        message = protocol.unpack(data[protocol.HEADER.size :])
        if isinstance(message, Fork):
            self._choose(message.cuda)
            self._start(message.job, *descriptors)
        elif isinstance(message, Kill) and message.job in self._jobs:
            processes.kill_group(self._jobs[message.job])
        elif isinstance(message, Grow):
            control = socket.socket(fileno=descriptors[0])
            self._branches.add(self._fork(lambda: self._become_parent(message.modules, control)))
            control.close()
        return True

    def _become_parent(self, modules: list[str], control: socket.socket) -> NoReturn:
        """Be a parent of the second level, which has imported libraries too; its jobs find them when they ask for them."""
        from . import preloading

        loaded = preloading.load(modules)
        control.send(protocol.pack(Grown(loaded.files, loaded.left_out)))
        if not loaded.left_out:
            preloading.current = preloading.Preloaded(loaded.units)
            preloading.current.hide()
            Parent(control, self._do_job, self._warm_up, self._start_cuda, grown=True).serve()
        os._exit(0)

    # Jobs

    def _start(self, job: int, channel: int, output: int) -> None:
        """Have the spare become the job, or a fresh fork where there is none that is ready."""
        self._last = time.monotonic()
        pid = self._hand_over(channel, output) or self._fork(lambda: self._become_job(channel, output))
        self._jobs[job] = pid
        os.close(channel)
        os.close(output)

    def _fork(self, work: Callable[[], NoReturn]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                self._leave_parent()
                work()
            finally:
                os._exit(70)
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass  # the child has done it already, or is gone
        return pid

    def _leave_parent(self) -> None:
        """A child begins: it has nothing of the parent's, and can do nothing to it."""
        os.setpgid(0, 0)
        processes.end_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        confinement.keep_signals_in()
        for descriptor in (self._wake, self._wake_end):
            os.close(descriptor)
        self._control.close()
        if self._line is not None:
            self._line.close()
        self._forget_exits()

    def _forget_exits(self) -> None:
        """What the parent's imports registered is not the program's; what the program's own did, when they were made ahead, is."""
        if not self._grown:
            atexit._clear()

    def _become_job(self, channel: int, output: int) -> NoReturn:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        self._do_job(channel)

    # The spare

    def _choose(self, cuda: bool) -> None:
        """A job comes: a spare on which CUDA is started is for those that use it alone, since it cannot be forked, nor go without. The next
        job is taken for one like this."""
        self._wants_cuda = cuda and self._cuda_works
        if self._spare and self._on_cuda != self._wants_cuda:
            self._drop_spare()

    def _until_spare(self) -> float | None:
        """How many seconds from now a spare is to be made; None while there is one, or nothing to make it with.

        It must take no time from a job: it is made when none runs, or beside one that takes long.
        """
        if self._spare or self._failures >= _MOST_FAILURES:
            return None
        pause = _BUSY_SECONDS if self._jobs else _PAUSE_SECONDS
        return max(0.0, self._last + pause - time.monotonic())

    def _make_spare(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line, self._on_cuda = ours, self._wants_cuda
        self._spare = self._fork(lambda: self._be_spare(theirs))
        theirs.close()

    def _be_spare(self, line: socket.socket) -> NoReturn:
        """Warm up, say so, and wait to be given the job's socket and the end for its output."""
        self._warm_up()
        if self._on_cuda and not self._start_cuda():
            line.send(b"")
            os._exit(0)
        self._forget_exits()
        gc.collect()
        gc.freeze()
        line.send(b"ready")
        data, descriptors, _, _ = socket.recv_fds(line, 16, 2)
        if not data:
            os._exit(0)
        line.close()
        self._become_job(*descriptors)

    def _hear_spare(self) -> None:
        assert self._line is not None
        try:
            self._ready = bool(self._line.recv(16))
        except OSError:
            self._ready = False
        if self._ready:
            self._failures = 0
            self._tell(Spare(True))
        else:
            if self._on_cuda:  # the next one goes without
                self._cuda_works = self._wants_cuda = False
            self._let_go_of_spare(failed=True)

    def _hand_over(self, channel: int, output: int) -> int:
        """Give a job to the spare; returns its process, 0 where none is ready."""
        if not self._ready or self._line is None:
            return 0
        pid = self._spare
        try:
            socket.send_fds(self._line, [b"job"], [channel, output])
        except OSError:
            pid = 0
        self._let_go_of_spare(failed=pid == 0)
        return pid

    def _let_go_of_spare(self, failed: bool) -> None:
        if self._ready:
            self._tell(Spare(False))
        if self._line is not None:
            self._line.close()
        self._spare, self._line, self._ready = 0, None, False
        self._failures += failed

    def _drop_spare(self) -> None:
        spare = self._spare
        self._let_go_of_spare(failed=False)
        if spare:
            self._end_group(spare)

    # Ends

    def _reap(self) -> None:
        """Report the jobs that ended, and end what they left behind."""
        ended = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self._spare:
                self._let_go_of_spare(failed=True)
            if pid in self._branches:
                self._branches.discard(pid)
                self._end_group(pid)
            ended += [(job, pid, os.waitstatus_to_exitcode(status)) for job, known in self._jobs.items() if known == pid]
        for job, pid, status in ended:
            del self._jobs[job]
            self._end_group(pid)
            self._last = time.monotonic()
            self._tell(Exited(job, status))

    def _tell(self, message: Message) -> None:
        try:
            self._control.send(protocol.pack(message))
        except OSError:
            return  # the server is gone, which is noticed where it is listened to

    def _end_group(self, group: int) -> None:
        """End a job's process group, and what left it: as their subreaper the parent inherits those whose own parent is gone.

        That takes a moment, for a process is inherited only once its parent has died, so it is looked for until the group is empty.
        """
        processes.kill_group(group)
        for _ in range(400):
            strays = processes.children() - {*self._jobs.values(), *self._branches, self._spare}
            for pid in strays:
                processes.kill(pid)
            if not strays and not processes.exists(group):
                return
            time.sleep(0.005)
        os._exit(protocol.CUT_OFF)  # they multiply faster than they are ended: in a sandbox they all end with this process
