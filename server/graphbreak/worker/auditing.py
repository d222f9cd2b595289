"""Hears what CPython tells of a program as it happens (PEP 578). Dynamo alone causes such events by the hundred thousand, so one listener
hears for all, and an event that nobody heeds costs next to nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Heed = Callable[..., object]
Wrong = Callable[[str, Exception], object]

_heeded: dict[str, list[tuple[Heed, Wrong]]] = {}
_busy = threading.local()
_listens_in = 0
CALLER = 3
"""How many frames above a `Heed` the code is that caused the event."""


def hear(events: Mapping[str, Heed], wrong: Wrong) -> None:
    """From now on these are called with the arguments of their events, in this process only, and not for what they do themselves.

    What they raise goes to `wrong`: the program must not notice that somebody listens.
    """
    global _listens_in
    for event, heed in events.items():
        _heeded.setdefault(event, []).append((heed, wrong))
    if _listens_in != os.getpid():
        _listens_in = os.getpid()
        sys.addaudithook(_hear)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """What is done inside is no doing of the program's."""
    before, _busy.now = getattr(_busy, "now", False), True
    try:
        yield
    finally:
        _busy.now = before


def _hear(event: str, arguments: tuple[Any, ...], heeded: Mapping[str, object] = _heeded) -> None:
    if event in heeded:
        _tell(event, arguments)


def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    if getattr(_busy, "now", False) or os.getpid() != _listens_in:
        return
    _busy.now = True
    try:
        for heed, wrong in _heeded[event]:
            try:
                heed(*arguments)
            except Exception as error:
                wrong(event, error)
    finally:
        _busy.now = False
