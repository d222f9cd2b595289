"""The ways a worker starts: as a prepared parent (`parent`), for one job only, or for one run of a comparison."""

from __future__ import annotations

import os
import platform
import socket
import struct
import sys
import sysconfig
from collections.abc import Callable
from typing import BinaryIO, NoReturn

from . import fitting, protocol
from .protocol import Hello, Job, Message


def run_parent(descriptor: int) -> NoReturn:
    """Import torch, warm Dynamo up, then fork a process for each job that the server asks for on the socket, until that closes."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    _claim_standard_streams()
    hello = _prepared_hello()
    control.send(protocol.pack(hello))
    if hello.error:
        os._exit(0)
    from . import devices, parent, warming

    parent.Parent(control, do_job, warming.warm_up, devices.start_cuda).serve()
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


def do_job(channel: int) -> NoReturn:
    """Read one job from a connected socket, do it, and answer there."""
    connection = socket.socket(fileno=channel)
    connection.set_inheritable(False)
    _do(connection.makefile("rb"), _sender(connection.sendall), connection)


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
            for data in fitting.packed(message):
                write(data)
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
        from . import devices, dynamo, job, keeping, preloading, warming  # noqa: F401  # what every job needs
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
        dynamo.leave_measuring_out()
        dynamo.clone_instructions_cheaply()
        warming.warm_up()
        devices.make_ready()
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
