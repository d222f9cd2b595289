"""The workers that are kept ready: which there are, which one a job gets, and when one that nobody uses ends."""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from ..core.requests import Permissions
from ..core.tracing import Finished
from ..sandbox import start as sandbox
from ..sandbox.policy import Policy, policy_for
from ..worker.protocol import Job, Message
from . import facts
from .ahead import Ahead, Place
from .environment import paths_of
from .prepared import WORKER, CannotStart, GrownParent, NotAllowed, ParentGone, PreparedParent, Ran
from .rights import Rights

IDLE_SECONDS = 600.0
"""After so long without a job a parent ends; the next job starts another one."""

_OTHERS_SECONDS = 60.0
"""The same for one that was not the last to have a job: its permissions may be of the past."""

_PAUSE_SECONDS = 0.3
_MOST_GROWN = 2
_MOST_FAILURES = 2
_MOST_ENTRIES = 256
_NO_SANDBOX = "There is no sandbox here, which the setting `sandbox.require` asks for, so nothing is run."

Key = tuple[str, Permissions]
_Entry = tuple[str, str, tuple[str, ...]]


class Pool:
    """Parents by interpreter and permissions, and those of the second level that have grown from them. Without `fork` each job has a
    process of its own."""

    def __init__(self, fork: bool, variables: Mapping[str, str], changed: Callable[[str], object] = lambda interpreter: None) -> None:
        """`changed` is told of an interpreter whose libraries are others now."""
        self._fork, self._variables, self._changed = fork, variables, changed
        self.ahead = Ahead(IDLE_SECONDS)
        self._parents: dict[Key, asyncio.Task[PreparedParent]] = {}
        self._grown: dict[Key, list[GrownParent]] = {}
        self._growing: dict[Key, asyncio.Task[None]] = {}
        self._imports: OrderedDict[tuple[Key, _Entry], tuple[str, ...]] = OrderedDict()
        self._outdated: list[PreparedParent] = []
        """Parents of libraries that are not on disk any more, until their jobs have ended."""
        self._unfit: set[tuple[str, str]] = set()
        self._libraries: dict[str, dict[str, str]] = {}
        """Where nothing is forked: those that the last job of an interpreter had."""
        self._failures: dict[tuple[str, ...], int] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._asleep: Key | None = None
        """The parent that was needed last, if it has ended because nobody needed it."""
        self._background: set[asyncio.Task[None]] = set()

    @property
    def ready(self) -> list[PreparedParent]:
        """The parents of the first level that are ready."""
        found = map(_parent_of, self._parents.values())
        return [parent for parent in found if parent is not None and parent.alive]

    @property
    def grown(self) -> list[GrownParent]:
        """The parents of the second level that are ready."""
        return [parent for parents in self._grown.values() for parent in parents if parent.alive]

    async def prepare(self, interpreter: str, permissions: Permissions) -> PreparedParent:
        """The parent of an interpreter with these permissions, started if there is none that has imported what is installed now. Raises
        CannotStart and NotAllowed."""
        key = (interpreter, permissions)
        task = self._parents.get(key)
        if task is not None and (known := _parent_of(task)) is not None and not facts.unchanged(known.libraries):
            self._replace(key, known)
            task = None
        if task is None or (task.done() and ((known := _parent_of(task)) is None or not known.alive)):
            task = self._parents[key] = asyncio.create_task(self._start(interpreter, permissions))
        return await asyncio.shield(task)  # a cancelled trace must not take down a parent that others wait for

    async def _start(self, interpreter: str, permissions: Permissions) -> PreparedParent:
        libraries = await asyncio.to_thread(facts.libraries, interpreter)
        parent = PreparedParent(interpreter, self._policy(interpreter, permissions), libraries)
        hello = await parent.start()
        parent.libraries = {**await asyncio.to_thread(facts.around, hello.torch_folder), **libraries}
        return parent

    def _replace(self, key: Key, parent: PreparedParent) -> None:
        """Something was installed: have this parent and what has grown from it end once their jobs have, and forget what was learnt."""
        del self._parents[key]
        self._outdated.append(parent)
        self._unfit = {unfit for unfit in self._unfit if unfit[0] != key[0]}
        self._failures.clear()
        self._changed(key[0])
        self._aside(self._end_when_idle(parent, self._grown.pop(key, [])))

    async def _end_when_idle(self, parent: PreparedParent, grown: Sequence[GrownParent]) -> None:
        while parent.alive and (parent.busy or any(one.busy for one in grown)):
            await asyncio.sleep(_PAUSE_SECONDS)
        for one in grown:
            one.close()
        if parent in self._outdated:
            self._outdated.remove(parent)
            await parent.close()

    def _policy(self, interpreter: str, permissions: Permissions) -> Policy:
        """What programs may do under an interpreter. Raises NotAllowed where the platform has nothing of what is required."""
        if permissions.require and not (sandbox.AVAILABLE and permissions.enabled):
            raise NotAllowed(_NO_SANDBOX)
        return policy_for(permissions, self._variables, paths_of(interpreter), WORKER, os.path.expanduser("~"), os.cpu_count() or 1)

    async def run(self, job: Job, interpreter: str, rights: Rights, timeout: float, on_message: Callable[[Message], None]) -> Ran:
        """Run a job, by a fork where that is possible. Raises CannotStart and NotAllowed."""
        if not self._fork:
            libraries = await asyncio.to_thread(facts.libraries, interpreter)
            place = Place(interpreter, self._policy(interpreter, rights.permissions), rights.folders, libraries)
            if self._libraries.setdefault(interpreter, libraries) != libraries:
                self._libraries[interpreter] = libraries
                self._changed(interpreter)
            return await self.ahead.run(place, job, timeout, on_message)
        key = (interpreter, rights.permissions)
        for _ in range(3):
            parent = await self.prepare(interpreter, rights.permissions)
            assert parent.hello is not None
            on_message(parent.hello)
            try:
                ran = await self._run_grown(key, job, rights, timeout, on_message)
                ran = ran or await parent.run(job, rights.folders, timeout, on_message)
            except ParentGone:  # something ended it since it was last used
                await parent.close()
                continue
            self._note(key, job, ran, parent)
            return ran
        raise CannotStart(f"The prepared process of {interpreter} ends again and again before it is used.")

    # The second level

    async def _run_grown(self, key: Key, job: Job, rights: Rights, timeout: float, on_message: Callable[[Message], None]) -> Ran | None:
        """Run a job where what it imported the last time is imported already; None where there is no such parent, or it is not the same
        there: then nothing was said."""
        parent = self._grown_for(key, job)
        if parent is None:
            return None
        heard: list[bool] = []

        def hear(message: Message) -> None:
            heard.append(True)
            on_message(message)

        try:
            ran = await parent.run(job, rights.folders, timeout, hear)
        except ParentGone:
            return None
        if heard or isinstance(ran.end, Finished):
            self._failures.pop(parent.modules, None)
            return ran
        self._failures[parent.modules] = self._failures.get(parent.modules, 0) + 1
        return None

    def _grown_for(self, key: Key, job: Job) -> GrownParent | None:
        wanted = self._wanted(key, job)
        if not wanted:
            return None
        for parent in list(self._grown.get(key, ())):
            if parent.modules != wanted:
                continue
            if parent.alive and parent.is_current():
                return parent
            self._end_grown(key, parent)
        return None

    def _wanted(self, key: Key, job: Job) -> tuple[str, ...]:
        """What is to be imported ahead for a job; nothing for one that must not be run so."""
        if job.names or job.edited is not None or job.explain or job.device != "auto":
            return ()
        found = self._imports.get((key, _entry(job)), ())
        wanted = tuple(name for name in found if (key[0], name) not in self._unfit)
        return wanted if self._failures.get(wanted, 0) < _MOST_FAILURES else ()

    def _note(self, key: Key, job: Job, ran: Ran, parent: PreparedParent) -> None:
        """A job has ended: what it imported is imported ahead for the next one of its entry."""
        if isinstance(ran.end, Finished) and not job.names and job.edited is None:
            self._imports[key, _entry(job)] = tuple(ran.end.ended.modules)
            self._imports.move_to_end((key, _entry(job)))
            while len(self._imports) > _MOST_ENTRIES:
                self._imports.popitem(last=False)
            if key not in self._growing and self._wanted(key, job) and self._grown_for(key, job) is None:
                self._growing[key] = asyncio.create_task(self._grow(key, job, parent))
                self._growing[key].add_done_callback(lambda task: self._growing.pop(key, None))
        self._sweep_later()

    async def _grow(self, key: Key, job: Job, parent: PreparedParent) -> None:
        """Have a parent of the second level for an entry, made while no job runs."""
        await asyncio.sleep(_PAUSE_SECONDS)
        while parent.alive and parent not in self._outdated and (wanted := self._wanted(key, job)):
            if parent.busy or any(grown.busy for grown in self._grown.get(key, ())):
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            made = await parent.grow(wanted)
            if isinstance(made, GrownParent):
                made.close() if parent in self._outdated or not parent.alive else self._keep_grown(key, made)
                return
            if not made:
                self._failures[wanted] = _MOST_FAILURES
                return
            self._unfit.add((key[0], made))

    def _keep_grown(self, key: Key, made: GrownParent) -> None:
        others = self._grown.setdefault(key, [])
        others.append(made)
        idle = sorted((parent for parents in self._grown.values() for parent in parents if not parent.busy), key=lambda one: one.used)
        for parent in idle[: max(0, len(self.grown) - _MOST_GROWN)]:
            self._end_grown(next(owner for owner, parents in self._grown.items() if parent in parents), parent)

    def _end_grown(self, key: Key, parent: GrownParent) -> None:
        self._grown[key].remove(parent)
        parent.close()

    # Ends

    def _sweep_later(self) -> None:
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(_OTHERS_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """End what was not used for long, and come again while something is left."""
        self._sweeper = None
        now = time.monotonic()
        ready = self.ready
        newest = max((parent.used for parent in ready), default=0.0)
        for key, task in list(self._parents.items()):
            parent = _parent_of(task)
            if parent is None:
                continue
            grown = self._grown.get(key, [])
            used = max([parent.used, *(one.used for one in grown)])
            limit = IDLE_SECONDS if used >= newest else _OTHERS_SECONDS
            if not (parent.busy or any(one.busy for one in grown)) and now - used >= limit:
                del self._parents[key]
                self._asleep = key if used >= newest else self._asleep
                self._end_soon(key, parent)
        if self._parents:
            self._sweep_later()

    def _end_soon(self, key: Key, parent: PreparedParent) -> None:
        for grown in self._grown.pop(key, []):
            grown.close()
        self._aside(parent.close())

    def wake(self) -> None:
        """Somebody is at work again: start what has ended because nobody was."""
        key, self._asleep = self._asleep, None
        if key is not None and key not in self._parents:
            self._aside(self._wake(*key))

    async def _wake(self, interpreter: str, permissions: Permissions) -> None:
        try:
            await self.prepare(interpreter, permissions)
        except (CannotStart, NotAllowed):
            return  # the next job says so
        self._sweep_later()

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def end(self) -> None:
        """End all of them with their jobs."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for growing in list(self._growing.values()):
            growing.cancel()
        self._asleep = None
        await self.ahead.end()
        parents, self._parents = self._parents, {}
        outdated, self._outdated = self._outdated, []
        grown, self._grown = self.grown, {}
        for one in grown:
            one.close()
        for task in parents.values():
            task.cancel() if not task.done() else None
            try:
                await (await task).close()
            except (CannotStart, asyncio.CancelledError, Exception):
                continue
        for parent in outdated:
            await parent.close()
        if self._background:
            await asyncio.wait(self._background)
        self._imports.clear()
        self._unfit.clear()
        self._failures.clear()


def _parent_of(task: asyncio.Task[PreparedParent]) -> PreparedParent | None:
    """The parent that was started; none while it is not ready or where it could not start."""
    return task.result() if task.done() and not task.cancelled() and task.exception() is None else None


def _entry(job: Job) -> _Entry:
    return job.path, job.function, tuple(job.tests)
