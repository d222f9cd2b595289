"""Makes a recorded call again: the module, its state, and inputs of the same shapes and types, with data of our own. See `samples`."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from . import user_module
from .devices import cuda_is_there
from .samples import DTYPES

_TENSOR = re.compile(r"(\w+)\[(.*)\]")
_LARGEST = 2**63 - 1


class Stale(Exception):
    """What was recorded does not fit the program any more; the message says why, as the end of a sentence."""


def recorded_call(text: str, module: types.ModuleType, name: str, root: str, device: str, to_compile: bool) -> Callable[[], object]:
    """A recorded call of the function `name` of a module, ready to be made: all that it needs is there. Raises Stale.

    `root` is the project's folder and `device` the one that is wanted. With `to_compile` it is compiled here, with its own options.
    """
    torch.manual_seed(0)  # so that the same call is made each time
    call = json.loads(text)
    rebuilder = _Rebuilder(root, module, device, call)
    owner = rebuilder.made(call["self"], "self") if "self" in call else None
    target = _target(module, name, owner, call)
    function = inspect.unwrap(_plain(target))
    args, kwargs = _arguments(function, {key: rebuilder.made(sample, key) for key, sample in call["inputs"].items()}, owner is not None)
    if to_compile:
        target = torch.compile(target, fullgraph=bool(call.get("fullgraph")), dynamic=call.get("dynamic"))

    def make() -> object:
        with surroundings(call):
            return target(*args, **kwargs)

    return make


def _target(module: types.ModuleType, name: str, owner: Any, call: dict[str, Any]) -> Any:
    """What was called: the object itself, its method, or the function of the module."""
    if owner is not None:
        method = name.rpartition(".")[2]
        as_a_whole = isinstance(owner, torch.nn.Module) and (call.get("as") == "module" or method == "forward")
        return owner if as_a_whole else _attribute(owner, method)
    return _attribute(module, name)


def _attribute(owner: Any, path: str) -> Any:
    for part in path.split("."):
        if not hasattr(owner, part):
            raise Stale(f"there is no `{path}` any more")
        owner = getattr(owner, part)
    return owner


def _plain(target: Any) -> Any:
    return target.forward if isinstance(target, torch.nn.Module) else target


def _arguments(function: Any, values: dict[str, Any], bound: bool) -> tuple[list[Any], dict[str, Any]]:
    """The inputs as arguments: by position as far as they are the first parameters, the rest by name. Raises Stale if they do not fit."""
    args, kwargs = list(values.pop("*", ())), values
    try:
        signature = inspect.signature(function)
        parameters = [one for one in signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        for parameter in parameters if not args else ():
            if parameter.name not in kwargs:
                break
            args.append(kwargs.pop(parameter.name))
        signature.bind(*args, **kwargs)
    except (TypeError, ValueError) as error:
        raise Stale(f"they do not fit its parameters: {error}") from error
    return args, kwargs


@contextlib.contextmanager
def surroundings(call: dict[str, Any]) -> Any:
    """The modes that a call was recorded in, see `recording.surroundings`."""
    with contextlib.ExitStack() as stack:
        if call.get("inference"):
            stack.enter_context(torch.inference_mode())
        elif call.get("grad") is False:
            stack.enter_context(torch.no_grad())
        if "autocast" in call:
            stack.enter_context(torch.autocast(call["autocast"]["device"], dtype=_dtype(call["autocast"]["dtype"])))
        yield


class _Rebuilder:
    def __init__(self, root: str, module: types.ModuleType, device: str, call: dict[str, Any]) -> None:
        self._root, self._module = root, module
        self._elsewhere = "cuda" if device != "cpu" and cuda_is_there() else ""
        self._mixed = '"device": "cuda"' in json.dumps(call)

    def device(self, recorded: str) -> str:
        """Where something goes that was recorded on a device: to the one at hand, but what lay on the CPU beside CUDA stays there."""
        if not self._elsewhere or (self._mixed and recorded == "cpu"):
            return recorded
        return self._elsewhere

    def made(self, sample: Any, name: str = "") -> Any:
        """The value of a sample. Raises Stale, with `name` in the message."""
        if isinstance(sample, list):
            return [self.made(item, name) for item in sample]
        if not isinstance(sample, dict):
            return sample
        kind = next((key for key in _MAKERS if key in sample), None)
        if kind is None:
            raise Stale(f"`{name}` is not described in a way that is understood")
        try:
            return _MAKERS[kind](self, sample)
        except Stale:
            raise
        except Exception as error:
            raise Stale(f"`{name}` cannot be made: {type(error).__name__}: {error}") from error

    def found(self, reference: str) -> Any:
        """What a name stands for: in a file of the project, or in a library."""
        file, own, path = reference.partition("::")
        if own:
            owner = self._imported(os.path.join(self._root, *file.split("/")))
        else:
            file, _, path = reference.partition(":")
            owner = importlib.import_module(file)
        for part in path.split("."):
            if not hasattr(owner, part):
                raise Stale(f"there is no `{path}` in {file} any more")
            owner = getattr(owner, part)
        return owner

    def _imported(self, path: str) -> Any:
        if os.path.realpath(path) == os.path.realpath(self._module.__file__ or ""):
            return self._module
        if not os.path.isfile(path):
            raise Stale(f"there is no {path} any more")
        package_root, package = user_module.package_of(path)
        for place in dict.fromkeys([package_root, *([] if package else [os.path.dirname(path)])]):
            if place not in sys.path:
                sys.path.append(place)
        return importlib.import_module(user_module.module_name(path))

    def call(self, sample: dict[str, Any]) -> Any:
        value = self.found(sample["make"])(
            *self.made(sample.get("args", []), "self"),
            **{name: self.made(item, name) for name, item in sample.get("kwargs", {}).items()},
        )
        return self._in_state(value, sample) if isinstance(value, torch.nn.Module) else value

    def name(self, sample: dict[str, Any]) -> Any:
        value = self.found(sample["name"])
        return self._in_state(value, sample) if isinstance(value, torch.nn.Module) else value

    def _in_state(self, module: torch.nn.Module, sample: dict[str, Any]) -> torch.nn.Module:
        module.train(sample.get("train", True))
        if "dtype" in sample:
            module.to(_dtype(sample["dtype"]))
        if sample.get("frozen"):
            module.requires_grad_(False)
        device = self.device(sample.get("device", "cpu"))
        return module.to(device) if device != "cpu" else module

    def new(self, sample: dict[str, Any]) -> Any:
        kind = self.found(sample["new"])
        value = kind.__new__(kind)
        value.__dict__.update((name, self.made(item, name)) for name, item in sample["state"].items())
        return value

    def tensor(self, sample: dict[str, Any]) -> Any:
        match = _TENSOR.fullmatch(sample["tensor"])
        if match is None:
            raise Stale(f"{sample['tensor']!r} is no tensor")
        shape = [int(size) for size in match[2].split(",") if size.strip()]
        value = _filled(shape, sample.get("strides"), _dtype(match[1]), sample, self.device(sample.get("device", "cpu")))
        if "class" in sample:
            value = value.as_subclass(self.found(sample["class"]))
        return value.requires_grad_() if sample.get("grad") else value


def _dtype(name: str) -> torch.dtype:
    found = DTYPES.get(name) or getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise Stale(f"this torch has no type {name}")
    return found


def _filled(shape: list[int], strides: list[int] | None, dtype: torch.dtype, sample: dict[str, Any], device: str) -> torch.Tensor:
    """A tensor of this form that is no view of another, with values within the sample's range, and those that it has also."""
    value = torch.empty(shape, dtype=dtype, device=device)
    if strides is not None:
        value = torch.empty_strided(shape, strides, dtype=dtype, device=device)
    if value.numel() == 0:
        return value
    size = 1 + sum((length - 1) * step for length, step in zip(value.shape, value.stride()))
    flat = value.as_strided((size,), (1,))
    low, high = sample.get("range", (None, None))
    if dtype.is_floating_point or dtype.is_complex:
        data = torch.rand(size) if high == 1 and low == 0 else torch.randn(size).abs() if low == 0 else torch.randn(size)
    else:
        data = _whole_numbers(size, low, high, sample.get("also", []))
    flat.copy_(data)
    for index, number in enumerate(sample.get("also", [])[: value.numel() - (low is not None)]):
        at = torch.unravel_index(torch.tensor(value.numel() - 1 - index), value.shape)
        value[at] = number  # each of them for certain
    return value


def _whole_numbers(size: int, low: int | None, high: int | None, apart: list[int]) -> torch.Tensor:
    """Whole numbers of a range, by chance about a quarter of them out of those that lie apart; only of these where there is no range."""
    some = torch.tensor(apart)[torch.randint(len(apart), (size,))] if apart else None
    if some is not None and low is None:
        return some
    least, greatest = 0 if low is None else low, 1 if high is None else high
    data = torch.full((size,), least) if least == greatest else torch.randint(least, min(greatest + 1, _LARGEST), (size,))
    return data if some is None else torch.where(torch.rand(size) < 0.25, some, data)


_MAKERS: dict[str, Callable[[_Rebuilder, dict[str, Any]], Any]] = {
    "tensor": _Rebuilder.tensor,
    "make": _Rebuilder.call,
    "new": _Rebuilder.new,
    "name": _Rebuilder.name,
    "tuple": lambda rebuilder, sample: tuple(rebuilder.made(sample["tuple"])),
    "set": lambda rebuilder, sample: set(rebuilder.made(sample["set"])),
    "frozenset": lambda rebuilder, sample: frozenset(rebuilder.made(sample["frozenset"])),
    "dict": lambda rebuilder, sample: {name: rebuilder.made(item, name) for name, item in sample["dict"].items()},
    "pairs": lambda rebuilder, sample: {rebuilder.made(key): rebuilder.made(item) for key, item in sample["pairs"]},
    "slice": lambda rebuilder, sample: slice(*sample["slice"]),
    "range": lambda rebuilder, sample: range(*sample["range"]),
    "float": lambda rebuilder, sample: float(sample["float"]),
    "device": lambda rebuilder, sample: torch.device(rebuilder.device(sample["device"])),
}
"""How each kind of sample is made, by its first key."""
