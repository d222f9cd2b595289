"""From an edit, or a save, to the end of the trace that it makes stale: until the process of that trace is gone.

Most of that is the kernel's, which gives back the memory of a process before its locks; so beside it stands what a plain kill takes.
"""

from __future__ import annotations

import contextlib
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

_LAYERS = 8
"""So many that the trace takes seconds in a warm process too."""

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
            pids = _at_work(editor, lock)
            if killed:
                begin = time.perf_counter()
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                _until_free(lock)
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
            if not pids & _holders(editor, lock):
                raise RuntimeError("the trace had ended before it could be made stale")
            begin = time.perf_counter()
            if run == "onSave":
                editor.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
            else:
                editor.change(path, programs.MODEL_LINE, 0, len(old), text.split("\n")[programs.MODEL_LINE])
            _until_free(lock)
            yield time.perf_counter() - begin


def _at_work(editor: Editor, lock: Path) -> set[int]:
    """The processes of the trace, once they have been there for a while: what ends before is one that was begun for the text before."""
    end = time.perf_counter() + 60
    while time.perf_counter() < end:
        pids = _holders(editor, lock)
        time.sleep(_WITHIN if pids else 0.01)
        if pids := pids & _holders(editor, lock):
            return pids
    raise TookTooLong("no trace began within 60 s")


def _holders(editor: Editor, lock: Path) -> set[int]:
    """The processes of the trace: those that have the lock open."""
    found = set()
    for pid in machine.with_descendants(editor.pid):
        with contextlib.suppress(OSError):
            if any(_leads_to(one, lock) for one in Path(f"/proc/{pid}/fd").iterdir()):
                found.add(pid)
    return found


def _leads_to(descriptor: Path, file: Path) -> bool:
    try:
        return os.readlink(descriptor) == str(file)
    except OSError:  # it has been closed meanwhile
        return False


def _text(lock: Path, number: int) -> str:
    return _LOCKED.format(lock=str(lock)) + programs.model(number, layers=_LAYERS)


def _until_free(lock: Path) -> None:
    end = time.perf_counter() + 60
    while _is_held(lock):
        if time.perf_counter() > end:
            raise TookTooLong("the trace did not end within 60 s")
        time.sleep(0.0005)


def _is_held(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
