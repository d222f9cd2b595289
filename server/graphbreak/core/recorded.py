"""What `graphbreak record` writes to `.graphbreak/inputs.json`, and what a trace reads there: calls that a program made, without data.

The file is for people too: paths are relative to its project, and recording the same run again gives the same text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..worker.protocol_ranges import KEYS, is_older, is_tensor, put_together
from .entries import below
from .examples import Example
from .source import SourceFile, Span

FOLDER, NAME = ".graphbreak", "inputs.json"
VERSION = 1
_MOST_CALLS = 8
_WIDTH = 110

Calls = dict[str, list[dict[str, Any]]]
"""For each function (`model.py::Net.forward`) the different calls of it."""


@dataclass(frozen=True)
class Recorded:
    """The example calls in one file of recorded inputs; `problem` is a sentence where it cannot be read."""

    examples: tuple[Example, ...] = ()
    problem: str = ""


def read_recorded(source: SourceFile) -> Recorded:
    """What a file of recorded inputs says; its project is the folder above the one that it lies in."""
    path = source.path.replace("\\", "/")
    project = path.rsplit("/", 2)[0]
    try:
        functions = _functions(json.loads(source.text))
    except (ValueError, TypeError, RecursionError) as error:
        return Recorded(problem=f"{source.path} cannot be read, so no recorded inputs are used: {error}.")
    found = []
    for function, calls in functions.items():
        file, _, name = function.partition("::")
        span = _place(source, function)
        for call in calls:
            text = json.dumps(call, sort_keys=False)
            found.append(Example(function, below(project, file), name, name, source.path, span, recorded=text))
    return Recorded(tuple(found))


def _functions(document: object) -> Calls:
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError(f'expected an object with "version": {VERSION}')
    functions = document.get("functions")
    if not isinstance(functions, dict):
        raise ValueError('expected an object under "functions"')
    for function, calls in functions.items():
        if not isinstance(calls, list) or not all(isinstance(call, dict) and isinstance(call.get("inputs"), dict) for call in calls):
            raise ValueError(f'expected a list of calls, each with "inputs", for "{function}"')
    return functions


def _place(source: SourceFile, function: str) -> Span:
    start = source.text.find(json.dumps(function))
    return Span(source.position(start), source.position(start + len(json.dumps(function)))) if start >= 0 else Span.at(0, 0, 0, 0)


def merged_calls(parts: Sequence[Mapping[str, Any]]) -> tuple[Calls, list[str]]:
    """The calls that several processes noted as one, in an order that does not depend on theirs; and a sentence for each thing left out."""
    functions: dict[str, dict[str, dict[str, Any]]] = {}
    notes = dict.fromkeys(str(note) for part in parts for note in part.get("notes", ()))
    for part in parts:
        for function, calls in part.get("functions", {}).items():
            for call in calls:
                whys = list(_whys(call))
                if whys:
                    notes[f"{function}: a call is left out, for {whys[0]}"] = None
                    continue
                known = functions.setdefault(function, {})
                key = json.dumps(_without_ranges(call), sort_keys=True)
                known[key] = _widened(known[key], call) if key in known else call
    ordered = {function: [known[key] for key in sorted(known)][:_MOST_CALLS] for function, known in sorted(functions.items())}
    return ordered, sorted(notes)


def _whys(sample: object, name: str = "") -> Iterator[str]:
    """Why parts of a call cannot be made again, each with the name of what holds it."""
    if isinstance(sample, dict):
        if "why" in sample:
            yield f"`{name}` cannot be made again: {sample['why']}" if name else str(sample["why"])
        for key, value in sample.items():
            yield from _whys(value, key if key not in ("inputs", "kwargs", "args", "dict", "state", "*") else name)
    elif isinstance(sample, list):
        for value in sample:
            yield from _whys(value, name)


def _without_ranges(sample: Any) -> Any:
    if isinstance(sample, dict):
        return {key: _without_ranges(value) for key, value in sample.items() if not (key in KEYS and is_tensor(sample))}
    return [_without_ranges(value) for value in sample] if isinstance(sample, list) else sample


def _widened(one: Any, other: Any, kept: bool = False) -> Any:
    """Two samples that differ in their ranges only, as one that has both. `kept` says that the file has the other one already."""
    if isinstance(one, list):
        return [_widened(first, second, kept) for first, second in zip(one, other)]
    if not isinstance(one, dict):
        return one
    if not is_tensor(one):
        return {key: _widened(value, other[key], kept) for key, value in one.items()}
    form = {key: value for key, value in one.items() if key not in KEYS}
    return {**form, **put_together(one, one if kept and is_older(other, one) else other)}


def with_calls(before: str, calls: Calls) -> str:
    """The text of the file with the calls of some functions in place of what it had for these.

    A range that the file has already stays as wide as it was, so that random data does not change the file at each recording.
    Raises ValueError where the text before is not what it should be.
    """
    functions = dict(_functions(json.loads(before))) if before.strip() else {}
    for function, new in calls.items():
        known = {json.dumps(_without_ranges(call), sort_keys=True): call for call in functions.get(function, ())}
        keys = [json.dumps(_without_ranges(call), sort_keys=True) for call in new]
        functions[function] = [_widened(call, known[key], kept=True) if key in known else call for key, call in zip(keys, new)]
    return _shown({"version": VERSION, "functions": dict(sorted(functions.items()))}) + "\n"


def _shown(value: Any, indent: int = 0) -> str:
    """JSON on one line where that is short, else an item a line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or (indent > 1 and indent + len(line) <= _WIDTH):
        return line
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {_shown(item, indent + 1)}" for key, item in value.items()]
    else:
        items = [_shown(item, indent + 1) for item in value]
    start, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return start + "\n" + ",\n".join(pad + item for item in items) + "\n" + " " * indent + end
