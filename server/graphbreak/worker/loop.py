"""The two ways a worker lives: as a prepared parent that forks once per job, or for one job only."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import select
import signal
import socket
import struct
import sys
import sysconfig
import time
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

from . import confinement, protocol
from .protocol import Exited, Fork, Hello, Job, Kill, Message

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def run_parent(descriptor: int) -> NoReturn:
    """Import torch, warm Dynamo up, then fork a process for each job that the server asks for on the socket, until that closes."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    _claim_standard_streams()
    hello = _prepared_hello()
    control.send(protocol.pack(hello))
    if hello.error:
        os._exit(0)
    _Parent(control).serve()
    os._exit(0)


def run_once() -> NoReturn:
    """Read one job from standard input, do it, and answer on standard output; what the program prints goes to standard error."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _claim_standard_streams()

    def write(data: bytes) -> None:
        replies.write(data)
        replies.flush()

    send = _sender(write)
    hello = _prepared_hello()
    send(hello)
    if hello.error:
        os._exit(0)
    _do(requests, send)


def run_observed(folder: str, most_calls: int) -> NoReturn:
    """Read the job of one run of a comparison from standard input, and do it."""
    message = _read(os.fdopen(os.dup(0), "rb"))
    _claim_standard_streams()
    if not isinstance(message, Job):
        os._exit(0)
    import torch

    torch.set_num_threads(1)
    from . import comparing

    comparing.observe(message, folder, most_calls)


def _sender(write: Callable[[bytes], object]) -> Callable[[Message], None]:
    """Sends messages; a job that cannot report any more, since the program closed every descriptor, ends at once."""

    def send(message: Message) -> None:
        try:
            write(protocol.pack(message))
        except OSError:
            os._exit(protocol.CUT_OFF)

    return send


def _claim_standard_streams() -> None:
    """Standard input is empty for the user's code, and what it prints to standard output joins standard error."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)


def _prepared_hello() -> Hello:
    python = platform.python_version()
    if sys.version_info < (3, 10):
        return _hello(error=f"Python {python} ({sys.executable}) is too old to trace with; 3.10 or newer is needed.")
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # asking whether there is CUDA must not start it before the fork
    try:
        import torch

        version = str(torch.__version__)
        from . import session
    except ModuleNotFoundError as error:
        if error.name == "torch":
            return _hello(error=f"There is no torch in {sys.executable}. Install it there, or choose another interpreter.")
        return _hello(error=f"torch cannot be imported by {sys.executable}: {error}")
    except Exception as error:
        return _hello(error=f"torch cannot be imported by {sys.executable}: {type(error).__name__}: {error}")
    try:
        if tuple(int(part) for part in version.split(".")[:2]) < (2, 8):
            return _hello(error=f"torch {version} in {sys.executable} is too old to trace with; 2.8 or newer is needed.")
    except ValueError:
        pass  # a version of its own making: try it
    torch.set_num_threads(1)  # OpenMP's threads do not survive a fork
    try:
        session.warm_up()
    except Exception as error:
        return _hello(error=f"torch.compile does not work in {sys.executable}: {type(error).__name__}: {error}")
    return _hello(version, os.path.dirname(os.path.abspath(torch.__file__)))


def _hello(torch: str = "", torch_folder: str = "", error: str = "") -> Hello:
    paths = sysconfig.get_paths()
    folders = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {
        paths[name] for name in ("stdlib", "purelib")
    }
    if sys.prefix != sys.base_prefix:  # its packages are in the paths above; its folder may hold the project itself
        folders.add(os.path.join(sys.prefix, "bin"))
    return Hello(protocol.VERSION, platform.python_version(), torch, "cpu", os.getpid(), torch_folder, sorted(folders), error)


def _do(requests: BinaryIO, send: Callable[[Message], None], line: socket.socket | None = None) -> NoReturn:
    message = _read(requests)
    if not isinstance(message, Job):
        os._exit(0)
    from . import job

    job.run(message, send, line)


def _read(stream: BinaryIO) -> Message | None:
    header = stream.read(protocol.HEADER.size)
    if len(header) < protocol.HEADER.size:
        return None
    (length,) = struct.unpack(">I", header)
    return protocol.unpack(stream.read(length))


class _Parent:
    """The prepared parent. It holds nothing but the jobs that run; each message on the socket is one packet."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._jobs: dict[int, int] = {}
        self._wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        os.set_blocking(self._wake, False)
        self._wake_end = wake_end
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Fork, kill and report until the server is gone; then end all that runs."""
        while True:
            both: list[Any] = [self._control, self._wake]
            ready, _, _ = select.select(both, [], [])
            if self._wake in ready:
                self._drain()
                self._reap()
            if self._control in ready and not self._answer():
                break
        groups, self._jobs = list(self._jobs.values()), {}
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
            self._fork(message.job, *descriptors)
        elif isinstance(message, Kill) and message.job in self._jobs:
            _kill_group(self._jobs[message.job])
        return True

    def _fork(self, job: int, channel: int, output: int) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                self._become_job(channel, output)
            finally:
                os._exit(70)
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass  # the child has done it already, or is gone
        self._jobs[job] = pid
        os.close(channel)
        os.close(output)

    def _become_job(self, channel: int, output: int) -> NoReturn:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        confinement.keep_signals_in()
        for descriptor in (self._wake, self._wake_end):
            os.close(descriptor)
        self._control.close()
        import atexit

        atexit._clear()  # what the parent's imports registered is not the program's
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        connection = socket.socket(fileno=channel)
        connection.set_inheritable(False)
        _do(connection.makefile("rb"), _sender(connection.sendall), connection)

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
            ended += [(job, pid, os.waitstatus_to_exitcode(status)) for job, known in self._jobs.items() if known == pid]
        for job, pid, status in ended:
            del self._jobs[job]
            self._end_group(pid)
            self._control.send(protocol.pack(Exited(job, status)))

    def _end_group(self, group: int) -> None:
        """End a job's process group, and what left it: as their subreaper the parent inherits those whose own parent is gone.

        That takes a moment, for a process is inherited only once its parent has died, so it is looked for until the group is empty.
        """
        _kill_group(group)
        for _ in range(400):
            strays = _children() - set(self._jobs.values())
            for pid in strays:
                _kill(pid)
            if not strays and not _exists(group):
                return
            time.sleep(0.005)
        os._exit(protocol.CUT_OFF)  # they multiply faster than they are ended: in a sandbox they all end with this process


def _children() -> set[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return {int(pid) for pid in file.read().split()}
    except (OSError, ValueError):
        return set()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except OSError:
        return


def _exists(group: int) -> bool:
    """Whether a process group has a member, be it one that is only waiting to be reaped."""
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except OSError:
            continue


def _prctl(option: int, value: int) -> None:
    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (AttributeError, OSError):
        return  # not Linux: the server ends the group itself
