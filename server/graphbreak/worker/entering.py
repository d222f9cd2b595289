"""Which functions of a program never ran. Nothing is put around them, so that it costs nothing and Dynamo sees nothing of it.

CPython notes in a code object that it ran for the first time: it counts down to where it is worth specialising (3.10, 3.11), or brings its
instrumentation up to date (3.12 on). So a code object that is byte for byte what it was when its module was about to be executed did not
run. Any change counts as a run. `works` tries whether that is so in this interpreter.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Iterator

_TRIAL = """
def called(x): return x
def idle(x): return x
def generator(): yield 1
class Owner:
    def called(self): return 1
    def idle(self): return 1
called(1), list(generator()), Owner().called()
"""
_RAN = {"<module>", "called", "generator", "Owner"}
_MOST = 5_000
_HEAD = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)


class Entering:
    """The code objects of a program, as they were before they could run."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[types.CodeType, bytes]] = {}
        self._entered: set[tuple[str, str]] = set()

    @classmethod
    def works(cls) -> bool:
        """Whether a first run leaves its trace here."""
        try:
            _open_versions()
            watched = cls()
            code = compile(_TRIAL, "<trial>", "exec")
            watched.watch(code)
            exec(code, {})
            untouched = [str(function[2]) for function in watched.idle(set())]
        except Exception:
            return False
        return untouched == ["idle", "idle"]

    def watch(self, code: types.CodeType) -> None:
        """A module is about to be executed."""
        for function in _functions(code):
            if len(self._before) < _MOST:
                self._before[id(function)] = (function, _bytes_of(function, _size(function)))

    def entered(self, file: str, name: str) -> None:
        """The code of a function was made into other code, which may run in its place."""
        self._entered.add((file, name))

    def idle(self, traced: set[tuple[str, int]]) -> list[list[str | int]]:
        """Those that did not run, and in which Dynamo traced no line, as (file, first line, name)."""
        files = {file for file, _ in traced}
        ran: set[tuple[str, int, str]] = set()
        known: dict[tuple[str, int, str], None] = {}
        for code, before in self._before.values():
            file, name = code.co_filename, code.co_name
            known[file, code.co_firstlineno, name] = None
            if _bytes_of(code, len(before)) != before or (file, name) in self._entered or (file in files and _lines(code) & traced):
                ran.add((file, code.co_firstlineno, name))
        return [list(key) for key in known if key not in ran]


def _functions(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _functions(constant)


def _lines(code: types.CodeType) -> set[tuple[str, int]]:
    return {(code.co_filename, line) for _, _, line in code.co_lines() if line is not None}


def _size(code: types.CodeType) -> int:
    """How much of a code object that never ran is looked at, in bytes: from 3.11 on with its first instructions."""
    most = _HEAD + 64 if sys.version_info >= (3, 11) else 0
    return min(code.__sizeof__(), types.CodeType.__basicsize__ + most) - _HEAD


def _bytes_of(code: types.CodeType, size: int) -> bytes:
    """The code object as it lies in memory, without the number of those who hold it. What it refers to does not move while it is held."""
    return ctypes.string_at(id(code) + _HEAD, size)


def _open_versions() -> None:
    """Have the interpreter be at another version of its instrumentation than code that never ran is (3.12 on)."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    for tool in range(5, -1, -1):
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "graphbreak")
            monitoring.set_events(tool, monitoring.events.PY_UNWIND)
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
            return
