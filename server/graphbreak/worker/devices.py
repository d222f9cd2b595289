"""The CPU in the place of CUDA, for a program that asks for CUDA on a machine that has none.

The program's own words stay what they are (`torch.device("cuda")`), and so do the functions that Dynamo knows by identity. What changes
lies below: CUDA's kernels that make a tensor make it on the CPU, and calls about a CUDA device have nothing to do. So Dynamo
sees the program that asks for the CPU in its place. Questions are answered truly: `torch.cuda.is_available()` is false, and a
tensor's `device` is `cpu`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import glob
import os
import re
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch

from . import auditing, dynamo
from .protocol import DeviceSeen, Message

CPU = torch.device("cpu")
_LIBRARY = re.compile(r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python3[^\\/]*[\\/]|^<frozen ")
_LEAST_FREE = 2 << 30
"""Bytes of a GPU's memory below which nothing is started there ahead of its use."""

_MAKERS = ("empty.memory_format", "empty_strided", "tril_indices", "triu_indices")
"""The operations that make a tensor by a kernel of the device; all others that do call one of them."""


def prepare(wanted: str) -> None:
    """Before anything asks for CUDA in this process: with `cpu` wanted there is none."""
    if wanted == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def cuda_is_there() -> bool:
    """Whether this process can use CUDA. Asking does not start it."""
    return torch.cuda.is_available()


def cuda_is_started() -> bool:
    """Whether CUDA is started in this process, which then cannot be forked any more."""
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def cuda_is_in_use() -> bool:
    """Whether the program has something on CUDA, or had."""
    return cuda_is_started() and (_made_ahead is None or _made_on_cuda() > _made_ahead)


_made_ahead: int | None = None
"""How many pieces of memory were taken on CUDA before there was a program, where CUDA was started for it."""


def start_cuda() -> bool:
    """Start CUDA for a program that is expected to use it: whether that worked. If not, the process is of no use to a program."""
    global _made_ahead
    try:
        torch.empty(1, device="cuda")
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        _made_ahead = _made_on_cuda()
        return int(torch.cuda.mem_get_info()[0]) > _LEAST_FREE
    except Exception:
        return False


def _made_on_cuda() -> int:
    return int(torch.cuda.memory_stats().get("allocation.all.allocated", 0))


class _Asking:
    """Tells, once, that the program asks for CUDA, to whoever listens by then."""

    tell: Callable[[Message], None] | None = None

    def __call__(self) -> None:
        if self.tell is not None:
            tell, self.tell = self.tell, None
            tell(DeviceSeen("cuda", "cpu"))


_ask = _Asking()
_in_place: list[dynamo.Undo] = []


def make_ready() -> None:
    """Put the CPU in CUDA's place, if there is no CUDA: in a parent, so that its jobs need not."""
    if _in_place or cuda_is_there():
        return
    _in_place.extend(
        [
            *dynamo.open_cuda(_ask),
            _cpu_guard_for_cuda(),
            _redirect_kernels(_ask),
            dynamo.on_fake_tensors(lambda args, kwargs: _on_cpu(args, kwargs, _ask)),
            *_answer_functions(),
            *_redirect_objects(_ask),
            *_redirect_indices(),
        ]
    )


def stand_in(tell: Callable[[Message], None]) -> dynamo.Undo:
    """Have the CPU in CUDA's place, if there is no CUDA; `tell` is told once the program asks for it."""
    if cuda_is_there():
        return lambda: None
    make_ready()
    _ask.tell = tell
    generator = _replace_generator(_ask)

    def take_back() -> None:
        _ask.tell = None
        generator()
        while _in_place:
            _in_place.pop()()

    return take_back


def _cpu_guard_for_cuda() -> dynamo.Undo:
    """Have libc10 switch to a CUDA device as it switches to the CPU, which is no work at all.

    Without that `x.to("cuda")` asks the CUDA driver which device is the current one. There is no Python name for the table of guards; it
    begins with the CPU's, and CUDA's comes next, in every version. Where the table cannot be found nothing is changed.
    """
    for library in glob.glob(os.path.join(dynamo.TORCH_FOLDER, "lib", "libc10.*")):
        try:
            guards = (ctypes.c_void_p * 2).in_dll(ctypes.CDLL(library), "_ZN3c104impl26device_guard_impl_registryE")
        except (OSError, ValueError):
            continue
        cpu, cuda = guards[0], guards[1]
        if cpu:
            guards[1] = cpu
            return lambda: guards.__setitem__(1, cuda)
    return lambda: None


def _is_cuda(value: object) -> bool:
    return (isinstance(value, torch.device) and value.type == "cuda") or (isinstance(value, str) and value.partition(":")[0] == "cuda")


def _on_cpu(args: Any, kwargs: Any, ask: Callable[[], None]) -> tuple[Any, Any]:
    """The arguments of an operation with the CPU for each CUDA device among them."""
    if any(isinstance(value, torch.device) and value.type == "cuda" for value in (*args, *kwargs.values())):
        ask()
        args = tuple(CPU if _is_cuda(value) else value for value in args)
        kwargs = {name: CPU if _is_cuda(value) else value for name, value in kwargs.items()}
    return args, kwargs


def _redirect_kernels(ask: Callable[[], None]) -> dynamo.Undo:
    """Give the dispatcher kernels for CUDA that work on the CPU."""

    def kernel(op: Any) -> Callable[..., Any]:
        def on_cpu(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = _on_cpu(args, kwargs, ask)
            return op(*args, **kwargs)

        return on_cpu

    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    _kept.append(library)  # its kernels go with it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that kernels of a CUDA build are overridden is meant
        for name in _MAKERS:
            packet, _, overload = name.partition(".")
            library.impl(name, kernel(getattr(getattr(torch.ops.aten, packet), overload or "default")), "CUDA")
        library.impl("is_pinned", lambda tensor, device=None: False, "CPU")
        library.impl("_pin_memory", lambda tensor, device=None: tensor.clone(), "CPU")
    return lambda: library._destroy() if hasattr(library, "_destroy") else None


_kept: list[object] = []

# Calls about a device


class _Stream:
    """A stream on which everything is done at once."""

    device = torch.device("cuda", 0)
    device_index, stream_id, cuda_stream, priority = 0, 0, 0, 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def synchronize(self) -> None:
        """Nothing is left to wait for; so it is with the other calls."""

    wait_stream = wait_event = lambda self, other: None

    def query(self) -> bool:
        """Whether all is done."""
        return True

    def record_event(self, event: Any = None) -> Any:
        """An event of now."""
        event = event or _Event()
        event.record()
        return event


class _Event:
    """A moment in time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """It is now."""
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """It has been."""

    def wait(self, stream: Any = None) -> None:
        """It has been."""

    def query(self) -> bool:
        """Whether it has been."""
        return True

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds until another event."""
        return float(end._at - self._at) * 1000.0


class _Graph:
    """A CUDA graph that keeps what its capture computed."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


class _Capture(contextlib.nullcontext):  # type: ignore[type-arg]
    """The capture of a CUDA graph: what is in it runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


def _properties(*args: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(name="cpu", major=8, minor=0, total_memory=1 << 34, multi_processor_count=1, warp_size=32)


_TYPES = [f"{kind}Tensor" for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")]
_CLASSES = {"Stream": _Stream, "ExternalStream": _Stream, "Event": _Event, "CUDAGraph": _Graph, "graph": _Capture}
_ANSWERS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        (
            "synchronize", "set_device", "set_stream", "ipc_collect", "reset_peak_memory_stats", "reset_accumulated_memory_stats",
            "reset_max_memory_allocated", "reset_max_memory_cached", "set_rng_state", "set_rng_state_all", "empty_cache",
            "set_per_process_memory_fraction",
        ),
        lambda *args, **kwargs: None,
    ),
    "current_device": lambda: 0,
    "get_device_name": lambda *args, **kwargs: "cpu",
    "get_device_capability": lambda *args, **kwargs: (8, 0),
    "get_device_properties": _properties,
    "memory_summary": lambda *args, **kwargs: "",
    "mem_get_info": lambda *args, **kwargs: (1 << 34, 1 << 34),
    "get_rng_state": lambda *args, **kwargs: torch.get_rng_state(),
    "get_rng_state_all": list,
    "current_stream": _Stream,
    "default_stream": _Stream,
    "make_graphed_callables": lambda callables, *args, **kwargs: callables,
}  # fmt: skip
"""What the functions of `torch.cuda` that would fail without CUDA do in its place."""


def _instead(answer: Callable[..., Any], real: Any) -> Callable[..., Any]:
    return answer


def _answer_functions() -> list[dynamo.Undo]:
    undo = []
    for name, answer in _ANSWERS.items():
        undo.append(dynamo.patch(torch.cuda, name, functools.partial(_instead, answer)))
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        undo.append(dynamo.patch(torch.cuda.nvtx, name, lambda real: lambda *args, **kwargs: 0))
    types = {name: getattr(torch, name) for name in _TYPES} if torch.version.cuda is None else {}
    return undo + [_replaced(torch.cuda, name, value) for name, value in {**_CLASSES, **types}.items() if hasattr(torch.cuda, name)]


def _replaced(owner: Any, name: str, value: object) -> dynamo.Undo:
    real = getattr(owner, name)
    setattr(owner, name, value)
    return lambda: setattr(owner, name, real)


# Objects that are made for a device


def _redirect_indices() -> list[dynamo.Undo]:
    if torch.version.cuda is not None:
        return []
    names = [(torch.Tensor, "to"), (torch.Tensor, "cuda"), (torch.nn.Module, "to"), (torch.nn.Module, "cuda")]
    return [_replaced(owner, name, _by_index(getattr(owner, name))) for owner, name in names]


def _redirect_objects(ask: Callable[[], None]) -> list[dynamo.Undo]:
    def on_cpu(real: Any) -> Callable[..., None]:
        def init(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
            if device_type == "cuda":
                ask()
            real(self, "cpu" if device_type == "cuda" else device_type, *args, **kwargs)

        return init

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith("cuda"):
            return None
        ask()
        return storage

    with contextlib.suppress(AttributeError):
        torch.serialization.register_package(5, lambda storage: None, restore)  # before torch's own for CUDA, which is at 20
    return [dynamo.patch(torch.autocast, "__init__", on_cpu)]


def _replace_generator(ask: Callable[[], None]) -> dynamo.Undo:
    """Make generators for CUDA on the CPU once the program's texts name both: Dynamo knows the class itself, so it stays where it can."""
    undo: list[dynamo.Undo] = []
    wanted = {"Generator", "cuda"}

    def heed(code: object) -> None:
        if wanted and isinstance(code, types.CodeType) and not _LIBRARY.search(code.co_filename):
            wanted.difference_update(_named(code))
            if not wanted:
                undo.append(_replaced(torch, "Generator", _generator(torch.Generator, ask)))

    auditing.hear({"exec": heed}, lambda event, error: None)

    def take_back() -> None:
        wanted.add("nothing more")
        for step in undo:
            step()

    return take_back


def _named(code: types.CodeType) -> set[str]:
    """Which of the two words a module's code, with all that is in it, uses as names or has in texts."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    words = [*code.co_names, *(const for const in code.co_consts if isinstance(const, str))]
    found = {"cuda"} if any("cuda" in word for word in words) else set()
    return found.union({"Generator"} if "Generator" in words else (), *map(_named, inner))


def _by_index(real: Any) -> Callable[..., Any]:
    """A method that takes a number for a device, also in a torch that is built without CUDA, which takes none."""

    @functools.wraps(real)
    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is int:
            args = (torch.device("cuda", args[0]), *args[1:])
        elif type(kwargs.get("device")) is int:
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        return real(self, *args, **kwargs)

    # Dynamo goes into torch's own methods, and so into this one if it seems to be in the same file; into the worker's it does not.
    file = getattr(real, "__code__", torch.Tensor.backward.__code__).co_filename
    function: Any = move
    function.__code__ = function.__code__.replace(co_filename=file)
    return function  # type: ignore[no-any-return]


def _generator(real: type, ask: Callable[[], None]) -> type:
    """`torch.Generator` that makes the CPU's for CUDA; what it makes is of the real class, and counts as of this one."""

    class Kind(type):
        def __call__(cls, device: Any = "cpu") -> Any:
            if _is_cuda(device):
                ask()
            return real(CPU if _is_cuda(device) else device)

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real)

    return Kind("Generator", (), {"__module__": real.__module__, "__doc__": real.__doc__})
