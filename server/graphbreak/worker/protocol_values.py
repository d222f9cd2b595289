"""Plain values as what the types of a message's fields say; the other half of `protocol`."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing

_LARGEST = 2**53
FURTHEST = 2**30
"""No line and no column of a file is beyond it, and editors take none that is much larger."""
ASSERTED = "assert "
"""How an operation's name begins that has the graph raise where something does not hold of sizes that depend on data."""
_OF_PLACES = frozenset({"line", "first_line", "last_line", "end_line", "column", "end_column"})
_LINES = frozenset({"lines", "ops"})
_hints = functools.cache(typing.get_type_hints)


class ProtocolError(Exception):
    """What arrived is not a message of ours."""


def built(cls: type, values: typing.Any) -> typing.Any:
    """The instance of a frozen dataclass that its fields, as JSON has them, make. Raises ProtocolError where one is not of its type."""
    hints = _hints(cls)
    return cls(**{name: _placed(name, _check(hints[name], value)) for name, value in values.items()})


def _placed(name: str, value: typing.Any) -> typing.Any:
    """The value of a field, if what it says of a place could be: a frame without a line (0) stands on the first one."""
    if name in _OF_PLACES and value is not None and not 0 <= value <= FURTHEST:
        raise ProtocolError(f"{value} is no line and no column")
    if name in _LINES and isinstance(value, list):
        for *names, line in (item or [""] for item in value):
            if not all(type(text) is str for text in names) or type(line) is not int or not 0 <= line <= FURTHEST or not names:
                raise ProtocolError("a list of lines with something else in it")
    return max(value, 1) if name == "line" else value


def _check(hint: typing.Any, value: typing.Any) -> typing.Any:
    """The value as the type says, or ProtocolError. Covers the types that the messages use."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in args:
            return None
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
