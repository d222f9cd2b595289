"""What stays of a job after its end: a process that holds the program's objects, and traces single edited functions of it when asked to.

It makes the calls of the compiled callables once more, in eager mode, with only the edited function compiled: so that is given its true
inputs, wherever they come from, and no more is traced than that. Each request is answered by a fork, so that none leaves anything
behind; the fork is made ahead.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import threading
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from . import devices, dynamo, fitting, protocol, recording
from .protocol import Focus, Focused, Message

if TYPE_CHECKING:
    from .marks import Marks
    from .recorder import Recorder
    from .session import Session

Functions = dict[str, list[types.FunctionType]]
"""Functions that are alive, by the file that they are written in."""

_MOST_CALLS = 4
_DEEPEST = 4
_SETTLED = 57
"""The exit status of a fork that has said all that it had to say."""


@dataclass(frozen=True)
class Call:
    """A call of a compiled callable, with the modes that it was made in. `versions` tell whether its tensors were written to since."""

    mark: int
    function: Callable[..., object]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    modes: dict[str, Any]
    versions: tuple[int, ...]


class Keeping:
    """Notes the first call of each compiled callable of a job that may be kept: of one that took Dynamo `least` seconds or more (0: of
    none)."""

    def __init__(self, least: float) -> None:
        self._least = least
        self._calls: dict[int, Call] = {}

    def note(self, marks: Marks, mark: int, values: Any) -> None:
        """A compiled callable is being called; `values` are the variables of its wrapper's frame."""
        if self._least <= 0 or mark in self._calls or len(self._calls) >= _MOST_CALLS:
            return
        args, kwargs = tuple(values.get("args", ())), dict(values.get("kwargs", {}))
        function = marks.wrapper(mark, values.get("fn"))
        self._calls[mark] = Call(mark, function, args, kwargs, recording.surroundings(), _versions(args, kwargs))

    def calls(self, seconds: float) -> list[Call]:
        """The calls that can be made again, once the program is over; `seconds` is how long Dynamo was at work."""
        if self._least <= 0 or seconds < self._least or sys.platform != "linux":
            return []
        if threading.active_count() > 1 or devices.cuda_is_started():  # neither survives a fork
            return []
        return [call for call in self._calls.values() if call.versions == _versions(call.args, call.kwargs)]


def _versions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
    """How often each tensor among the arguments, or in lists and dictionaries there, was written to."""
    found: list[int] = []

    def look(value: Any, depth: int) -> None:
        if isinstance(value, torch.Tensor):
            found.append(-1 if value.is_inference() else value._version)
        elif type(value) is dict:
            look(list(value.values()), depth)
        elif type(value) in (list, tuple) and depth < _DEEPEST:
            found.append(len(value))
            for item in value:
                look(item, depth + 1)

    look([*args, *kwargs.values()], 0)
    return tuple(found)


def functions_of(root: str) -> Functions:
    """All functions that are alive and written in a file below a folder."""
    found: Functions = {}
    for value in gc.get_objects():
        if type(value) is types.FunctionType and value.__code__.co_filename.startswith(root + os.sep):
            found.setdefault(value.__code__.co_filename, []).append(value)
    return found


def serve(session: Session, recorder: Recorder, calls: list[Call], root: str, line: socket.socket) -> NoReturn:
    """Answer the requests that come on the job's line until that is closed."""
    from . import focusing

    dynamo.reset()
    functions = functions_of(root)
    codes = focusing.codes_of(path for path in functions if any(file == path for file, _ in session.trace.traced))

    def work(asked: Focus, send: Callable[[Message], None]) -> None:
        recorder.speak_for_a_fork(send)
        focusing.run(session, recorder, calls, functions, codes, asked)

    gc.collect()
    gc.freeze()
    ready = _Fork(work)
    while (message := _receive(line)) is not None:
        if isinstance(message, Focus):
            ready.answer(message, line)
            ready = _Fork(work)
    os._exit(0)


def _receive(line: socket.socket) -> Message | None:
    header = line.recv(protocol.HEADER.size, socket.MSG_WAITALL)
    if len(header) < protocol.HEADER.size:
        return None
    return protocol.unpack(line.recv(protocol.HEADER.unpack(header)[0], socket.MSG_WAITALL))


class _Fork:
    """A fork of this process, made ahead: what a trace writes to is its own already when the request comes that it is for."""

    def __init__(self, work: Callable[[Focus, Callable[[Message], None]], None]) -> None:
        self._line, theirs = socket.socketpair()
        self._process = os.fork()
        if self._process == 0:
            try:
                self._line.close()
                _be_ready(theirs)
                asked = _receive(theirs)
                if isinstance(asked, Focus):
                    work(asked, lambda message: theirs.sendall(b"".join(fitting.packed(message))))
                os._exit(_SETTLED)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        theirs.close()

    def answer(self, asked: Focus, line: socket.socket) -> None:
        """Have it do a request, and pass on to the server what it says; ends it if the server says something before it is done."""
        try:
            self._line.sendall(protocol.pack(asked))
            to_the_end = _relay(self._line, line)
        except OSError:
            to_the_end = False
        if not to_the_end:
            os.kill(self._process, signal.SIGKILL)
        self._line.close()
        status = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        if status != _SETTLED:
            line.sendall(protocol.pack(Focused(asked.number, False, f"its process ended with status {status}")))


def _be_ready(line: socket.socket) -> None:
    """Trace something small, unless there is something to do."""
    from . import warming

    both: list[Any] = [line]
    if not select.select(both, [], [], 0)[0]:
        try:
            warming.trace()
        except Exception:
            pass  # the program may have changed torch in any way; it is only slower then
        dynamo.reset()


def _relay(fork: socket.socket, line: socket.socket) -> bool:
    """Pass messages on, whole ones only, so that who makes them can be ended at any time. False where the server says something new, or is
    gone, before they end."""
    data = bytearray()
    while True:
        both: list[Any] = [fork, line]
        ready, _, _ = select.select(both, [], [])
        if line in ready:
            return False
        piece = fork.recv(1 << 16)
        if not piece:
            return True
        data += piece
        while len(data) >= protocol.HEADER.size:
            end = protocol.HEADER.size + protocol.HEADER.unpack(bytes(data[: protocol.HEADER.size]))[0]
            if len(data) < end:
                break
            line.sendall(bytes(data[:end]))
            del data[:end]
