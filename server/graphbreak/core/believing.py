"""What a worker says of things that it was not asked for is left out: it lives in the process of the program, which may say anything."""

from __future__ import annotations

from dataclasses import replace

from ..worker.protocol import CallSeen, Failure, Inferred, MarkSeen, Message
from .inputs import PlannedRun
from .tracing import Run


def believed(run: Run, planned: PlannedRun) -> Run:
    """The run without the messages about example calls and guesses that are not among those planned."""
    count = len(planned.owners)
    messages = tuple(message for message in run.messages if _index(message) < count)
    return run if len(messages) == len(run.messages) else replace(run, messages=messages)


def _index(message: Message) -> int:
    """The number of the example call or guess that a message is about; below 0 where it is about none."""
    if isinstance(message, (MarkSeen, CallSeen, Failure)):
        return message.directive
    if isinstance(message, Inferred):
        return message.guess if message.guess >= 0 else FAR
    return -1


FAR = 1 << 60
"""The number of a guess that cannot have been asked for."""
