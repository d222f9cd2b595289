"""From an edit, or a save, to the end of the trace that it makes stale: until the process of that trace is gone.

Most of that is the kernel's, which gives back the memory of a process before its locks; so beside it stands what a plain kill takes.
"""

from __future__ import annotations

import fcntl
import os
import signal
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from .. import machine, programs
from ..editor import Editor, TookTooLong
from ..rows import Row, seconds, tail_row

SECONDS = 600
_LIMIT = 50.0
_LOCKED = "import fcntl; lock = open({lock!r}); fcntl.flock(lock, fcntl.LOCK_EX); "
"""Held by the process of a trace for as long as there is one; on the first line of the program."""

_WITHIN = 0.7
"""Seconds after which Dynamo is at work on the model."""


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """An edit where typing traces; a save where saving does."""
    for run, words in (("onType", "edit"), ("onSave", "save")):
        place = folder / run
        place.mkdir()
        times, kills = list(_times(place, run, pairs)), list(_times(place, run, max(pairs // 2, 1), killed=True))
        own, plain = (seconds(statistics.median(one)) for one in (times, kills))
        beside = f"`run` is `{run}`; median {own}, of a plain kill of such a process {plain}"
        yield tail_row(f"{words} → the process of the trace that it makes stale is gone, p99", times, _LIMIT, beside)


def _times(folder: Path, run: str, pairs: int, killed: bool = False) -> Iterator[float]:
    path, lock = folder / "program.py", folder / "lock"
    lock.touch()
    text = _text(lock, 0)
    with Editor(folder, folder / "store", {"tryFixes": False, "run": run}) as editor:
        editor.open(path, text)
        for number in range(1, pairs + 1):
            _until(lock, held=True)
            time.sleep(_WITHIN)
            if killed:
                pid = _holder(editor, lock)
                begin = time.perf_counter()
                os.kill(pid, signal.SIGKILL)
                _until(lock, held=False)
                yield time.perf_counter() - begin
                time.sleep(_WITHIN)
            old, text = text.split("\n")[programs.MODEL_LINE], _text(lock, number)
            if run == "onSave" or killed:
                editor.change(path, programs.MODEL_LINE, 0, len(old), text.split("\n")[programs.MODEL_LINE])
                path.write_text(text, encoding="utf-8")
                time.sleep(0.05)
            if killed:
                editor.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
                continue
            if not _is_held(lock):
                raise RuntimeError("the trace had ended before it could be made stale")
            begin = time.perf_counter()
            if run == "onSave":
                editor.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
            else:
                editor.change(path, programs.MODEL_LINE, 0, len(old), text.split("\n")[programs.MODEL_LINE])
            _until(lock, held=False)
            yield time.perf_counter() - begin


def _holder(editor: Editor, lock: Path) -> int:
    """The process of the trace: the one that has the lock open."""
    for pid in machine.with_descendants(editor.pid):
        try:
            links = [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        if str(lock) in links:
            return pid
    raise RuntimeError("no process has a trace")


def _text(lock: Path, number: int) -> str:
    return _LOCKED.format(lock=str(lock)) + programs.model(number, layers=2)


def _until(lock: Path, held: bool) -> None:
    end = time.perf_counter() + 60
    while _is_held(lock) is not held:
        if time.perf_counter() > end:
            raise TookTooLong(f"no trace {'began' if held else 'ended'} within 60 s")
        time.sleep(0.0005)


def _is_held(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
