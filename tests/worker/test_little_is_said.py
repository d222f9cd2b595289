"""What a worker says costs little: no bytecode and no guards unless they are asked for, and a graph as a summary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from graphbreak.tracer.prepared import Ran
from graphbreak.tracer.reuse import Asked, Reuse
from graphbreak.tracer.store import Store
from graphbreak.worker.protocol import Ended, GraphSeen, Message, Needed, pack
from harness import Harness

PROGRAM = """\
import torch


@torch.compile
def f(x):
{operations}
    print("mid")
    return x + 1


f(torch.ones(64, 64))
"""
_HEAVY = (b"LOAD_FAST", b"RETURN_VALUE", b"TENSOR_MATCH", b"___check", b"TYPE_MATCH", b"GuardManager", b"def forward")


class Heard(Reuse):
    """Remembers what was said, and keeps nothing."""

    def __init__(self) -> None:
        super().__init__(Store(None), os.environ.copy())
        self.said: list[Message] = []

    def keep(self, asked: Asked, ran: Ran, messages: Sequence[Message], libraries: Mapping[str, str]) -> None:
        if asked.job.path:
            self.said = list(messages)


def said(harness: Harness, path: Path, operations: int) -> list[Message]:
    """All that a worker says of a trace."""
    harness.engine.reuse = heard = Heard()
    try:
        harness.write_and_analyse(path, PROGRAM.format(operations="\n".join(f"    x = x * {number}.5" for number in range(operations))))
        harness.submit(heard.settled()).result(20)
    finally:
        harness.engine.reuse = None
    assert any(isinstance(message, GraphSeen) for message in heard.said)
    return heard.said


@pytest.mark.parametrize("heavy", _HEAVY)
def test_nothing_is_said_that_nobody_asked_for(harness: Harness, tmp_path: Path, heavy: bytes) -> None:
    assert not [message for message in said(harness, tmp_path / "main.py", 3) if heavy in pack(message)]


def test_a_graph_is_a_summary(harness: Harness, tmp_path: Path) -> None:
    few, many = (
        sum(len(pack(message)) for message in said(harness, tmp_path / f"{count}.py", count) if not isinstance(message, (Needed, Ended)))
        for count in (10, 210)
    )
    assert (many - few) / 200 < 400, "bytes for each operation: its name, its file and its line"
    assert few < 20_000
