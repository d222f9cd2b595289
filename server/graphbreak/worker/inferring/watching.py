"""One try of a proposal: what is called with what, watched at every operation, so that a failure tells which tensor was wrong and how."""

from __future__ import annotations

import re
import signal
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .. import dynamo, stacks
from .values import Made, Path, Proposal, Tensor, Value


class TookTooLong(BaseException):
    """The time for trying is over. Not an `Exception`, which user code may swallow."""


@dataclass(frozen=True)
class Operation:
    """An operation that failed: its name, its arguments, and what it raised."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    error: BaseException

    def tensors(self) -> list[torch.Tensor]:
        """The tensors among its arguments, those in lists included."""
        return list(_tensors((*self.args, *self.kwargs.values())))


@dataclass(frozen=True, order=True)
class Progress:
    """How far a try came: whether to the call itself, the lines in which the user's functions stood, and the operations that went well."""

    called: bool
    lines: tuple[int, ...]
    steps: int

    def is_beyond(self, other: Progress) -> bool:
        """Whether it came further than another in any of these."""
        return (self.called, self.lines) > (other.called, other.lines) or self.steps > other.steps


@dataclass
class Failure:
    """How a try failed. `constructing` says that it did not come to the call itself."""

    error: BaseException
    watch: Watch
    constructing: bool
    operation: Operation | None = None
    frames: list[types.TracebackType] = field(default_factory=list)

    @property
    def progress(self) -> Progress:
        """How far it came."""
        own = [step for step in self.frames if step.tb_frame.f_code.co_filename != "<guess>"]
        lines = tuple(step.tb_lineno for step in own if not dynamo.in_torch(step.tb_frame.f_code.co_filename))
        return Progress(not self.constructing, lines, self.watch.steps)

    @property
    def is_of_shapes(self) -> bool:
        """Whether an operation said that forms or types do not fit, which holds of fake tensors and of real ones."""
        if self.operation is None or not isinstance(self.error, RuntimeError) or re.search(r"subclass|Fake|data pointer", str(self.error)):
            return False
        return not any(isinstance(one, NotImplementedError) or "fake" in type(one).__module__ for one in _chain(self.error))

    @property
    def text(self) -> str:
        """What it raised, on one line."""
        first = str(self.error).strip().partition("\n")[0][:200]
        name = type(self.error).__name__
        return f"{name}: {first}" if first else name


class Watch(TorchFunctionMode):
    """Sees every operation: keeps the one that failed, and knows from which arguments tensors come."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: Operation | None = None
        self.steps = 0
        """How many operations went well."""
        self.roots: dict[int, Path] = {}
        self.objects: dict[int, Path] = {}
        """The lists, dictionaries and objects of the proposal."""
        self._origins: dict[int, frozenset[Path]] = {}
        self._keep: list[object] = []

    def root(self, tensor: torch.Tensor, path: Path) -> None:
        """A tensor is the part of the proposal at a path."""
        self.roots[id(tensor)] = path
        self._origins[id(tensor)] = frozenset([path])
        self._keep.append(tensor)

    def note(self, value: object, path: Path) -> None:
        """Something that is no tensor is the part of the proposal at a path."""
        self.objects[id(value)] = path
        self._keep.append(value)

    def origins(self, tensor: torch.Tensor) -> frozenset[Path]:
        """The parts of the proposal that a tensor was computed from."""
        return self._origins.get(id(tensor), frozenset())

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.failed = Operation(getattr(func, "__name__", ""), args, kwargs, error)
            raise
        self.steps += 1
        made = list(_tensors((result,)))
        if made:
            known: frozenset[Path] = frozenset().union(*(self.origins(tensor) for tensor in _tensors((*args, *kwargs.values()))))
            for tensor in made if known else ():
                self._origins.setdefault(id(tensor), known)
                self._keep.append(tensor)
        return result


def _tensors(values: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)) and depth < 3:
            yield from _tensors(value, depth + 1)
        elif isinstance(value, dict) and depth < 3:
            yield from _tensors(value.values(), depth + 1)


def attempt(proposal: Proposal, evaluate: Callable[[str], Any], prepare: Callable[[Any], Any], fake: bool = False) -> Failure | None:
    """Make a call in eager mode; None if it works.

    `evaluate` gives the value of an expression, `prepare` what is to be called in the place of what it gives. `fake` has it made with
    tensors that have no values: what fails then because of their forms fails with real ones too, other failures say nothing.
    """
    watch = Watch()
    constructing = True
    try:
        torch.manual_seed(0)
        with watch, dynamo.fake_tensors() if fake else nullcontext(), warnings.catch_warnings():
            warnings.filterwarnings("error", "Using a target size")
            callee = _callee(proposal.call, proposal, evaluate, watch)
            arguments = [_argument(proposal, name, value, evaluate, watch) for name, value in _arguments(proposal.call)]
            constructing = False
            placed, named = _as_passed(proposal.call, [value for _, value in arguments])
            dynamo.without_compiling(lambda: prepare(callee)(*placed, **named))
    except TookTooLong:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        operation = watch.failed if watch.failed is not None and _is_behind(error, watch.failed.error) else None
        return Failure(error, watch, constructing, operation, list(_user_frames(error)))
    return None


def _arguments(call: Made) -> Iterator[tuple[str, Value]]:
    return ((argument.name, argument.value) for argument in call.given())


def _callee(call: Made, proposal: Proposal, evaluate: Callable[[str], Any], watch: Watch) -> Any:
    """What is called. What makes it is called here, part by part, so that its arguments are known as well."""
    made = call.of
    if not isinstance(made, Made):
        return evaluate(call.callee(proposal.sizes))
    values = [_argument(proposal, f"()/{name}", value, evaluate, watch) for name, value in _arguments(made)]
    owner = _callee(made, proposal, evaluate, watch)
    placed, named = _as_passed(made, [value for _, value in values])
    found = dynamo.without_compiling(lambda: owner(*placed, **named))
    for name in call.behind.split(".")[1:]:
        found = getattr(found, name)
    return found


def _argument(proposal: Proposal, key: str, value: Value, evaluate: Callable[[str], Any], watch: Watch) -> tuple[str, Any]:
    made = evaluate(value.render(proposal.sizes))
    _note_roots(value, made, tuple(key.split("/")), watch)
    return key, made


def _note_roots(value: Value, made: Any, path: Path, watch: Watch) -> None:
    if isinstance(value, Tensor) and isinstance(made, torch.Tensor):
        watch.root(made, path)
    elif not isinstance(made, (int, float, str, bool, type(None))):
        watch.note(made, path)
    for key, part in value.parts():
        inner = _part_of(made, key)
        if inner is not None:
            _note_roots(part, inner, (*path, key), watch)


def _part_of(made: Any, key: str) -> Any:
    if isinstance(made, dict):
        return made.get(key)
    if isinstance(made, (list, tuple)) and key.isdigit():
        return made[int(key)] if int(key) < len(made) else None
    return getattr(made, key, None) if key.isidentifier() else None


def _as_passed(call: Made, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    placed: list[Any] = []
    named: dict[str, Any] = {}
    for argument, value in zip(call.given(), values):
        if argument.how == "place" or (argument.how == "either" and not named):
            placed.append(value)
        else:
            named[argument.name] = value
    return placed, named


def _is_behind(error: BaseException | None, other: BaseException) -> bool:
    return any(one is other for one in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it came of."""
    for _ in range(8):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _user_frames(error: BaseException) -> Iterator[types.TracebackType]:
    """The steps of a traceback outside the worker, the innermost last."""
    step = error.__traceback__
    while step is not None:
        if not stacks.is_ours(step.tb_frame.f_code.co_filename):
            yield step
        step = step.tb_next


@contextmanager
def time_limit(computing: float, waiting: float) -> Iterator[None]:
    """Raise TookTooLong once so many seconds were computed, or have passed, in whatever Python code runs then. Only where the platform can;
    the job's own limit holds anyway."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise TookTooLong

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, computing), (signal.SIGALRM, signal.ITIMER_REAL, waiting))
    before = [(number, timer, signal.signal(number, ring)) for number, timer, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, timer, handler in before:
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
