"""Plain values as what the types of a message's fields say; the other half of `protocol`."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing

_LARGEST = 2**53
FURTHEST = 2**30
"""No line and no column of a file is beyond it, and editors take none that is much larger."""
ASSERTED = "assert "
"""How an operation's name begins that has the graph raise where something does not hold of sizes that depend on data."""
_OF_PLACES = frozenset({"line", "first_line", "last_line", "end_line", "column", "end_column"})
_LINES = frozenset({"lines", "ops"})
_NAMES = {str}
_PAIRS = list[list[typing.Union[str, int]]]
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.*)_at_\d+$")
_hints = functools.cache(typing.get_type_hints)

MAX_MESSAGE = 4 * 1024 * 1024
"""So many bytes of what a worker says are looked at in one go: a graph of 5,000 operations takes less than one million."""
MAX_VALUES = 100_000
"""And so many values, since many small ones take longer than a large one; by their commas, those within texts included."""


class ProtocolError(Exception):
    """What arrived is not a message of ours."""


def unfit(data: bytes) -> str:
    """Why a message of a worker is not looked at at all, or nothing."""
    if len(data) > MAX_MESSAGE:
        return f"a message of {len(data)} bytes"
    values = data.count(b",")
    return f"a message of more than {MAX_VALUES} values" if values > MAX_VALUES else ""


def plain_name(name: str) -> str:
    """A function's name without what Dynamo put around it for the part after a break."""
    match = _RESUMED.match(name)
    return match.group(1) if match else name


def built(cls: type, values: typing.Any) -> typing.Any:
    """The instance of a frozen dataclass that its fields, as JSON has them, make. Raises ProtocolError where one is not of its type."""
    hints = _hints(cls)
    return cls(**{name: _placed(name, _check(hints[name], value)) for name, value in values.items()})


def _placed(name: str, value: typing.Any) -> typing.Any:
    """The value of a field, if what it says of a place could be: a frame without a line (0) stands on the first one."""
    if name in _OF_PLACES and value is not None and not 0 <= value <= FURTHEST:
        raise ProtocolError(f"{value} is no line and no column")
    if name in _LINES and isinstance(value, list):
        for item in value:
            *names, line = item or [""]
            if type(line) is not int or not 0 <= line <= FURTHEST or not names or set(map(type, names)) != _NAMES:
                raise ProtocolError("a list of lines with something else in it")
    return max(value, 1) if name == "line" else value


def _check(hint: typing.Any, value: typing.Any) -> typing.Any:
    """The value as the type says, or ProtocolError. Covers the types that the messages use."""
    if hint == _PAIRS and isinstance(value, list):
        return _pairs(value)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        if type(value) in args:
            return _check(type(value), value)
        for option in args:
            if option is not type(None):
                try:
                    return _check(option, value)
                except ProtocolError:
                    continue
    elif origin is list and isinstance(value, list):
        return [_check(args[0], item) for item in value]
    elif origin is dict and isinstance(value, dict):
        return {_check(args[0], key): _check(args[1], item) for key, item in value.items()}
    elif hint is float and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    elif hint is int and type(value) is int and abs(value) > _LARGEST:
        raise ProtocolError("a number that is too large")
    elif dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return built(typing.cast(type, hint), value)
    elif isinstance(hint, type) and type(value) is hint:
        return value
    raise ProtocolError(f"{value!r:.80} is not {hint}")


def _pairs(value: list[typing.Any]) -> list[typing.Any]:
    """Texts and numbers in lists in a list. There are thousands of them in one message, so each costs as little as it can."""
    for item in value:
        if type(item) is not list:
            raise ProtocolError(f"{item!r:.80} is not a list")
        for part in item:
            if type(part) is not str and (type(part) is not int or abs(part) > _LARGEST):
                raise ProtocolError(f"{part!r:.80} is neither a text nor a number")
    return value
