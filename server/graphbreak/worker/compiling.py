"""`torch.compile` and `torch.compiler.disable` as the program sees them while it is traced."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from . import dynamo, specs, stacks
from .marks import Marks
from .protocol import ASSERTED, GraphSeen, Place
from .recorder import Recorder

_MOST_OPS = 5000
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_ASSERTION = re.compile(r"Runtime assertion failed for expression (.+) on node ")


def user_place() -> Place:
    """The nearest frame of neither the worker nor torch: who asked."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and (stacks.is_ours(frame.f_code.co_filename) or dynamo.in_torch(frame.f_code.co_filename)):
        frame = frame.f_back
    return stacks.frame_place(frame) if frame is not None else Place("", 0, "")


def recording_compile(real: Callable[..., Any], recorder: Recorder, marks: Marks) -> Callable[..., Any]:
    """`torch.compile` that makes each compiled callable known, with a backend that keeps the graph and runs it eagerly."""
    backends: dict[str, Callable[..., Any]] = {}

    @functools.wraps(real)
    def compile(model: Any = None, **kwargs: Any) -> Any:
        if model is None:
            return functools.partial(compile, **kwargs)
        fullgraph = bool(kwargs.get("fullgraph"))
        if not recorder.honour_fullgraph:
            kwargs.pop("fullgraph", None)
        place = user_place()
        compiled = real(model, **_with_backend(kwargs, backends, recorder, marks))
        if not kwargs.get("disable"):
            marks.add(model, compiled, place, fullgraph, kwargs.get("dynamic"))
        return compiled

    return compile


def _with_backend(kwargs: dict[str, Any], backends: dict[str, Callable[..., Any]], recorder: Recorder, marks: Marks) -> dict[str, Any]:
    """The same call with our backend in place of the one named.

    Calls that name the same backend get the same one of ours, since Dynamo shares compiled code between them. Inductor's mode and
    options go with it; a guard filter is Dynamo's own affair and stays.
    """
    kwargs = dict(kwargs)
    options = kwargs.pop("options", None) or {}
    key = repr((kwargs.pop("backend", None) or "inductor", kwargs.pop("mode", None), sorted(options)))
    if key not in backends:
        backends[key] = _backend(recorder, marks)
    kwargs["backend"] = backends[key]
    if isinstance(options, dict) and "guard_filter_fn" in options:
        kwargs["options"] = {"guard_filter_fn": options["guard_filter_fn"]}
    return kwargs


def _backend(recorder: Recorder, marks: Marks) -> Callable[..., Any]:
    def graphbreak(graph: Any, example_inputs: Any, **options: Any) -> Any:
        live = stacks.live_frames(sys._getframe(1))
        compile_id = dynamo.current_compile_id()
        lines, ops = _graph_places(graph)
        recorder.record(GraphSeen(marks.outermost(live), compile_id, lines, marks.of_codes(dynamo.traced_codes()), ops))
        forward, runs = graph.forward, recorder.runs

        def run(*args: Any) -> Any:
            runs[compile_id] = runs.get(compile_id, 0) + 1
            return forward(*args)

        return run

    return graphbreak


def _graph_places(graph: Any) -> tuple[list[list[str | int]], list[list[str | int]]]:
    """The (file, line) places of a graph's operations over all frames of their stacks, and each operation with its innermost place."""
    places: dict[tuple[str, int], None] = {}
    ops: list[list[str | int]] = []
    more = 0
    for node in graph.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        stack = [(file, int(line)) for file, line in _FRAME.findall(node.meta.get("stack_trace") or "") if not dynamo.in_torch(file)]
        places.update(dict.fromkeys(stack))
        if len(ops) < _MOST_OPS:
            ops.append([_op_name(node), *(stack[-1] if stack else ("", 0))])
        else:
            more += 1
    if more:
        ops.append([f"… and {more:,} more", "", 0])
    return [[file, line] for file, line in places], ops


def _op_name(node: Any) -> str:
    """What a node calls, as one writes it: `torch.sin`, `Tensor.sum`, `linear`."""
    if node.op == "call_method":
        return f"Tensor.{node.target}"
    if isinstance(node.target, str):
        return str(node.target)
    name = getattr(node.target, "__name__", None) or str(node.target)
    asserted = _ASSERTION.match(str(node.args[-1])) if str(name).startswith("_assert_scalar") and node.args else None
    if asserted is not None:
        return f"{ASSERTED}{asserted[1]}"
    module = (getattr(node.target, "__module__", None) or "").partition(".")[0]
    return f"{module}.{name}" if module == "torch" else str(name)


# Calls


def watch_calls(recorder: Recorder, marks: Marks, on_call: Callable[[int, Any], None]) -> dynamo.Undo:
    """Count each call of a compiled callable and note its inputs; `on_call` gets the mark and the call's variables afterwards."""

    def note(frame: types.FrameType) -> None:
        mark = marks.of_frame(frame)
        if mark is not None:
            values = frame.f_locals
            recorder.called(mark, lambda: _described(marks, mark, values))
            on_call(mark, values)

    undo = dynamo.watch_calls(note)
    if undo is None:
        recorder.notes.append("This torch does not tell when a compiled function is called; inputs are not shown.")
        return lambda: None
    return undo


def _described(marks: Marks, mark: int, values: Any) -> str:
    """`describe`, for inputs of any kind: this runs inside the user's call, and must not be what makes it fail."""
    try:
        return describe(marks, mark, values)
    except Exception:
        return "inputs that cannot be described"


def describe(marks: Marks, mark: int, values: Any) -> str:
    """The inputs of a call, by the parameters of the user's function; its `self` is left out."""
    function = marks.function(mark)
    args, kwargs = list(values.get("args", ())), values.get("kwargs", {})
    parameters = list(inspect.signature(function).parameters) if callable(function) else []
    if parameters[:1] == ["self"]:
        bound = bool(args) and not isinstance(args[0], torch.Tensor) and hasattr(type(args[0]), function.__name__)
        args = args if bound else [None, *args]
        return specs.describe_call(function, args, kwargs).partition(", ")[2]
    return specs.describe_call(function, args, kwargs)


# torch.compiler.disable


def noting_disable(real: Callable[..., Any], disabled: dict[int, Place]) -> Callable[..., Any]:
    """`disable` that notes where it was written, by the id of the disabled callable, which PyTorch's reason names."""

    def note(result: Any, place: Place) -> Any:
        disabled[id(result)] = place
        _kept.append(result)  # an id stands for an object only while that is alive
        return result

    @functools.wraps(real)
    def disable(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
        place = user_place()
        result = real(fn, *args, **kwargs)
        return note(result, place) if fn is not None else _NotingDecorator(result, lambda made: note(made, place))

    return disable


_kept: list[object] = []


class _NotingDecorator:
    """What `disable()` without a function gives: a decorator, and a context manager where torch's own is one."""

    def __init__(self, real: Any, note: Callable[[Any], Any]) -> None:
        self._real, self._note = real, note

    def __call__(self, fn: Any) -> Any:
        return self._note(self._real(fn))

    def __enter__(self) -> Any:
        return self._real.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._real.__exit__(*error)
