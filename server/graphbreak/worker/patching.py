"""Exchanging what a function does, in a way that nobody who holds the function notices. Knows nothing of torch."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

Undo = Callable[[], None]


def patch(owner: Any, name: str, make: Callable[[Any], Any]) -> Undo:
    """Have `owner.name` do what `make(real)` does; returns what takes it back.

    A plain function stays the object that it is, and only its code is exchanged: Dynamo knows some functions by identity and others by
    their file, and a program may have taken a reference to it before.
    """
    function = getattr(owner, name, None)
    if function is None:
        return lambda: None
    if not isinstance(function, types.FunctionType) or function.__closure__:
        setattr(owner, name, make(function))
        return lambda: setattr(owner, name, function)
    code = function.__code__
    real = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    real.__kwdefaults__ = function.__kwdefaults__
    key = f"_graphbreak_{function.__name__}"
    scope: dict[str, Any] = {}
    exec(f"def stub(*args, **kwargs): return {key}(*args, **kwargs)", scope)
    function.__globals__[key] = make(real)
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # Dynamo binds arguments by it
    function.__code__ = scope["stub"].__code__.replace(
        co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=code.co_firstlineno
    )

    def undo() -> None:
        function.__code__ = code
        del function.__signature__  # type: ignore[attr-defined]
        function.__globals__.pop(key, None)

    return undo
