"""Runs two texts of one module in eager mode, side by side, over inputs other than the traced ones. Reads JSON, writes JSON.

Each program is called with the same inputs in both. What it returns, prints and raises, what it leaves in its inputs and keeps for the
next call, and the gradients of inputs and parameters must be the same. Where inputs are not finite gradients are compared only for programs
that ask for that.
"""

import contextlib
import io
import json
import random
import sys
import types
from typing import Any

import torch

Outcome = tuple[tuple[str, ...], list[torch.Tensor]]


def load(text: str, name: str) -> dict[str, Any]:
    """The module's names, its calls at the end left out."""
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
    return module.__dict__


NOT_FINITE = (5, 6, 8)
"""The turns in which some inputs are not finite."""


def outcome(space: dict[str, Any], entry: str, number: int, turn: int, with_gradients: bool, state: str = "") -> Outcome:
    """What one call does: (words for what must be equal exactly, tensors to compare). `state` is what it keeps for the next call."""
    words, tensors = _call(space, entry, number, turn, with_gradients)
    kept = eval(state, space) if state else ()
    return (*words, *(repr(value) for value in kept if not isinstance(value, torch.Tensor))), [
        *tensors,
        *(value.detach() for value in kept if isinstance(value, torch.Tensor)),
    ]


def _call(space: dict[str, Any], entry: str, number: int, turn: int, with_gradients: bool) -> Outcome:
    head, _, method = entry.partition(".")
    function = getattr(space[head], method) if method else space[head]
    random.seed(turn)  # both draw the same numbers
    given = [value.clone().requires_grad_(with_gradients) for value in space["inputs"](number, turn)]
    parameters = list(space[head].parameters()) if method else []
    for parameter in parameters:
        parameter.grad = None
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            result = function(*(value * 1 for value in given)) if with_gradients else function(*given)
    except Exception as error:
        return (type(error).__name__, str(error), printed.getvalue()), []
    found = list(result) if isinstance(result, tuple) else [result]
    tensors = [value for value in found if isinstance(value, torch.Tensor)]
    words = [type(value).__name__ for value in found] + [repr(value) for value in found if not isinstance(value, torch.Tensor)]
    if with_gradients and any(value.requires_grad for value in tensors):
        try:
            torch.stack([value.sum() for value in tensors if value.requires_grad]).sum().backward()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            return (type(error).__name__, printed.getvalue()), []
        gradients = [value.grad for value in [*given, *parameters]]
        words += [str(gradient is None) for gradient in gradients]
        tensors += [gradient for gradient in gradients if gradient is not None]
    return (*words, printed.getvalue()), [*tensors, *given]


def difference(one: Outcome, other: Outcome) -> str:
    """What differs between two outcomes; nothing where they are the same."""
    if one[0] != other[0]:
        return f"{one[0]} became {other[0]}"
    for first, second in zip(one[1], other[1], strict=True):
        if first.shape != second.shape or first.dtype != second.dtype:
            return f"{first.dtype}{list(first.shape)} became {second.dtype}{list(second.shape)}"
        rtol, atol = (2e-3, 1e-3) if first.dtype in (torch.half, torch.bfloat16) else (1e-4, 1e-5)
        if not torch.allclose(first, second, rtol=rtol, atol=atol, equal_nan=True):
            return f"{first.detach().tolist()} became {second.detach().tolist()}"
    return ""


def compare(before: dict[str, Any], after: dict[str, Any], entry: str, number: int, turn: int, gradients: bool, state: str = "") -> str:
    """What differs between the two texts of a program in one call."""
    return difference(*(outcome(space, entry, number, turn, gradients, state) for space in (before, after)))


def main() -> None:
    """Compare all programs of one request."""
    torch.set_num_threads(1)
    torch.compile = lambda function: function  # type: ignore
    request = json.load(sys.stdin)
    before, after = load(request["before"], "before"), load(request["after"], "after")
    changed, refused = {}, []
    for number, entry, state, limits in request["programs"]:
        if compare(before, after, entry, number, 0, False, state):
            refused.append(number)
            continue
        turns = ((turn, turn % 3 == 0 and (limits or turn not in NOT_FINITE)) for turn in range(1, request["turns"] + 1))
        found = ((turn, compare(before, after, entry, number, turn, gradients, state)) for turn, gradients in turns)
        turn, words = next(((turn, words) for turn, words in found if words), (0, ""))
        if words:
            changed[str(number)] = f"turn {turn}: {words}"
    json.dump({"changed": changed, "refused": refused}, sys.stdout)


if __name__ == "__main__":
    main()
