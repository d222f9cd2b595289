"""A job of its own kind: a program and the same with an edit, each run in a process of its own from one random state, and compared.

Both run with compiling switched off, which is what the program is meant to do. If they differ, the first is run once more: what is
another in each run says nothing about the edit. Where a backend is named, the edited program is also run compiled, and has to do the
same: Dynamo may leave out or put off what eager mode does. What the original does otherwise as well when it is compiled, the edit did
not do.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import torch

from . import devices, dynamo, job, observing, protocol, stacks, user_module, wording
from .likeness import FLAG, difference, unseen
from .protocol import Compared, Ended, Job, Message
from .recorder import Recorder
from .snapshots import without_addresses

_LONGEST, _QUIET = 20.0, 5.0
"""Seconds after which a run is ended that has made a call: in all, and since the last one. The other run is ended at the same call."""
_PATIENCE = 2.5
"""How many times as long a run is given where the one before ended by itself: one that is slower ends too."""
_COMPILING = 4.0
"""How many times as long again where it is compiled."""
_MOST_OUTPUT = 1 << 20


def run(asked: Job, send: Callable[[Message], None]) -> NoReturn:
    """Compare, answer with `Compared`, and leave."""
    assert asked.edited is not None
    folder = tempfile.mkdtemp(prefix="graphbreak-")
    try:
        send(_compared(asked, asked.edited, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    send(Ended(0, [], []))
    os._exit(0)


def _compared(asked: Job, edited: Job, folder: str) -> Compared:
    original = replace(asked, edited=None, backend="")
    edited = replace(edited, backend="")
    first = _observed(original, os.path.join(folder, "before"), observing.MOST_CALLS)
    if first.died:
        return Compared(None, None, 0, f"the program by itself {first.died}")
    chance = _Chance(first, lambda: _observed(original, os.path.join(folder, "again"), first.limit))
    second = _observed(edited, os.path.join(folder, "after"), first.limit)
    found = chance.out_of(_differences(first, second))
    printed = wording.difference(first, second)
    if printed and not chance.steady:
        printed = wording.difference(first, second, numbers=False)
    if not found and asked.backend:
        compiled = _observed(replace(edited, backend=asked.backend), os.path.join(folder, "compiled"), first.limit)
        if compiled.cut and compiled.calls < first.calls:
            return Compared(None, not printed, first.calls, "compiled, it takes too long")
        was = functools.cache(
            lambda: _observed(replace(original, backend=asked.backend), os.path.join(folder, "compiled before"), first.limit)
        )
        how = "compiled" if asked.backend == _DYNAMO_ALONE else f"compiled with {asked.backend}"
        other = _when_compiled(first, compiled, was, chance)
        found = {key: f"{how}, {text}" for key, text in other.items() if _is_returned(key, text, asked.backend)}
        lost = "" if found or printed else next(iter(other.values()), "") or _words_when_compiled(first, compiled, was, chance)
        printed = f"{how}, {lost}" if lost else printed
    difference = next(iter(found.values()), "")
    if not difference and any(note != "end.pt" for note, _ in chance.seen):
        return Compared(None, not printed, first.calls, "the program gives other values in each run")
    if not difference and not first.calls:
        return Compared(None, not printed, 0, "no call was made that could be compared")
    hidden = "" if difference else _unseen(first)
    if hidden:
        return Compared(None, not printed, first.calls, f"{hidden} cannot be looked into")
    return Compared(not difference, not printed, first.calls, difference or printed)


Key = tuple[str, str]
"""Which note of a run, and what in it."""
_DYNAMO_ALONE = "eager"
"""The backend that runs the graphs as they are."""


def _is_returned(key: Key, text: str, backend: str) -> bool:
    """Whether a difference is in what a caller gets: not in what is left behind nor, where graphs run as they are, in gradients."""
    asked_for = f"require {FLAG}" in text or f"requires {FLAG}" in text or key[1] == "its gradients"
    return key[0] != "end.pt" and key[1] != "its object" and not (asked_for and backend == _DYNAMO_ALONE)


class _Chance:
    """What the original program does otherwise each time, asked for by running it again where that is needed."""

    def __init__(self, first: _Observed, again: Callable[[], _Observed]) -> None:
        self._first = first
        self._again = functools.cache(again)
        self.seen: frozenset[Key] = frozenset()
        """What was found to differ, as far as it was asked."""

    def out_of(self, found: dict[Key, str]) -> dict[Key, str]:
        """Differences without those that are chance."""
        if found:
            self.seen = frozenset(_differences(self._first, self._again()))
        return {key: text for key, text in found.items() if key not in self.seen}

    @functools.cached_property
    def steady(self) -> bool:
        """Whether it prints and logs the same each time."""
        return not wording.difference(self._first, self._again())


def _when_compiled(first: _Observed, compiled: _Observed, was: Callable[[], _Observed], chance: _Chance) -> dict[Key, str]:
    """What the edited program does otherwise compiled than the original in eager mode, and than that compiled."""
    found = chance.out_of(_differences(first, compiled, compiled=True))
    own = _differences(first, was(), compiled=True) if found and not was().died else {}
    still = _differences(was(), compiled, compiled=True) if own else {}
    return {key: text for key, text in found.items() if key not in own or key in still}


def _words_when_compiled(first: _Observed, compiled: _Observed, was: Callable[[], _Observed], chance: _Chance) -> str:
    """What it prints or logs otherwise compiled, in the same sense."""
    lost = wording.compiled_difference(first, compiled)
    if lost and not chance.steady:
        lost = wording.compiled_difference(first, compiled, numbers=False)
    if not lost or was().died or not wording.compiled_difference(first, was(), chance.steady):
        return lost
    return lost if wording.compiled_difference(was(), compiled, chance.steady) else ""


@dataclass(frozen=True)
class _Observed:
    """The notes of one run, in `folder`. `died` says how it ended where not by itself, `limit` how many calls the next is to make."""

    folder: str
    calls: int
    died: str
    limit: int

    @property
    def cut(self) -> bool:
        """Whether it was ended before its own end."""
        return self.limit == self.calls

    def note(self, name: str) -> dict[str, Any] | None:
        path = os.path.join(self.folder, name)
        return torch.load(path, weights_only=True) if os.path.exists(path) else None

    def logged(self) -> list[str]:
        path = os.path.join(self.folder, "log")
        if not os.path.exists(path):
            return []
        with open(path, encoding="ascii") as file:
            return [str(text) for text in json.load(file)]

    def output(self, name: str) -> str:
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return file.read(_MOST_OUTPUT).decode("utf-8", "replace")
        except OSError:
            return ""


def _differences(first: _Observed, second: _Observed, compiled: bool = False) -> dict[Key, str]:
    """What the second run did otherwise, in words, by where it shows. `compiled` says that it may leave out what is for eager mode only."""
    if second.died:
        return {("", ""): f"the edited program {second.died}"}
    found: dict[Key, str] = {}
    for number in range(max(first.calls, second.calls)):
        name = f"{number:05d}.pt"
        before, after = first.note(name), second.note(name)
        if before is None or after is None:
            return {**found, (name, ""): f"{first.calls} calls were made before and {second.calls} now"}
        if compiled:
            _leave_out_lone_leaves(before, after)
        _take_part_for_whole(before, after)
        where = f" in call {number + 1} of `{before['name']}`"
        found.update(((name, key), text + where) for key, text in _note_differences(before, after))
    before, after = first.note("end.pt"), second.note("end.pt")
    if (before is None) is not (after is None):
        found["end.pt", ""] = "only one of the two programs came to its end"
    elif before is not None and after is not None:
        found.update((("end.pt", key), f"{text} at the end of the program") for key, text in _note_differences(before, after))
    return found


def _unseen(run: _Observed) -> str:
    """What marked functions returned or were given that nothing is known of, and so may differ."""
    for number in range(run.calls):
        note = run.note(f"{number:05d}.pt") or {}
        for key in ("what it returns", "its arguments", "its gradients"):
            found = unseen(note[key], key) if key in note else ""
            if found:
                return f"{found} in call {number + 1} of `{note['name']}`"
    return ""


def _leave_out_lone_leaves(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Drop the gradients that only the first run has of tensors that are no parameters: made to need one in eager mode only."""
    one, other = before.get("its gradients"), after.get("its gradients")
    if one and other and one[0] == other[0] == "parts":
        there = {key for key, _ in other[3]}
        kept = [[key, value] for key, value in one[3] if key in there or not key.startswith(observing.PLAIN_LEAF)]
        before["its gradients"] = [*one[:2], len(kept), kept]


def _take_part_for_whole(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Where the edit compiles `_f` in place of `f`, which calls it: let the call count as one of `f`, whatever it is given beside."""
    head, dot, last = before["name"].rpartition(".")
    if after["name"] != f"{head}{dot}_{last}" or before["its arguments"][0] != "parts" or after["its arguments"][0] != "parts":
        return
    passed = iter(_each(after["its arguments"]))
    if all(any(not difference(one, other, "") for other in passed) for one in _each(before["its arguments"])):
        after.update({key: before[key] for key in ("name", "its arguments")})


def _each(arguments: list[Any]) -> list[Any]:
    """The snapshots of single arguments, those by position first, of the snapshot of both kinds."""
    return [value for _, group in arguments[3] for _, value in group[3]]


def _note_differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if before["raised"] != after["raised"]:
        yield "raised", f"it raises {after['raised'] or 'nothing'} and raised {before['raised'] or 'nothing'}"
    if before["name"] != after["name"]:
        yield "name", f"`{after['name']}` was called"
    for key, value in before.items():
        if key == "its variables":
            pairs = [(name, value[name], after[key][name], f"`{name}`") for name in value if name in after[key]]
        else:
            pairs = [(key, value, after[key], key)] if key in after and isinstance(value, list) else []
        yield from ((name, text) for name, one, other, shown in pairs if (text := difference(one, other, shown)))


# One run


def _observed(asked: Job, folder: str, most_calls: int) -> _Observed:
    """Run a program in a process of its own, and wait for its end."""
    os.makedirs(folder)
    forks = sys.platform == "linux" and not os.environ.get("GRAPHBREAK_NO_FORK")
    status = (_by_fork if forks else _by_start)(asked, folder, most_calls)
    calls = len([name for name in os.listdir(folder) if name[:5].isdigit()])
    ended = os.path.exists(os.path.join(folder, "end.pt"))
    cut = os.path.exists(os.path.join(folder, "cut"))
    died = "" if ended or cut else f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
    return _Observed(folder, calls, died, calls if cut else most_calls + 1)


def _by_fork(asked: Job, folder: str, most_calls: int) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            observe(asked, folder, most_calls)
        finally:
            os._exit(70)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _by_start(asked: Job, folder: str, most_calls: int) -> int:
    """The same where a process that has loaded torch cannot be forked."""
    main = os.path.join(stacks.FOLDER, "__main__.py")
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [sys.executable, main, "observe", folder, str(most_calls)], input=protocol.pack(asked), env=environment, check=False
    ).returncode


def observe(asked: Job, folder: str, most_calls: int) -> NoReturn:
    """In the process of one run: do the program, its notes and what it prints going into a folder, and leave."""
    for name, descriptor in (("out", 1), ("err", 2)):
        file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(file, descriptor)
        os.close(file)

    def leave() -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                continue
        os._exit(0)

    def cut(*_: object) -> None:
        observer.cut()
        leave()

    devices.prepare(asked.device)
    devices.stand_in(lambda message: None)
    observer = observing.Observer(folder, most_calls, cut)
    _end_in_time(observer, cut, (_PATIENCE if most_calls > observing.MOST_CALLS else 1.0) * (_COMPILING if asked.backend else 1.0))
    dynamo.patch(torch, "compile", lambda real: observer.compile(real, asked.backend))
    dynamo.skip_folder_of(__package__)
    if not asked.backend:
        dynamo.never_compile(observer.is_marked)
    observer.watch_log()
    observing.seed()
    observer.end(*_run(asked))
    leave()


def _end_in_time(observer: observing.Observer, cut: Callable[..., None], patience: float) -> None:
    """End a program that goes on and on after it has made a call that can be compared."""
    alarm = getattr(signal, "SIGALRM", None)
    if alarm is None:
        return
    started = time.monotonic()

    def ring(*_: object) -> None:
        now = time.monotonic()
        if observer.calls and (now - started >= _LONGEST * patience or now - observer.last >= _QUIET * patience):
            cut()
        signal.alarm(1)

    signal.signal(alarm, ring)
    signal.alarm(1)


def _run(asked: Job) -> tuple[Any, str]:
    """The program's module, and what it raised (of example calls all of it)."""
    said: list[Message] = []
    recorder = Recorder(said.append)
    recorder.recording = False
    error = ""
    try:
        job.prepare(asked)
        job.run_program(asked, recorder, _NoSession())
    except SystemExit as ended:
        error = "" if not ended.code else f"SystemExit: {ended.code}"
    except BaseException as raised:
        error = f"{type(raised).__name__}: {without_addresses(str(raised)[:2000])}"
    failures = [f"{failure.type}: {without_addresses(failure.message)}" for failure in said if isinstance(failure, protocol.Failure)]
    name = user_module.module_name(asked.path) if asked.calls or asked.function else "__main__"
    return None if asked.tests else sys.modules.get(name), "; ".join([*failures, *([error] if error else [])])


class _NoSession:
    """Nothing is recorded here, so nothing can be asked of a failed call."""

    def eager_verdict(self, error: BaseException) -> tuple[int, str]:
        """No verdict."""
        return -1, ""
