"""Sends what a trace finds as it is found, and keeps the few numbers that say when a program has shown enough."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .protocol import CallSeen, KnownMark, MarkSeen, Message

if TYPE_CHECKING:
    from .reading import Reading

_MOST_INPUTS = 8
_MOST_DESCRIBED = 64


class Recorder:
    """State of one job. `send` puts a message on the pipe; only the job's own process may use it, its children never."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self.recording = True
        self.honour_fullgraph = True
        self.directive = -1
        self.explain = ""
        self.details: list[str] = []
        self.runs: dict[str, int] = {}
        self.notes: list[str] = []
        self.reading: Reading | None = None
        self.traced: set[tuple[str, int]] = set()
        """The lines outside of torch that Dynamo came to, in whatever attempt."""
        self._held: list[Message] | None = None
        self._waiting: list[KnownMark] = []
        self._quiet_seconds = 3.0
        self._quiet_calls = 32
        self._marks: dict[int, MarkSeen] = {}
        self._called: set[int] = set()
        self._inputs: dict[int, set[str]] = {}
        self._described: dict[int, int] = {}
        self._last_record = time.monotonic()
        self._calls_since = 0

    def expect(self, marks: list[KnownMark], quiet_seconds: float, quiet_calls: int) -> None:
        """Which marks the program has to show, and how long nothing new may come before it is ended."""
        self._waiting = list(marks)
        self._quiet_seconds, self._quiet_calls = quiet_seconds, quiet_calls

    def speak_for_a_fork(self, send: Callable[[Message], None]) -> None:
        """This process is a fork of the job's own, made to find something out: what it sends goes this way, and nothing ends it early."""
        self._send, self._pid = send, os.getpid()
        self._lock = threading.RLock()
        self.recording, self._quiet_seconds = True, float("inf")

    def send(self, message: Message) -> None:
        """Send a message, from any thread."""
        if os.getpid() == self._pid:
            with self._lock:
                if self._held is not None:
                    self._held.append(message)
                else:
                    self._send(message)

    def hold(self) -> None:
        """Send nothing until `release`."""
        self._held = []

    def release(self) -> None:
        """Send what was held back, and all that comes."""
        with self._lock:
            held, self._held = self._held or [], None
            for message in held:
                self._send(message)

    def record(self, message: Message) -> None:
        """Send something that Dynamo said."""
        self._last_record = time.monotonic()
        self._calls_since = 0
        if self.recording:
            self.send(message)

    def marked(self, mark: MarkSeen) -> None:
        """A callable was compiled. It is made known even while nothing is recorded, since it may be called later."""
        self._marks[mark.mark] = mark
        self.send(mark)

    def reached(self, mark: int) -> None:
        """A mark's code ran, compiled by itself or as part of another mark."""
        if mark in self._called:
            return
        self._called.add(mark)
        self._last_record = time.monotonic()
        seen = self._marks.get(mark)
        if seen is not None:
            self._waiting = [known for known in self._waiting if not _is_at(known, seen)]

    def called(self, mark: int, describe: Callable[[], str]) -> None:
        """Count a call of a compiled callable, and note inputs that were not seen before."""
        self.reached(mark)
        self._calls_since += 1
        if not self.recording:
            return
        inputs = self._inputs.setdefault(mark, set())
        self._described[mark] = described = self._described.get(mark, 0) + 1
        if len(inputs) < _MOST_INPUTS and described <= _MOST_DESCRIBED:
            summary = describe()
            if summary not in inputs:
                inputs.add(summary)
                self.send(CallSeen(mark, summary, self.directive))

    @property
    def shown_enough(self) -> bool:
        """Whether the program may be ended now: every mark was called, and for a while nothing new has come."""
        every_mark = not self._waiting and self._called.issuperset(self._marks)
        quiet = time.monotonic() - self._last_record
        ours = os.getpid() == self._pid  # a process that the program started is its own affair
        return ours and self.recording and every_mark and self._calls_since >= self._quiet_calls and quiet >= self._quiet_seconds


def _is_at(known: KnownMark, seen: MarkSeen) -> bool:
    return os.path.realpath(known.file) == os.path.realpath(seen.place.file) and known.first_line <= seen.place.line <= known.last_line
