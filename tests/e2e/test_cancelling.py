"""What is stale ends before what takes its place begins: the real server, and programs that notice whether they are alone."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types

from .test_editor import SECONDS, RealEditor, real

__all__ = ["real"]

PROGRAM = """\
import fcntl, os, time
import torch

NUMBER = {number}
folder = os.path.dirname(__file__)
lock = open(os.path.join(folder, "lock"))
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    said = "alone"
except OSError:
    said = "beside another"
with open(os.path.join(folder, "log"), "a") as log:
    log.write(f"{{NUMBER}} {{said}}\\n")


@torch.compile
def f(x):
    print("mid")
    return x * NUMBER


f(torch.ones(2))
while NUMBER < {last}:
    time.sleep(0.01)
"""
LAST = 4


def text(number: int) -> str:
    return PROGRAM.format(number=number, last=LAST)


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(int(SECONDS / 0.01)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to be")


class Watched:
    """A document whose program runs until it is ended, but for the last text."""

    def __init__(self, editor: RealEditor, folder: Path) -> None:
        self.editor, self.path = editor, folder / "main.py"
        (folder / "lock").touch()
        (folder / "log").touch()
        self.number = 1
        self.path.write_text(text(1))

    def log(self) -> list[str]:
        return (self.path.parent / "log").read_text().splitlines()

    def is_running(self) -> bool:
        """Whether a process of a program lives."""
        with (self.path.parent / "lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    async def begun(self) -> None:
        """Wait until the program of the newest text runs."""
        await until(lambda: len(self.log()) == self.number)

    def edit(self) -> None:
        self.number += 1
        whole = types.TextDocumentContentChangeWholeDocument(text(self.number))
        self.editor.change(self.path, whole)

    def save(self) -> None:
        self.path.write_text(text(self.number))
        self.editor.save(self.path)


@pytest.mark.parametrize("run", ["onSave", "onType"])
async def test_a_stale_trace_has_ended_before_the_next_one_begins(real: RealEditor, tmp_path: Path, run: str) -> None:
    await real.start(tmp_path, run=run, tryFixes=False, sandbox={"write": [str(tmp_path)]})
    watched = Watched(real, tmp_path)
    real.open_file(watched.path)
    await watched.begun()
    for _ in range(LAST - 1):
        watched.edit()
        if run == "onSave":
            watched.save()
        await watched.begun()
    found = await real.diagnostics(watched.path, bool)
    assert [one.code for one in found] == ["GB0059"]
    assert watched.log() == [f"{number} alone" for number in range(1, LAST + 1)]
    await until(lambda: not watched.is_running())


async def test_an_edit_that_is_not_saved_leaves_the_trace_of_the_saved_text_and_its_result_is_moved(
    real: RealEditor, tmp_path: Path
) -> None:
    await real.start(tmp_path, run="onSave", tryFixes=False, sandbox={"write": [str(tmp_path)]})
    watched = Watched(real, tmp_path)
    watched.number = LAST - 1
    watched.path.write_text(text(watched.number) + "    if os.path.exists(os.path.join(folder, 'go on')): break\n")
    real.open_file(watched.path)
    await until(lambda: len(watched.log()) == 1)
    real.insert(watched.path, 0, 0, "# not saved\n")
    assert await real.request("graphbreak/report")
    assert watched.is_running()
    (tmp_path / "go on").touch()
    (found,) = await real.diagnostics(watched.path, bool)
    assert found.range.start.line == text(1).splitlines().index('    print("mid")') + 1
    assert watched.log() == [f"{LAST - 1} alone"]


async def test_what_an_edit_makes_stale_ends_though_nothing_new_can_be_run(real: RealEditor, tmp_path: Path) -> None:
    await real.start(tmp_path, run="onType", tryFixes=False, sandbox={"write": [str(tmp_path)]})
    watched = Watched(real, tmp_path)
    real.open_file(watched.path)
    await watched.begun()
    assert watched.is_running()
    real.insert(watched.path, 0, 0, "def (\n")
    await until(lambda: not watched.is_running())
    assert watched.log() == ["1 alone"]
