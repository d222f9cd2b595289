"""What is too large for one message is sent in part, and that it is only a part is said."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from graphbreak.worker import protocol
from graphbreak.worker.fitting import packed
from graphbreak.worker.protocol import BreakSeen, CallSeen, Cut, Ended, Explained, FrameCompiled, GraphSeen, Message, Needed, Place
from graphbreak.worker.protocol_values import MAX_MESSAGE, MAX_VALUES, unfit
from harness import INTERPRETER

LINES: list[list[str | int]] = [["/w/" + "folder/" * 20 + "a.py", line] for line in range(1, 90_000)]
PLACE = Place("/w/a.py", 1, "f")


def said(message: Message) -> list[Message]:
    """What arrives, each of which the server looks at."""
    bodies = [data[protocol.HEADER.size :] for data in packed(message)]
    assert not [why for body in bodies if (why := unfit(body))]
    return [protocol.unpack(body) for body in bodies]


def test_a_graph_of_a_large_model_is_one_message() -> None:
    ops: list[list[str | int]] = [["torch.nn.functional.scaled_dot_product_attention", LINES[n][0], n] for n in range(5001)]
    graph = GraphSeen(0, "0/0", LINES[:5000], [1], ops)
    assert said(graph) == [graph]
    assert len(packed(graph)[0]) < MAX_MESSAGE / 2


def test_a_graph_of_more_operations_says_how_many_more() -> None:
    asking = (
        "import torch, types\n"
        "from graphbreak.worker.compiling import _graph_places\n"
        "graph = torch.fx.Graph()\n"
        "for _ in range(5010): graph.call_function(torch.sin, (1,))\n"
        "_, ops = _graph_places(types.SimpleNamespace(graph=graph))\n"
        "print(len(ops), ops[4999][0], ops[5000])"
    )
    server = str(Path(protocol.__file__).parent.parent.parent)
    variables = {**os.environ, "PYTHONPATH": server}
    answer = subprocess.run([INTERPRETER, "-c", asking], env=variables, capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.strip().endswith("5001 torch.sin ['… and 10 more', '', 0]")


def test_lines_beyond_what_fits_are_left_out_in_words() -> None:
    cut, frame = said(FrameCompiled(0, "0/0", "f", "/w/a.py", 1, 3, 0.1, lines=LINES))
    assert isinstance(frame, FrameCompiled)
    assert isinstance(cut, Cut)
    assert frame.lines == LINES[: len(frame.lines)]
    assert len(frame.lines) > 10_000
    assert cut.what == f"{len(frame.lines):,} lines in one graph of FrameCompiled"


@pytest.mark.parametrize(
    "message",
    [
        Explained("explain", "", "é" * 5_000_000),
        BreakSeen(0, "0/0", 0, "x" * 9_000_000, [PLACE] * 50_000, [PLACE] * 50_000),
        CallSeen(0, ", " * MAX_VALUES),
        Ended(0, ["/w/a.py"] * 200_000, [], notes=["n" * 5_000_000]),
    ],
    ids=lambda message: type(message).__name__,
)
def test_anything_else_is_too(message: Message) -> None:
    *cuts, last = said(message)
    assert cuts
    assert all(isinstance(cut, Cut) for cut in cuts)
    assert type(last) is type(message)


def test_what_a_result_depends_on_is_told_whole_or_not_at_all() -> None:
    needed = Needed({}, {f"/w/{n}": "digest" for n in range(MAX_VALUES + 1)}, {}, {}, [], [], [])
    (told,) = said(needed)
    assert isinstance(told, Needed)
    assert (told.files, told.unseen) == ({}, ["depends on more than can be told"])
