"""What the line above a marked function says: what became of it, with which inputs; or that it was not analysed, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from .findings import FunctionResult, InputSet, Outcome

SEPARATOR = " · "
_LONGEST_INPUTS = 60
_LONGEST_REASON = 100

_SHORT = {Outcome.NO_ENVIRONMENT: "no Python with torch"}
"""Where the whole sentence is a message already, and too long for a line above the code."""


def title(function: FunctionResult, intended: int = 0, here: str = "") -> str:
    """`3 graphs · 1 break · x: f32[8, 16] (from call)`. `intended` is the number of breaks that the user asked for; `here` the file that
    it is said in."""
    broken = function.breaks + function.skipped
    if is_not_analysed(function):
        return not_analysed(_SHORT.get(function.outcome) or function.detail or function.outcome.value)
    parts: list[str] = []
    if function.provisional:
        parts.append(f"{_count(broken, 'break')} so far")
    elif not function.graphs and function.skipped:
        parts.append("runs eagerly")
    elif function.graphs or broken or intended or not function.detail:
        counts = [_count(broken, "break")] if broken else []
        counts += [_count(intended, "intended break")] if intended else []
        parts += [_graphs(function), ", ".join(counts) or "no breaks"]
    if function.inputs:
        parts.append(inputs_words(function.inputs, here))
    return SEPARATOR.join([*parts, function.detail] if function.detail else parts)


def function_markdown(function: FunctionResult, here: str = "") -> str:
    """What became of a traced function, with each set of inputs on a line of its own; `here` is the file that it is said in."""
    plain = replace(function, inputs=())
    inputs = [f"- `{one.summary or 'no arguments'}` ({origin(one, here=here, in_full=True)})" for one in function.inputs]
    return "\n".join([f"**{function.name}**: {title(plain)}", *(["", *inputs] if inputs else [])])


def is_not_analysed(function: FunctionResult) -> bool:
    """Whether nothing was found out about it. One that a run was ended in may still have shown something."""
    return function.outcome is not Outcome.TRACED and not (function.graphs or function.breaks or function.skipped)


def not_analysed(reason: str) -> str:
    """For a function of which nothing is known."""
    line = reason.strip().partition("\n")[0].rstrip(".")
    return f"not analysed: {line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1].rstrip() + '…'}"


def clock(made: float, now: float) -> str:
    """A moment in the words of a clock here: `14:32`, or `29 Nov 14:32` if that was another day."""
    then, today = time.localtime(made), time.localtime(now)
    return time.strftime("%H:%M" if then[:3] == today[:3] else f"{then.tm_mday} %b %H:%M", then)


def _graphs(function: FunctionResult) -> str:
    text = _count(function.graphs, "graph")
    if not function.recompiles:
        return text
    again = min(function.recompiles, function.graphs)
    return f"{text}, {again} of them {'a recompile' if again == 1 else 'recompiles'}"


def inputs_words(inputs: Sequence[InputSet], here: str = "", quote: str = "") -> str:
    """The last set of inputs, as an example call would be made of it, and how many others there were."""
    last = inputs[-1]
    text = last.summary or "no arguments"
    if len(text) > _LONGEST_INPUTS:
        text = text[: _LONGEST_INPUTS - 1].rstrip(", ") + "…"
    more = len(inputs) - 1
    return f"{quote}{text}{quote} ({origin(last, here=here)})" + (f" and {_count(more, 'more set')}" if more else "")


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def origin(inputs: InputSet, show: Callable[[str], str] = _file_name, in_full: bool = False, here: str = "") -> str:
    """Where a set of inputs came from, in words; `show` is how a path is written, but for that of the file that it is said in (`here`);
    `in_full` names the call that was guessed."""
    if inputs.source == "inferred":
        return f"a guess: {inputs.expression}" if inputs.expression and in_full else "a guess"
    if not inputs.entry or inputs.entry == here:
        return f"from {inputs.source}"
    return f"from {show(inputs.entry)}" if inputs.source == "call" else f"from {inputs.source}: {inputs.entry}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
