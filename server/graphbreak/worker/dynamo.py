"""Every private torch name, each behind a probe: where one is missing, less is known, and a note says so.

What is done with it is elsewhere: `compiling` wraps `torch.compile`, `listening` turns the structured trace into messages.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import itertools
import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo

from . import stacks
from .patching import Undo as Undo
from .patching import patch as patch
from .protocol import Place, plain_name

TORCH_FOLDER = os.path.dirname(os.path.abspath(torch.__file__))
TRACE_LOGGER = "torch.__trace"
LIMIT_LOGGER = "torch._dynamo.convert_frame"
_TYPE_OF_ID = {"GB0170": "Data-dependent branching"}  # in 2.8 the table has a variable's name in place of the type


def in_torch(file: str) -> bool:
    """Whether a file is torch's own, or only wraps for it."""
    return file.startswith(TORCH_FOLDER) or file.endswith("functools.py")


def reset() -> None:
    """Forget everything that was compiled."""
    torch._dynamo.reset()


def forget() -> None:
    """Have Dynamo be as it is in a fresh process: nothing compiled, nothing counted."""
    reset()
    utils = torch._dynamo.utils
    clear = getattr(utils, "clear_compilation_metrics", None)
    if callable(clear):
        clear()
    for owner, name in ((utils, "counters"), (getattr(torch._logging, "structured", None), "INTERN_TABLE")):
        table = getattr(owner, name, None)
        if isinstance(table, dict):
            table.clear()


def disable_owners() -> tuple[Any, ...]:
    """Where a program finds `disable`."""
    return (torch.compiler, torch._dynamo)


def skip_folder_of(package: str) -> None:
    """Have Dynamo treat a package like torch's own code: it never traces into it."""
    add = getattr(torch._dynamo.trace_rules, "add", None)
    if callable(add):
        try:
            add(package)
        except Exception:
            return


def allow_scalar_capture() -> None:
    """What `fullgraph=True` switches on, for a run that only pretends not to have it."""
    for name in ("capture_scalar_outputs", "capture_dynamic_output_shape_ops"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, True)


def leave_measuring_out() -> None:
    """Have Dynamo compile without what only fills its own log of figures: to measure how long guards take it flushes the processor's
    caches at each compile (20 ms, half of what a small frame takes), and it writes all settings down as text (3 ms)."""
    utils = torch._dynamo.utils
    for owner, name, value in (
        (torch._dynamo.guards, "profile_guard_manager", 0.0),
        (utils, "_get_dynamo_config_for_logging", None),
        (utils, "_scrubbed_inductor_config_for_logging", None),
    ):
        if callable(getattr(owner, name, None)):
            setattr(owner, name, lambda *args, value=value, **options: value)


def clone_instructions_cheaply() -> None:
    """Have Dynamo copy instructions for what follows a break as it does elsewhere: `copy.deepcopy` asks for the `id` of all that it comes
    by, ten million times for a hundred breaks, and each time those are told who hear of what a program does."""
    from torch._dynamo import bytecode_transformation, resume_execution, symbolic_convert

    clone, kind = (getattr(bytecode_transformation, name, None) for name in ("_clone_instructions", "Instruction"))

    def deepcopy(value: Any, *memo: Any) -> Any:
        if type(value) is list and value and all(type(one) is kind for one in value):
            with contextlib.suppress(KeyError):  # a jump out of the list
                return clone(value)  # type: ignore[misc]
        return copy.deepcopy(value, *memo)

    for owner in (vars(resume_execution), vars(symbolic_convert)):
        if callable(clone) and kind is not None and owner.get("copy") is copy:
            owner["copy"] = types.SimpleNamespace(**{**vars(copy), "deepcopy": deepcopy})


# CUDA where there is none


def open_cuda(ask: Callable[[], None]) -> list[Undo]:
    """Let the program start CUDA although there is none; `ask` hears of it. What is then to be done on it is `devices`'s part."""
    no_switch = [patch(torch.cuda, name, lambda real: lambda device: -1) for name in ("_exchange_device", "_maybe_exchange_device")]
    return [patch(torch.cuda, "_lazy_init", lambda real: lambda: ask()), *no_switch]


def fake_tensors() -> Any:
    """A mode in which what is computed has a form and no values, with that which has values as well."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


def on_fake_tensors(change: Callable[[Any, Any], tuple[Any, Any]]) -> Undo:
    """Have `change` look over the arguments of each operation that Dynamo tries on fake tensors."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    real = FakeTensorMode.__torch_dispatch__

    def dispatch(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = change(args, kwargs or {})
        return real(self, func, types, args, kwargs)

    FakeTensorMode.__torch_dispatch__ = dispatch  # type: ignore[method-assign]
    return lambda: setattr(FakeTensorMode, "__torch_dispatch__", real)


# What is being compiled


def current_compile_id() -> str:
    """The id (`frame/compile`) of the frame being compiled, or nothing."""
    try:
        return str(torch._guards.CompileContext.current_compile_id() or "").strip("[]")
    except Exception:
        return ""


def traced_codes() -> list[types.CodeType]:
    """The code objects that the graph at hand was traced from, inlined ones included."""
    try:
        return list(torch._guards.TracingContext.get_traced_code() or [])
    except Exception:
        return []


def watch_lines(note: Callable[[str, int, str, int], None]) -> Undo:
    """Hear of each line that Dynamo traces: file, line, compile id, attempt."""
    context = torch._guards.TracingContext
    real = getattr(context, "set_current_loc", None)
    if real is None:
        return lambda: None
    trace_id = torch._guards.CompileContext.current_trace_id

    def set_current_loc(filename: str, lineno: int, *rest: Any, **more: Any) -> None:
        now = trace_id()
        if now is not None:
            note(filename, lineno, f"{now.compile_id.frame_id}/{now.compile_id.frame_compile_id}", now.attempt)
        real(filename, lineno, *rest, **more)

    context.set_current_loc = staticmethod(set_current_loc)  # type: ignore[method-assign]
    return lambda: setattr(context, "set_current_loc", staticmethod(real))


def watch_calls(note: Callable[[types.FrameType], None]) -> Undo | None:
    """Hear of each call of a compiled callable, with the frame of its wrapper, which asks for its callback once per call (torch 2.6 on)."""
    from torch._dynamo import eval_frame

    real = getattr(eval_frame, "_callback_from_stance", None)
    if real is None:
        return None

    def callback_from_stance(*args: Any, **kwargs: Any) -> Any:
        note(sys._getframe(1))
        return real(*args, **kwargs)

    eval_frame._callback_from_stance = callback_from_stance
    return lambda: setattr(eval_frame, "_callback_from_stance", real)


def without_compiling(function: Callable[[], Any]) -> Any:
    """Call something with every compiled callable inside it running eagerly."""
    with torch.compiler.set_stance("force_eager"):
        return function()


def never_compile(which: Callable[[types.FrameType], bool]) -> None:
    """From now on those compiled callables run as they are written whose wrapper's frame is one of `which`.

    What torch compiles for its own use goes on being compiled: `torch.cond` cannot do without.
    """
    from torch._dynamo import eval_frame

    real = getattr(eval_frame, "_callback_from_stance", None)
    if real is None:
        torch.compiler.set_stance("force_eager")
        return

    def callback_from_stance(*args: Any, **kwargs: Any) -> Any:
        return None if which(sys._getframe(1)) else real(*args, **kwargs)

    eval_frame._callback_from_stance = callback_from_stance


def compile_each_as_new() -> None:
    """From now on each call with other inputs is compiled as if it were the first, as a part of a larger graph is."""
    config = torch._dynamo.config
    wanted = {"automatic_dynamic_shapes": False}
    limits = dict.fromkeys(("recompile_limit", "cache_size_limit", "accumulated_recompile_limit", "accumulated_cache_size_limit"), 1024)
    for name, value in {**wanted, **limits}.items():
        if hasattr(config, name):
            setattr(config, name, value)


def has(name: str) -> bool:
    """Whether this torch has what a dotted name says."""
    value: Any = None
    path = ""
    for part in name.split("."):
        path = f"{path}.{part}".removeprefix(".")
        if hasattr(value, part):
            value = getattr(value, part)
            continue
        try:
            value = importlib.import_module(path)
        except Exception:
            return False
    return True


def explanation(target: Any, args: Any, kwargs: Any) -> str:
    """PyTorch's own report on one call. It forgets what was compiled, and runs the call for real."""
    return str(torch._dynamo.explain(target)(*args, **kwargs))


def watch_bytecode(note: Callable[[types.CodeType], None]) -> Undo:
    """Hear of each code object that Dynamo puts in the place of a function's own."""
    register = getattr(torch._dynamo.convert_frame, "register_bytecode_hook", None)
    if register is None:
        return lambda: None

    def hook(old: types.CodeType, new: types.CodeType) -> None:
        note(new)

    handle = register(hook)
    return lambda: handle.remove()


# Breaks


def is_break(error: BaseException) -> bool:
    """Whether an error is a graph break that was not allowed (`fullgraph=True`), and not the program's own failure."""
    return type(error).__name__ in ("Unsupported", "UserError") and is_compiler_error(error)


def is_compiler_error(error: BaseException) -> bool:
    """Whether Dynamo itself raised this."""
    return type(error).__module__.startswith("torch._dynamo")


def reaches_the_program(error: BaseException) -> bool:
    """Whether the program gets a break as an exception, as `fullgraph=True` wants it, and not a frame that silently runs in eager mode."""
    tracer = getattr(error, "_torch_dynamo_tracer_output", None)
    forgiving = (type(frame.f_locals.get("self")).__name__ == "ConvertFrame" for frame in stacks.live_frames(sys._getframe(1)))
    return bool(getattr(tracer, "error_on_graph_break", False)) or not any(forgiving)


def failure_places(error: BaseException) -> list[Place]:
    """The frames of a raised exception; where Dynamo raised it, down to the user's line that it could not compile."""
    places = stacks.traceback_places(error)
    inside = user_stack(error, []) if is_compiler_error(error) and getattr(error, "real_stack", None) else []
    if not inside:
        return places
    above = itertools.takewhile(lambda place: os.path.join("_dynamo", "convert_frame") not in place.file, places)
    return [*(place for place in above if os.path.join("_dynamo", "eval_frame") not in place.file), *inside]


def current_break() -> BaseException | None:
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


def above_dynamo(live: list[types.FrameType]) -> list[Place]:
    """The frames from the program's start to the call that Dynamo took over."""
    places = []
    for frame in live:
        file = frame.f_code.co_filename
        if os.path.join("_dynamo", "convert_frame") in file:
            break
        if os.path.join("_dynamo", "eval_frame") not in file:
            places.append(stacks.frame_place(frame))
    return places


def frame_being_compiled(live: list[types.FrameType]) -> tuple[types.CodeType | None, Any]:
    """The code object of the frame that Dynamo is about to compile, and the frame itself where it can be had."""
    for frame in reversed(live):
        code = frame.f_locals.get("code")
        if os.path.join("_dynamo", "convert_frame") in frame.f_code.co_filename and isinstance(code, types.CodeType):
            return code, frame.f_locals.get("frame")
    return None, None


def user_stack(cause: BaseException | None, live: list[types.FrameType]) -> list[Place]:
    """The user's frames from the compiled one inwards, with the exact positions of the instructions Dynamo stopped at."""
    summary = getattr(cause, "real_stack", None)
    if summary is None:
        summary = _traced_stack()
    translators = list(_translators(cause, live))
    return [_with_positions(frame, translators) for frame in summary if not stacks.is_ours(frame.filename)]


def _traced_stack() -> list[Any]:
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
        if id(translator) not in seen and _is_translator(translator):
            seen.add(id(translator))
            yield translator


def _is_translator(value: Any) -> bool:
    """Told by its class alone: asking one of Dynamo's lazy variables for an attribute would make it trace something, or raise."""
    return any(cls.__name__ == "InstructionTranslatorBase" for cls in type(value).__mro__)


def _with_positions(frame: Any, translators: list[Any]) -> Place:
    """A frame of PyTorch's stack with its end line and columns, which a FrameSummary does not hold (or not in every version)."""
    column, end_column = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    end_line: int | None = None
    first_line = 0
    for translator in translators:
        code, positions = translator.f_code, _positions(translator, frame.lineno, column)
        if code.co_filename != frame.filename or plain_name(code.co_name) != plain_name(frame.name):
            continue
        if positions is not None:
            end_line, column, end_column = positions.end_lineno, positions.col_offset, positions.end_col_offset
            first_line = code.co_firstlineno
            break
    return Place(frame.filename, int(frame.lineno or 0), frame.name, end_line, column, end_column, first_line)


_TAKES_A_VALUE = ("POP_JUMP_", "JUMP_IF_", "TO_BOOL", "BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL", "GET_ITER")
_PASSES_IT_ON = ("TO_BOOL", "COPY", "NOP", "CACHE", "EXTENDED_ARG", "NOT_TAKEN")


def _positions(translator: Any, line: int | None, column: int | None) -> Any:
    """Where the instruction that a translator is at stands in the source, if that is on `line` (and at `column`, where that is known).

    One that only tests, enters or goes over a value has, depending on the Python, the place of the whole statement or even of an operand
    before it (3.11 names `a` for the test of `b` in `if a and b`): then the place where the value was made counts.
    """
    current = translator.current_instruction
    own = getattr(current, "positions", None)
    if own is None or own.lineno != line or own.col_offset is None or column not in (None, own.col_offset):
        return None
    if not current.opname.startswith(_TAKES_A_VALUE) or getattr(current, "is_jump_target", False):
        return own
    instructions = getattr(translator, "instructions", None) or []
    at = next((index for index, instruction in enumerate(instructions) if instruction is current), 0)
    while at > 0 and instructions[at - 1].opname in _PASSES_IT_ON:
        at -= 1
    maker = instructions[at - 1] if at > 0 else current
    made = getattr(maker, "positions", None)
    usable = made is not None and made.lineno == line and made.col_offset is not None and not maker.opname.startswith("STORE_")
    return made if usable else own


# The registry


def registry_entry(text: str) -> dict[str, Any]:
    """The entry of the break type that stands alone on a line of a reason (in 2.8 right behind its label)."""
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


def make_only(wanted: Callable[[str], bool]) -> Undo:
    """Have PyTorch make only those records of its structured trace that are wanted by name (an artifact's is its own): guards, graphs and
    bytecode as text cost more than all the rest."""

    def make(real: Callable[..., None]) -> Callable[..., None]:
        def trace_structured(name: str, metadata_fn: Callable[[], Any] = dict, *args: Any, **options: Any) -> None:
            own = metadata_fn().get("name") if name == "artifact" else name
            if wanted(str(own)):
                real(name, metadata_fn, *args, **options)

        return trace_structured

    return patch(torch._logging._internal, "trace_structured", make)
