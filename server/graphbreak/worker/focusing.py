"""In a fork of a kept job: put the edited text in place, make the calls again with only the edited function compiled, say what broke."""

from __future__ import annotations

import inspect
import linecache
import os
import traceback
import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from . import dynamo, overlay, rebuilding, stacks
from .keeping import Call, Functions
from .protocol import Focus, Focused

if TYPE_CHECKING:
    from .marks import Marks
    from .recorder import Recorder
    from .session import Session

Codes = dict[str, tuple[str, types.CodeType]]
"""The text and the code of files, by path."""

_STUB = """
def make({free}):
    def stub(*args, **kwargs):
        if False: ({free})
        return {name}(*args, **kwargs)
    return stub
"""


class Unfit(Exception):
    """The edit cannot be traced alone; the message says why, as the end of a sentence."""


def codes_of(paths: Iterable[str]) -> Codes:
    """The codes of files, made ahead, each with the text that it is made of; a file that cannot be read is left out."""
    found: Codes = {}
    for path in paths:
        text = "".join(linecache.getlines(path))
        try:
            found[path] = (text, compile(text, path, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            continue
    return found


def run(session: Session, recorder: Recorder, calls: list[Call], functions: Functions, codes: Codes, asked: Focus) -> None:
    """Answer one request: the breaks as they come, and `Focused` in the end."""
    try:
        targets, code = _exchange(asked, functions.get(asked.path, []), codes, session.trace.traced)
    except Unfit as unfit:
        recorder.send(Focused(asked.number, False, str(unfit)))
        return
    own = _Own(session.marks)
    session.trace.begin_anew()
    dynamo.compile_each_as_new()
    dynamo.never_compile(own.is_another)
    for call in calls:
        for function in targets:
            own.compile(function, code, call.mark)
        _make(call)
    recorder.send(Focused(asked.number, own.called))


def _exchange(
    asked: Focus, alive: list[types.FunctionType], known: Codes, traced: set[tuple[str, int]]
) -> tuple[list[types.FunctionType], types.CodeType]:
    """Put the code of the new text in the place of the old one, for all functions of the file but the edited one: that one's functions,
    and its new code. Raises Unfit."""
    codes, edited = _paired(asked, known)
    if not any((asked.path, line) in traced for line in _lines(edited)):
        raise Unfit("the trace did not come to it")
    inside = set(_inner(edited))
    if any(function.__code__ in inside for function in alive):
        raise Unfit("functions that are defined in it live on as they were")
    targets = [function for function in alive if function.__code__ == edited]
    if not targets or codes[edited].co_freevars != edited.co_freevars:
        raise Unfit("it is another function now")
    for function in alive:
        if function.__code__ != edited:
            function.__code__ = codes.get(function.__code__, function.__code__)
    overlay.remember_lines(asked.path, asked.after)
    return targets, codes[edited]


def _paired(asked: Focus, known: Codes) -> tuple[dict[types.CodeType, types.CodeType], types.CodeType]:
    """For each code in the text as it was the one in the text as it is, and the code of the edited function as it was. Raises Unfit."""
    try:
        text, before = known.get(asked.path, ("", None))
        if before is None or text != asked.before:
            before = compile(asked.before, asked.path, "exec", dont_inherit=True)
        after = compile(asked.after, asked.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise Unfit(f"the text cannot be read: {error}") from error
    codes: dict[types.CodeType, types.CodeType] = {}
    edited: list[types.CodeType] = []

    def pair(old: types.CodeType, new: types.CodeType) -> None:
        codes[old] = new
        if (old.co_name, old.co_firstlineno) == (asked.name, asked.line):
            edited.append(old)
            return
        inside, instead = _children(old), _children(new)
        if [code.co_name for code in inside] != [code.co_name for code in instead]:
            raise Unfit("more was edited than one function")
        for one, other in zip(inside, instead):
            pair(one, other)

    pair(before, after)
    if len(edited) != 1:
        raise Unfit(f"there is no `{asked.name}` at line {asked.line}")
    return codes, edited[0]


def _children(code: types.CodeType) -> list[types.CodeType]:
    return [value for value in code.co_consts if isinstance(value, types.CodeType)]


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    for child in _children(code):
        yield child
        yield from _inner(child)


def _lines(code: types.CodeType) -> set[int]:
    """The lines of a function's own instructions, and of what is defined in it, without that of the `def` itself."""
    found = {line for one in (code, *_inner(code)) for _, _, line in one.co_lines() if line}
    return found - {code.co_firstlineno} or found


class _Own:
    """The compiled functions that take the place of the edited one."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self.marks: set[int] = set()
        self.called = False

    def is_another(self, frame: types.FrameType) -> bool:
        """Whether a frame is that of a compiled callable of the program's own."""
        mark = self._marks.of_frame(frame)
        self.called = self.called or mark in self.marks
        return mark is not None and mark not in self.marks

    def compile(self, function: types.FunctionType, code: types.CodeType, as_in: int) -> None:
        """Have all who hold a function call a compiled one that does what `code` says, compiled with the options of a mark."""
        signature = inspect.signature(function)
        edited = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        edited.__kwdefaults__, edited.__qualname__, edited.__module__ = function.__kwdefaults__, function.__qualname__, function.__module__
        name = f"_graphbreak_{id(function)}"
        self.marks.add(self._marks.count)
        function.__globals__[name] = torch.compile(edited, **self._marks.options(as_in))
        function.__code__ = _stub(name, code.co_freevars)
        function.__signature__ = signature  # type: ignore[attr-defined]


def _stub(name: str, free: tuple[str, ...]) -> types.CodeType:
    """The code of a function with these free variables that passes every call on to what a global name stands for."""
    text = _STUB.format(free="".join(f"{variable}, " for variable in free), name=name)
    scope: dict[str, Any] = {}
    exec(compile(text, os.path.join(stacks.FOLDER, "stub"), "exec"), scope)
    made: types.FunctionType = scope["make"](*free)
    return made.__code__


def _make(call: Call) -> None:
    """Make a call again. What it raises is for the whole trace to tell."""
    try:
        with rebuilding.surroundings(call.modes):
            torch.manual_seed(0)
            call.function(*call.args, **call.kwargs)
    except BaseException as error:
        traceback.print_exception(type(error), error, stacks.without_ours(error.__traceback__))
