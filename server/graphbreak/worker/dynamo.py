"""Everything that touches private torch names, each behind a probe: where a name is missing, less is known, and a note says so."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import logging
import os
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo

from . import specs, stacks
from .marks import Marks
from .protocol import BreakSeen, FrameCompiled, GraphSeen, Place
from .recorder import Recorder

TORCH_FOLDER = os.path.dirname(os.path.abspath(torch.__file__))
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_TRACE_LOGGER = "torch.__trace"
_TYPE_OF_ID = {"GB0170": "Data-dependent branching"}  # in 2.8 the table has a variable's name in place of the type


def warm_up() -> None:
    """Compile something small, so that the first real trace pays for no imports; nothing of it stays behind."""
    install(Recorder(lambda message: None), lambda: None)
    try:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    finally:
        torch._dynamo.reset()
        uninstall()


def install(recorder: Recorder, on_enough: Callable[[], None]) -> None:
    """Record every compile from now on. `on_enough` is called, inside the user's call, once the program may be ended."""
    marks = Marks(recorder)
    disabled: dict[int, Place] = {}
    _patch(torch, "compile", functools.partial(_recording_compile, recorder=recorder, marks=marks))
    for owner in (torch.compiler, torch._dynamo):
        _patch(owner, "disable", functools.partial(_noting_disable, disabled=disabled))
    _watch_calls(recorder, marks, on_enough)
    logger = logging.getLogger(_TRACE_LOGGER)
    handler = _TraceHandler(recorder, marks, disabled)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    _undo.append(lambda: logger.removeHandler(handler))
    _skip_own_frames()


_undo: list[Callable[[], None]] = []


def uninstall() -> None:
    """Take everything back that `install` put in place."""
    while _undo:
        _undo.pop()()


def _patch(owner: Any, name: str, make: Callable[..., Any]) -> None:
    real = getattr(owner, name, None)
    if real is None:
        return
    setattr(owner, name, make(real=real))
    _undo.append(lambda: setattr(owner, name, real))


def _skip_own_frames() -> None:
    """Dynamo treats the worker's folder like torch's own: it never traces into it."""
    add = getattr(torch._dynamo.trace_rules, "add", None)
    if callable(add):
        try:
            add(__package__)
        except Exception:
            return


def _user_place() -> Place:
    """The nearest frame of neither the worker nor torch: who asked."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and (stacks.is_ours(frame.f_code.co_filename) or _in_torch(frame.f_code.co_filename)):
        frame = frame.f_back
    return stacks.frame_place(frame) if frame is not None else Place("", 0, "")


def _in_torch(file: str) -> bool:
    return file.startswith(TORCH_FOLDER) or file.endswith("functools.py")


# torch.compile, with a backend that keeps the graph and runs it eagerly


def _recording_compile(real: Callable[..., Any], recorder: Recorder, marks: Marks) -> Callable[..., Any]:
    backends: dict[str, Callable[..., Any]] = {}

    @functools.wraps(real)
    def compile(model: Any = None, **kwargs: Any) -> Any:
        if model is None:
            return functools.partial(compile, **kwargs)
        fullgraph = bool(kwargs.get("fullgraph"))
        if not recorder.honour_fullgraph:
            kwargs.pop("fullgraph", None)
        place = _user_place()
        compiled = real(model, **_with_backend(kwargs, backends, recorder, marks))
        if not kwargs.get("disable"):
            marks.add(model, compiled, place, fullgraph)
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
        recorder.record(GraphSeen(marks.outermost(live), _current_compile_id(), _graph_lines(graph), marks.of_codes(_traced_codes())))
        return graph.forward

    return graphbreak


def _graph_lines(graph: Any) -> list[list[str | int]]:
    """The (file, line) places of a graph's operations, over all frames of their stacks."""
    found: dict[tuple[str, int], None] = {}
    for node in graph.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        for match in re.finditer(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or ""):
            if not _in_torch(match.group(1)):
                found[match.group(1), int(match.group(2))] = None
    return [[file, line] for file, line in found]


def _current_compile_id() -> str:
    try:
        return str(torch._guards.CompileContext.current_compile_id() or "")
    except Exception:
        return ""


def _traced_codes() -> list[types.CodeType]:
    """The code objects that the graph at hand was traced from, inlined ones included."""
    try:
        return list(torch._guards.TracingContext.get_traced_code() or [])
    except Exception:
        return []


# Calls of compiled callables


def _watch_calls(recorder: Recorder, marks: Marks, on_enough: Callable[[], None]) -> None:
    """Hear of each call of a compiled callable: its wrapper asks for its callback once per call (torch 2.6 and newer)."""
    from torch._dynamo import eval_frame

    real = getattr(eval_frame, "_callback_from_stance", None)
    if real is None:
        recorder.notes.append("This torch does not tell when a compiled function is called; inputs are not shown.")
        return

    def callback_from_stance(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        mark = marks.of_frame(frame)
        if mark is not None:
            values = frame.f_locals
            if recorder.called(mark, lambda: _describe(marks, mark, values)):
                on_enough()
        return real(*args, **kwargs)

    eval_frame._callback_from_stance = callback_from_stance
    _undo.append(lambda: setattr(eval_frame, "_callback_from_stance", real))


def _describe(marks: Marks, mark: int, values: Any) -> str:
    function = marks.function(mark)
    args, kwargs = list(values.get("args", ())), values.get("kwargs", {})
    parameters = list(inspect.signature(function).parameters) if callable(function) else []
    if parameters[:1] == ["self"]:
        bound = bool(args) and not isinstance(args[0], torch.Tensor) and hasattr(type(args[0]), function.__name__)
        args = args if bound else [None, *args]
        text = specs.describe_call(function, args, kwargs)
        return text.partition(", ")[2]
    return specs.describe_call(function, args, kwargs)


# torch.compiler.disable


def _noting_disable(real: Callable[..., Any], disabled: dict[int, Place]) -> Callable[..., Any]:
    """`disable` that notes where it was written, by the id of the disabled callable, which PyTorch's reason names."""

    def note(result: Any, place: Place) -> Any:
        disabled[id(result)] = place
        _kept.append(result)  # an id stands for an object only while that is alive
        return result

    @functools.wraps(real)
    def disable(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
        place = _user_place()
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


# The structured trace


class _TraceHandler(logging.Handler):
    """Listens to PyTorch's structured trace, in the thread and at the moment that each record is made."""

    def __init__(self, recorder: Recorder, marks: Marks, disabled: dict[int, Place]) -> None:
        super().__init__(logging.DEBUG)
        self._recorder, self._marks, self._disabled = recorder, marks, disabled
        self._started: dict[str, float] = {}
        self._broken: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        metadata = getattr(record, "metadata", None) or {}
        try:
            if "artifact" in metadata:
                self._artifact(metadata, str(getattr(record, "payload", "") or ""))
            elif "dynamo_start" in metadata:
                self._started[_compile_id(metadata)] = time.perf_counter()
            elif "compilation_metrics" in metadata:
                self._compiled(metadata)
        except Exception as error:  # a fault of ours must not end the user's program
            self._recorder.notes.append(f"a record could not be read: {error!r}")

    def _artifact(self, metadata: dict[str, Any], payload: str) -> None:
        name = metadata["artifact"].get("name")
        if name == "dynamo_graph_break_reason":
            self._broken.add(_compile_id(metadata))
            self._break(metadata, payload, _current_error(), error=False)
        elif name == "dynamo_error" and _compile_id(metadata) not in self._broken:
            error = sys.exc_info()[1]
            if error is not None and _is_break(error):
                self._break(metadata, str(error), error, error=_reaches_the_program(error))

    def _break(self, metadata: dict[str, Any], text: str, cause: BaseException | None, error: bool) -> None:
        live = stacks.live_frames(sys._getframe(1))
        above, inside = _above_dynamo(live), _user_stack(cause, live)
        joined = stacks.without_resumed_parents([*above, *inside])
        count = len(joined) - len(stacks.without_resumed_parents(inside))
        entry = _registry_entry(text)
        self._recorder.record(
            BreakSeen(
                mark=self._marks.outermost(live),
                compile_id=_compile_id(metadata),
                attempt=int(metadata.get("attempt") or 0),
                text=text,
                above=joined[:count],
                frames=joined[count:],
                error=error,
                intent=self._intent(text),
                registry_id=str(entry.get("id", "")),
                registry_explanation=str(entry.get("Explanation", "")),
                registry_hints=[str(hint) for hint in entry.get("Hints", [])],
            )
        )

    def _intent(self, text: str) -> Place | None:
        if "disable" not in text:
            return None
        found = (self._disabled.get(int(address, 16)) for address in _ADDRESS.findall(text))
        return next((place for place in found if place is not None), None)

    def _compiled(self, metadata: dict[str, Any]) -> None:
        metrics = metadata["compilation_metrics"]
        compile_id = _compile_id(metadata)
        started = self._started.get(compile_id)
        self._recorder.record(
            FrameCompiled(
                mark=self._marks.outermost(stacks.live_frames(sys._getframe(1))),
                compile_id=compile_id,
                function=str(metrics.get("co_name") or ""),
                file=str(metrics.get("co_filename") or ""),
                first_line=int(metrics.get("co_firstlineno") or 0),
                ops=metrics.get("graph_op_count"),
                seconds=time.perf_counter() - started if started is not None else 0.0,
                fail_type=str(metrics.get("fail_type") or ""),
            )
        )


def _compile_id(metadata: dict[str, Any]) -> str:
    return f"{metadata.get('frame_id', '')}/{metadata.get('frame_compile_id', '')}"


def _is_break(error: BaseException) -> bool:
    """Whether an error is a graph break that was not allowed (`fullgraph=True`), and not the program's own failure."""
    return type(error).__name__ in ("Unsupported", "UserError") and type(error).__module__.startswith("torch._dynamo")


def _reaches_the_program(error: BaseException) -> bool:
    """Whether the program gets a break as an exception, as `fullgraph=True` wants it, and not a frame that silently runs in eager mode."""
    tracer = getattr(error, "_torch_dynamo_tracer_output", None)
    forgiving = (type(frame.f_locals.get("self")).__name__ == "ConvertFrame" for frame in stacks.live_frames(sys._getframe(1)))
    return bool(getattr(tracer, "error_on_graph_break", False)) or not any(forgiving)


def is_compiler_error(error: BaseException) -> bool:
    """Whether Dynamo itself raised this."""
    return type(error).__module__.startswith("torch._dynamo")


def failure_places(error: BaseException) -> list[Place]:
    """The frames of a raised exception; where Dynamo raised it, down to the user's line that it could not compile."""
    places = stacks.traceback_places(error)
    inside = _user_stack(error, []) if is_compiler_error(error) and getattr(error, "real_stack", None) else []
    if not inside:
        return places
    above = itertools.takewhile(lambda place: os.path.join("_dynamo", "convert_frame") not in place.file, places)
    return [*(place for place in above if os.path.join("_dynamo", "eval_frame") not in place.file), *inside]


def _current_error() -> BaseException | None:
    """The break that is being reported: the local `exc` of whoever logs it, else the exception being handled."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "log_graph_break":
            found = frame.f_locals.get("exc") or frame.f_locals.get("e")
            if isinstance(found, BaseException):
                return found
            break
        frame = frame.f_back
    return sys.exc_info()[1]


def _above_dynamo(live: list[types.FrameType]) -> list[Place]:
    """The frames from the program's start to the call that Dynamo took over."""
    places = []
    for frame in live:
        file = frame.f_code.co_filename
        if os.path.join("_dynamo", "convert_frame") in file:
            break
        if os.path.join("_dynamo", "eval_frame") not in file:
            places.append(stacks.frame_place(frame))
    return places


def _user_stack(cause: BaseException | None, live: list[types.FrameType]) -> list[Place]:
    """The user's frames from the compiled one inwards, with the exact positions of the instructions Dynamo stopped at."""
    summary = getattr(cause, "real_stack", None)
    if summary is None:
        summary = _logged_stack()
    translators = list(_translators(cause, live))
    return [_with_positions(frame, translators) for frame in summary if not stacks.is_ours(frame.filename)]


def _logged_stack() -> list[Any]:
    try:
        return list(torch._guards.TracingContext.extract_stack())
    except Exception:
        return []


def _translators(cause: BaseException | None, live: list[types.FrameType]) -> Iterator[Any]:
    """The instruction translators at work: on the live stack, and in the tracebacks of the break and of what caused it."""
    frames = list(live)
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        step = cause.__traceback__
        while step is not None:
            frames.append(step.tb_frame)
            step = step.tb_next
        cause = cause.__cause__ or cause.__context__
    for frame in frames:
        translator = frame.f_locals.get("self") if frame.f_code.co_argcount else None
        if id(translator) not in seen and hasattr(translator, "current_instruction") and hasattr(translator, "f_code"):
            seen.add(id(translator))
            yield translator


def _with_positions(frame: Any, translators: list[Any]) -> Place:
    """A frame of PyTorch's stack with its end line and columns, which a FrameSummary does not hold (or not in every version)."""
    column, end_column = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    end_line: int | None = None
    first_line = 0
    for translator in translators:
        code, positions = translator.f_code, getattr(translator.current_instruction, "positions", None)
        if code.co_filename != frame.filename or stacks.plain_name(code.co_name) != stacks.plain_name(frame.name):
            continue
        if positions is not None and positions.lineno == frame.lineno and column in (None, positions.col_offset):
            end_line, column, end_column = positions.end_lineno, positions.col_offset, positions.end_col_offset
            first_line = code.co_firstlineno
            break
    return Place(frame.filename, int(frame.lineno or 0), frame.name, end_line, column, end_column, first_line)


def _registry_entry(text: str) -> dict[str, Any]:
    """The entry of the break type that stands alone on a line of the reason (in 2.8 right behind its label)."""
    table = _registry()
    lines = (line.strip().removeprefix("Graph Break Reason: ") for line in text.splitlines())
    return next((table[line] for line in lines if line in table), {})


@functools.lru_cache(maxsize=1)
def _registry() -> dict[str, dict[str, Any]]:
    """PyTorch's own table of break types, by type: `id`, `Explanation`, `Hints` (in the wheel from 2.8 on).

    A type with several wordings gives the one that has the most hints.
    """
    path = os.path.join(TORCH_FOLDER, "_dynamo", "graph_break_registry.json")
    try:
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
    except (OSError, ValueError):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for key, entries in table.items():
        for entry in sorted(entries, key=lambda entry: len(entry.get("Hints") or [])):
            found[_TYPE_OF_ID.get(key) or entry.get("Gb_type", "")] = {"id": key, **entry}
    return found
