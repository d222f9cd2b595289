"""Moving a statement out of generated programs leaves values, arguments and what is printed as they were, over several inputs.

No trial stands in between here: this asks of the fix alone what a trial would ask once more.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("torch")

import torch

from generated_programs import Program, Writer, module_of
from graphbreak.core.findings import Diagnostic, Kind, Severity, StackFrame
from graphbreak.core.places import node_span
from graphbreak.core.source import SourceFile
from graphbreak.fixes.model import FixContext
from graphbreak.fixes.move_out import move_out

PATH = "/w/net.py"
PROGRAMS = 3000 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 200
TURNS = 5


def outcomes(text: str, program: Program) -> list[tuple[str, ...]]:
    """For each turn what the program gives, leaves in its arguments, prints and raises, without a compiler."""
    scope: dict[str, Any] = {}
    with mock.patch.object(torch, "compile", lambda function: function):
        exec(compile(text, PATH, "exec"), scope)
    function = eval(program.entry, scope)
    found: list[tuple[str, ...]] = []
    for turn in range(TURNS):
        arguments, printed, error, result = scope["inputs"](program.number, turn), io.StringIO(), "", None
        with contextlib.redirect_stdout(printed):
            try:
                result = function(*arguments)
            except Exception as raised:
                error = type(raised).__name__
        found.append((repr(result), repr(arguments), "" if error else printed.getvalue(), error))
    return found


def moved(text: str) -> Iterator[str]:
    """The text after each move that is offered, with each call in a compiled function taken for the break."""
    source = SourceFile(PATH, text)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.decorator_list]
    for function in functions:
        for statement in function.body:
            call = next((node for node in ast.walk(statement) if isinstance(node, ast.Call)), None)
            others = [one for one in function.body if one is not statement and "print" not in ast.unparse(one)]
            captured = frozenset(line for one in others for line in range(one.lineno - 1, one.end_lineno or 0))
            if call is not None:
                stack = (StackFrame(PATH, call.lineno - 1, function.name),)
                broken = Diagnostic("1", PATH, node_span(source, call), Severity.WARNING, Kind.BREAK, "GB0059", "", stack=stack)
                fix = move_out(broken, FixContext({PATH: source}, {PATH: frozenset({function.lineno - 1})}, {PATH: captured}))
                if fix is not None:
                    yield source.apply(fix.edits[PATH]).text


def test_nothing_changes() -> None:
    count = 0
    for seed in range(PROGRAMS):
        program = Writer(seed, seed).program()
        text = module_of([program]).rpartition("call(")[0]
        before = None
        for after in moved(text):
            before = before or outcomes(text, program)
            assert outcomes(after, program) == before, after
            count += 1
    assert count > PROGRAMS / 20
