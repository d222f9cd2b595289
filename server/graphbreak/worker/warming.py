"""A small program that takes Dynamo through most of what a trace does: what is imported, read and cached on the way is there for the next
one. Nothing of it stays behind that a program could notice."""

from __future__ import annotations

import linecache
import logging
import random
import warnings
from typing import Any

import torch

from . import dynamo, protocol, reading
from .recorder import Recorder
from .session import Session

_FILE = "<warm-up>"
_PROGRAM = """
import torch

def helper(x):
    print(end="")
    return x * 2

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x, scale=2.0):
        for step in range(2):
            x = torch.relu(self.inner(x)) * scale
        x = helper(x)
        if x.sum() > 0:
            x = x + 1
        return {"out": x.mean(dim=-1), "shape": x.shape[0]}

torch.compile(Net())(torch.ones(2, 4))
"""
"""Not in a file of the worker's, which Dynamo passes over; and nothing that torch warns of, since it does so only once."""


def warm_up() -> None:
    """Trace the small program as a job would. Raises what Dynamo raises where it does not work at all."""
    numbers, values = random.getstate(), torch.get_rng_state()
    filters, level = warnings.filters[:], logging.getLogger(dynamo.TRACE_LOGGER).level
    session = Session(Recorder(lambda message: _packed(message)), lambda: None)
    try:
        trace()
    finally:
        session.end()
        dynamo.forget()
        warnings.filters[:] = filters  # type: ignore[index]
        logging.getLogger(dynamo.TRACE_LOGGER).setLevel(level)
        random.setstate(numbers)
        torch.set_rng_state(values)
    reading.prepare()
    reading.Reading().needed(())  # what it looks through lies in pages of its own by then, in a process that was forked


def trace() -> None:
    """Trace the small program, whatever listens to it. What Dynamo remembers of it is for the caller to forget."""
    linecache.cache[_FILE] = (len(_PROGRAM), None, _PROGRAM.splitlines(keepends=True), _FILE)
    try:
        names: dict[str, Any] = {"__name__": "warm_up"}
        exec(compile(_PROGRAM, _FILE, "exec"), names)
    finally:
        linecache.cache.pop(_FILE, None)


def _packed(message: protocol.Message) -> None:
    protocol.unpack(protocol.pack(message)[protocol.HEADER.size :])
