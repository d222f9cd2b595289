"""Functions that are not called with made-up values: those that delete, that start programs, or that talk to others."""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterator, Sequence
from typing import Any

from .reading import FunctionNode, node_of

_HARM: tuple[tuple[str, str], ...] = (
    (
        r"^(os\.(remove|unlink|rmdir|removedirs|rename|replace|truncate)|shutil\.(rmtree|move))$|\.(unlink|rmdir|rmtree)$",
        "deletes or moves files",
    ),
    (r"^(os\.(system|exec\w*|spawn\w*|popen|kill|killpg|fork|_exit|abort)|subprocess\.\w+)$", "starts or ends programs"),
    (r"^(socket\.\w+|requests\.\w+|urllib\.request\.\w+|http\.client\.\w+|smtplib\.\w+|boto3\.\w+|urlopen)$", "talks to other machines"),
)
_DEEPEST = 3


def refusal(functions: Sequence[Any], file: str) -> str:
    """Why functions are not called with guesses, as the end of a sentence; nothing where they may be."""
    for function in functions:
        plain = inspect.unwrap(function) if callable(function) else None
        plain = getattr(plain, "__func__", plain)
        if isinstance(plain, types.FunctionType):
            for name, what in _found(plain, 0, set()):
                return f"`{name}` in it {what}, so it is not called with inputs that are made up"
    return ""


def _found(function: types.FunctionType, depth: int, seen: set[types.CodeType]) -> Iterator[tuple[str, str]]:
    """The calls that do harm in a function, and in those of its own module that it calls by name."""
    node = node_of(function.__code__) if function.__code__ not in seen else None
    seen.add(function.__code__)
    for call in _calls(node) if node is not None else ():
        name = ast.unparse(call.func)
        for pattern, what in _HARM:
            if re.search(pattern, name):
                yield name, what
        inner = function.__globals__.get(name)
        if depth < _DEEPEST and isinstance(inner, types.FunctionType) and inner.__module__ == function.__module__:
            yield from _found(inner, depth + 1, seen)


def _calls(node: FunctionNode) -> Iterator[ast.Call]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Call))
