"""A kept run that needs no worker: a program with a break, and what a worker says of it."""

from __future__ import annotations

from typing import Any

from graphbreak.core.kept import Kept
from graphbreak.worker.protocol import BreakSeen, Ended, FrameCompiled, Hello, Job, KnownMark, Needed, Place

PROGRAM = """\
import torch


@torch.compile
def f(x):
    print("mid")
    return x


def other(x, n=2):
    return [n for _ in x]


f(torch.ones(2))
"""
PATH = "/w/a.py"


def kept_run(text: str = PROGRAM, hint: str = "", idle: list[list[Any]] | None = None, **needed: Any) -> Kept:
    """A run of the program with its break: what the worker says of it."""
    place = Place(PATH, 6, "f", 6, 4, 16, 4)
    said = BreakSeen(0, "0/0", 0, f"Graph Break Reason: no\n  Hint: {hint}\n", [Place(PATH, 14, "<module>")], [place])
    compiled = FrameCompiled(0, "0/0", "torch_dynamo_resume_in_f_at_6", PATH, 4, 0, 0.1, lines=[[PATH, 6], [PATH, 7]])
    known = {"programs": {}, "files": {}, "folders": {}, "searched": {}, "quoted": [], "unseen": [], **needed}
    return Kept(
        "q", job_of(text), Hello(1, "3.11", "2.13", "cpu", 1, "/t", []), (), (said, compiled), Ended(0, [PATH], []), "mid\n",
        Needed(**known, idle=[[PATH, 10, "other"]] if idle is None else idle), {PATH: text},
    )  # fmt: skip


def job_of(text: str) -> Job:
    line = text[: text.index("@torch.compile")].count("\n") + 1
    return Job(PATH, text, "/w", marks=[KnownMark(PATH, line, line)])
