"""What the marked functions of a program do, call by call: what they return, write and leave behind, and their gradients.

The program runs as it is, with compiling switched off or with a backend of the comparison's own; the notes go into files.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import json
import logging
import os
import random
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from . import dynamo, stacks
from .marks import Marks, qualified_name, user_function
from .protocol import Place
from .recorder import Recorder
from .snapshots import Plain, is_data, is_plain_object, snapshot, without_addresses

MOST_CALLS = 64
PLAIN_LEAF = "a tensor"
"""How the gradient is called of a tensor that is no parameter: it may be one that the call itself made, and nobody holds."""
_WITH_GRADIENTS = 4
_MOST_NODES = 100_000
_MOST_BYTES = 512 * 1024 * 1024


class Observer:
    """Notes of one run, put into `folder` as they are made. `enough` is called once `most_calls` calls were noted."""

    def __init__(self, folder: str, most_calls: int, enough: Callable[[], None]) -> None:
        self._folder = folder
        self._most_calls = most_calls
        self._enough = enough
        self._marks = Marks(Recorder(lambda message: None))
        self._depth = 0
        self._bytes = 0
        self.calls = 0
        self.last = 0.0
        """When the last call was noted, by the monotonic clock."""
        self.logged: list[str] = []
        self._written, self._said = (0, 0), 0
        """How much was printed and logged when the last call was noted."""

    def compile(self, real: Callable[..., Any], backend: str) -> Callable[..., Any]:
        """`torch.compile` whose results note their calls. Without a backend they run as they are; with one, breaks are never errors."""

        @functools.wraps(real)
        def compile(model: Any = None, **kwargs: Any) -> Any:
            if model is None:
                return functools.partial(compile, **kwargs)
            named = {key: value for key, value in kwargs.items() if key not in ("mode", "options")}
            if backend and named.pop("fullgraph", False):
                dynamo.allow_scalar_capture()  # breaks that are left are no failure of an edit that removes another
            compiled = real(model, **{**named, "backend": backend or "eager"})
            if _asked_by_torch():
                return compiled
            self._marks.add(model, compiled, Place("", 0, ""), False)
            return self._observed(model, compiled)

        return compile

    def is_marked(self, frame: types.FrameType) -> bool:
        """Whether a frame is the call of something that the program compiles."""
        return self._marks.of_frame(frame) is not None

    def _observed(self, target: Any, compiled: Any) -> Any:
        """The same compiled callable, noting its calls."""
        name = qualified_name(user_function(target), target)
        if inspect.isfunction(compiled):
            return self._wrapper(name, target, compiled)
        if isinstance(compiled, type):
            attribute = next((key for key in ("_call_impl", "__call__") if inspect.isfunction(vars(compiled).get(key))), "")
            if attribute:
                setattr(compiled, attribute, self._wrapper(name, compiled, vars(compiled)[attribute]))
        elif isinstance(compiled, torch.nn.Module):
            object.__setattr__(compiled, "forward", self._wrapper(name, target, compiled.forward))
        return compiled

    def _wrapper(self, name: str, target: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def observed(*args: Any, **kwargs: Any) -> Any:
            if self._depth:
                return function(*args, **kwargs)
            self._depth += 1
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                self._note(name, target, args, kwargs, None, f"{type(error).__name__}: {without_addresses(str(error)[:2000])}")
                raise
            finally:
                self._depth -= 1
            self._note(name, target, args, kwargs, result, "")
            return result

        return observed

    def _note(self, name: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, raised: str) -> None:
        if self.calls >= self._most_calls:
            return
        note: dict[str, Any] = {"name": name, "raised": raised}
        owner = _owner(target, args)
        parts: dict[str, Callable[[], Plain]] = {
            "what it returns": lambda: snapshot(result),
            "its arguments": lambda: snapshot([list(args), kwargs], left_out={id(owner)}),
            "its object": lambda: _state(owner),
        }
        if self.calls < _WITH_GRADIENTS:
            parts["its gradients"] = lambda: _gradients([result], [args, kwargs])
        for key, look in parts.items():
            try:
                with torch.set_grad_enabled(key == "its gradients" and torch.is_grad_enabled()):
                    note[key] = look()
            except Exception as error:  # this runs inside the program's own call, and must not be what makes it fail
                note[key] = ["opaque", type(error).__name__]
        self._save(f"{self.calls:05d}.pt", note)
        self.calls += 1
        self.last = time.monotonic()
        self._written = _flushed()
        self._said = len(self.logged)
        if self.calls >= self._most_calls or self._bytes > _MOST_BYTES:
            self._enough()

    def end(self, module: types.ModuleType | None, raised: str) -> None:
        """The program is over: note what it leaves behind."""
        note: dict[str, Any] = {"name": "", "raised": raised, "the random state it leaves": _random_state()}
        if module is not None:
            held = {key: value for key, value in vars(module).items() if not key.startswith("__")}
            note["its variables"] = {key: _variable(value) for key, value in held.items() if _is_variable(value)}
        self._save("end.pt", note)
        self._save_log()

    def cut(self) -> None:
        """The program is ended before its own end: leave out what it wrote since the last call that was noted, where the next is ended."""
        for name, size, now in zip(("out", "err"), self._written, _flushed()):
            if now > size:
                os.truncate(os.path.join(self._folder, name), size)
        del self.logged[self._said :]
        self._save_log()
        with open(os.path.join(self._folder, "cut"), "w"):
            pass

    def _save_log(self) -> None:
        with open(os.path.join(self._folder, "log"), "w", encoding="ascii") as file:
            json.dump(self.logged, file)

    def _save(self, name: str, note: dict[str, Any]) -> None:
        path = os.path.join(self._folder, name)
        torch.save(note, path)
        self._bytes += os.path.getsize(path)

    def watch_log(self) -> None:
        """Keep what is logged and warned of, in words: where that is written changes with the edit."""
        handle, logged = logging.Logger.handle, self.logged

        def note(logger: logging.Logger, record: logging.LogRecord) -> None:
            if not record.name.startswith("torch.") and len(logged) < 10000:
                logged.append(without_addresses(f"{record.levelname} {record.name}: {record.getMessage()}"))
            handle(logger, record)

        def warn(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
            if len(logged) < 10000:
                logged.append(without_addresses(f"{category.__name__}: {message}"))

        logging.Logger.handle = note  # type: ignore[assignment, method-assign]
        warnings.showwarning = warn


def seed() -> None:
    """Begin from the same random state as every other run."""
    random.seed(0)
    torch.manual_seed(0)
    try:
        importlib.import_module("numpy").random.seed(0)
    except Exception:
        return  # there is none


def _random_state() -> Plain:
    """Where the generators of random numbers have got to."""
    numpy = sys.modules.get("numpy")
    states = [torch.random.get_rng_state().tolist(), random.getstate(), numpy.random.get_state()[1:3] if numpy is not None else None]
    return ["value", "str", hashlib.sha1(repr(states).encode()).hexdigest()]


def _asked_by_torch() -> bool:
    """Whether torch compiles something of its own (`torch.cond` does), and not a module's `compile` for the program."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and stacks.is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename.endswith(("eval_frame.py", "functools.py", os.path.join("torch", "__init__.py"))):
        frame = frame.f_back
    file = frame.f_code.co_filename if frame is not None else ""
    return dynamo.in_torch(file) and not file.endswith(os.path.join("nn", "modules", "module.py"))


def _owner(target: Any, args: tuple[Any, ...]) -> Any:
    """The object whose method is compiled."""
    if isinstance(target, torch.nn.Module):
        return target
    owner = getattr(target, "__self__", None)
    if owner is None and args and not isinstance(args[0], torch.Tensor) and "." in str(getattr(target, "__qualname__", "")):
        owner = args[0]
    return owner


def _state(owner: Any) -> Plain:
    """What an object holds, as far as limits go."""
    return ["object", "none"] if owner is None else snapshot(owner, whole=False)


def _is_variable(value: Any) -> bool:
    """Whether a variable of a module holds what the program computes with."""
    return is_data(value) or is_plain_object(value) or isinstance(value, torch.nn.Module)


def _variable(value: Any) -> Plain:
    """What it holds, a compiled module like the same that is not compiled."""
    try:
        return snapshot(getattr(value, "_orig_mod", value) if isinstance(value, torch.nn.Module) else value, whole=False)
    except Exception as error:
        return ["object", type(error).__name__]


def _flushed() -> tuple[int, int]:
    """How much has been written to standard output and standard error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
    try:
        return os.fstat(1).st_size, os.fstat(2).st_size
    except OSError:  # the program closed them
        return sys.maxsize, sys.maxsize


def _gradients(results: list[Any], inputs: list[Any]) -> Plain:
    """The gradients of the sum of all results, for the inputs by their place and for parameters by what they hold."""
    outputs = [tensor for tensor in _tensors(results) if tensor.requires_grad and tensor.is_floating_point()]
    given = [tensor for tensor in _tensors(inputs) if tensor.requires_grad]
    if not outputs:
        return ["object", "none"]
    known = {id(tensor) for tensor in given}
    leaves = [leaf for leaf in _leaves(outputs) if id(leaf) not in known]
    state = torch.random.get_rng_state()
    try:
        with torch.enable_grad():
            total = sum(output.double().sum() if output.device.type != "mps" else output.sum() for output in outputs)
            found = torch.autograd.grad(total, [*given, *leaves], retain_graph=True, allow_unused=True)  # type: ignore[arg-type]
    except Exception as error:
        return ["value", "str", f"{type(error).__name__}"]
    finally:
        torch.random.set_rng_state(state)
    grads = [torch.zeros_like(tensor) if grad is None else grad.detach() for tensor, grad in zip([*given, *leaves], found)]
    parts = [[str(index), snapshot(grad)] for index, grad in enumerate(grads[: len(given)])]
    parts += _by_what_they_hold(leaves, grads[len(given) :])
    return ["parts", "gradients", len(parts), parts]


def _by_what_they_hold(leaves: list[torch.Tensor], grads: list[torch.Tensor]) -> list[list[Any]]:
    """Parameters have no names here, and are met in another order when the program computes in another order."""
    groups: dict[str, torch.Tensor] = {}
    for leaf, grad in zip(leaves, grads):
        if bool(grad.count_nonzero()):  # an unused one may be met in one program only
            held = leaf.detach().double()
            kind = "a parameter" if isinstance(leaf, torch.nn.Parameter) else PLAIN_LEAF
            key = f"{kind} of shape {list(leaf.shape)} and sum {float(held.sum()):.4g}, {float((held * held).sum()):.4g}"
            groups[key] = groups[key] + grad if key in groups else grad
    return [[key, snapshot(groups[key])] for key in sorted(groups)]


def _leaves(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The parameters that a graph of gradients ends in, and other leaves."""
    found: dict[int, torch.Tensor] = {}
    waiting = [output.grad_fn for output in outputs if output.grad_fn is not None]
    seen: set[Any] = set(waiting)
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor):
            found[id(variable)] = variable
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)
    return list(found.values())


def _tensors(values: Iterable[Any], depth: int = 0) -> list[torch.Tensor]:
    """The tensors in nested values, in their order, each once."""
    found: dict[int, torch.Tensor] = {}
    for value in values:
        if isinstance(value, torch.Tensor):
            found[id(value)] = value
        elif depth < 6 and isinstance(value, dict):
            found.update((id(tensor), tensor) for tensor in _tensors(value.values(), depth + 1))
        elif depth < 6 and isinstance(value, (list, tuple)):
            found.update((id(tensor), tensor) for tensor in _tensors(value, depth + 1))
        elif depth < 6 and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
            found.update((id(tensor), tensor) for tensor in _tensors(vars(value).values(), depth + 1))
    return list(found.values())
