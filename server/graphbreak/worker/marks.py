"""Which compiled callable is which: known by what it is made of, and found again on a live stack."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import torch

from .protocol import MarkSeen, Place
from .recorder import Recorder

CellKey = tuple[types.CodeType, tuple[int, ...]]


class Marks:
    """The compiled callables of one job.

    A call of one is a frame of the function that `torch.compile` returned; all of these share one code object, so a frame is told
    by what its free variables are bound to.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._by_cells: dict[CellKey, int] = {}
        self._by_code: dict[types.CodeType, int] = {}
        self._functions: dict[int, Callable[..., object]] = {}
        self._codes: set[types.CodeType] = set()
        self._keep: list[tuple[object, object]] = []
        self._names: list[str] = []
        self._places: list[Place] = []
        self._options: list[dict[str, Any]] = []

    def add(self, target: object, compiled: object, place: Place, fullgraph: bool, dynamic: bool | None = None) -> None:
        """`torch.compile(target)` at `place` gave `compiled`."""
        mark = len(self._keep)
        self._options.append({"fullgraph": fullgraph, "dynamic": dynamic})
        self._keep.append((target, compiled))
        for function in wrappers(compiled):
            key = closure_key(function)
            self._by_cells[key] = mark
            self._codes.add(key[0])
        written = user_function(target)
        self._functions[mark] = written or (lambda: None)
        code = getattr(written, "__code__", None)
        if code is not None:
            self._by_code.setdefault(code, mark)
        shown = getattr(_innermost(written), "__code__", None) if written else None
        self._names.append(qualified_name(written, target))
        self._places.append(place)
        self._recorder.marked(
            MarkSeen(
                mark=mark,
                place=place,
                file=shown.co_filename if shown else place.file,
                first_line=shown.co_firstlineno if shown else place.line,
                name=self._names[mark],
                fullgraph=fullgraph,
                directive=self._recorder.directive,
            )
        )

    def function(self, mark: int) -> Callable[..., object]:
        """The user's function behind a mark."""
        return self._functions[mark]

    def target(self, mark: int) -> Any:
        """What was compiled."""
        return self._keep[mark][0]

    def compiled(self, mark: int) -> Any:
        """What `torch.compile` made of it."""
        return self._keep[mark][1]

    def options(self, mark: int) -> dict[str, Any]:
        """The options of `torch.compile` that say what breaks a graph, as they were given for a mark."""
        return self._options[mark]

    @property
    def count(self) -> int:
        """How many there are; they are numbered from 0."""
        return len(self._keep)

    def wrapper(self, mark: int, wrapped: object) -> Callable[..., object]:
        """What is called of a compiled callable when `wrapped` runs: one function of those that it consists of."""
        compiled: Any = self._keep[mark][1]
        return next((made for made in wrappers(compiled) if inspect.getclosurevars(made).nonlocals.get("fn") is wrapped), compiled)

    def within(self, place: Place) -> list[int]:
        """The marks that were made in the lines of a place, those at its very beginning first."""
        lines = range(place.line, (place.end_line or place.line) + 1)
        found = [mark for mark, own in enumerate(self._places) if own.file == place.file and own.line in lines]
        return sorted(found, key=lambda mark: self._places[mark].column != place.column)

    def is_called(self, mark: int, name: str) -> bool:
        """Whether a mark's function has this qualified name, or ends with it."""
        known = self._names[mark]
        return known == name or known.endswith("." + name) or known.rpartition(".")[0] == name

    def of_frame(self, frame: types.FrameType) -> int | None:
        """The mark whose call this very frame is, or None."""
        code = frame.f_code
        if code not in self._codes:
            return None
        values = frame.f_locals
        return self._by_cells.get((code, tuple(id(values.get(name)) for name in code.co_freevars)))

    def outermost(self, frames: list[types.FrameType]) -> int:
        """The mark that is being called, the outermost one when they nest; -1 when no known mark is on the stack."""
        for frame in frames:
            mark = self.of_frame(frame)
            if mark is not None:
                return mark
        return -1

    def of_codes(self, codes: list[types.CodeType]) -> list[int]:
        """The marks whose functions are among these code objects."""
        return sorted({self._by_code[code] for code in codes if code in self._by_code})


def user_function(target: object) -> Callable[..., object] | None:
    """The Python function that a call of a compiled object runs: a module's `forward`, a method's function, a callable's `__call__`."""
    if isinstance(target, torch.nn.Module):
        target = target.forward
    elif isinstance(target, type):
        target = getattr(target, "forward", None) or target.__call__
    while hasattr(target, "func") and not inspect.isroutine(target):  # functools.partial
        target = target.func
    if inspect.ismethod(target):
        owner = target.__self__
        target = target.__func__
        if isinstance(owner, torch.nn.Module) and target.__name__ in ("_call_impl", "__call__", "_wrapped_call_impl"):
            return user_function(owner)
    if inspect.isfunction(target):
        return target
    call = type(target).__call__ if callable(target) else None
    return call if inspect.isfunction(call) else None


def _innermost(function: Callable[..., object] | None) -> Any:
    """The function as it is written: behind `functools.wraps` decorators."""
    try:
        return inspect.unwrap(function) if function is not None else None
    except ValueError:
        return function


def qualified_name(function: Callable[..., object] | None, target: object) -> str:
    """The qualified name of a function as it is written, without `<locals>`; of what is no function, its type's."""
    shown = _innermost(function) or target
    name = getattr(shown, "__qualname__", None) or type(target).__qualname__
    return str(name).replace("<locals>.", "")


def wrappers(compiled: object) -> list[types.FunctionType]:
    """The functions with a closure over what they call that a compiled object consists of: itself, or a module's forward."""
    if inspect.isfunction(compiled):
        found: list[object] = [compiled]
    elif isinstance(compiled, type):
        found = [value for name in ("__call__", "_call_impl", "forward") if (value := vars(compiled).get(name)) is not None]
    else:
        found = list(vars(compiled).values()) if hasattr(compiled, "__dict__") else []
    return [value for value in found if inspect.isfunction(value) and "fn" in value.__code__.co_freevars]


def closure_key(function: types.FunctionType) -> CellKey:
    """What tells apart the functions that `torch.compile` returns, which share their code."""
    cells = function.__closure__ or ()
    return function.__code__, tuple(id(cell.cell_contents) for cell in cells)
