"""Messages as they cross the pipe, each so small that the server looks at it: of a larger one the first part, and that there was more."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import protocol
from .protocol import Cut, Message, Needed
from .protocol_values import unfit

_WORDS = {"ops": "operations in one graph", "lines": "lines in one graph", "frames": "frames", "text": "characters of text"}


def packed(message: Message) -> list[bytes]:
    """What is to be sent of a message."""
    data = protocol.pack(message)
    if not unfit(data):
        return [data]
    if isinstance(message, Needed):  # half of it would be wrong
        return [protocol.pack(Needed({}, {}, {}, {}, [], [], ["depends on more than can be told"]))]
    cut: dict[str, int] = {}
    while unfit(data):
        sizes = {name: _size(value) for name, value in vars(message).items() if isinstance(value, (str, list, dict)) and value}
        if not sizes:
            break
        name = max(sizes, key=lambda name: sizes[name])
        value = getattr(message, name)
        half: Any = dict(list(value.items())[: len(value) // 2]) if isinstance(value, dict) else value[: len(value) // 2]
        changed: Any = {name: half}
        message = dataclasses.replace(message, **changed)
        cut[name] = len(half)
        data = protocol.pack(message)
    said = (Cut(f"{count:,} {_WORDS.get(name, name)} of {type(message).__name__}") for name, count in cut.items())
    return [*map(protocol.pack, said), data]


def _size(value: object) -> int:
    """Roughly how much of the message a value is."""
    return len(repr(value))
