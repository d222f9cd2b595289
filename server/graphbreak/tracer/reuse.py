"""Answers a job with what an earlier run said, where a new run could not say anything else; keeps runs for that."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from ..core.kept import Kept, answers, can_be_known, needed_of, question, wants_variables
from ..core.requests import Permissions
from ..core.tracing import Finished
from ..worker.protocol import Ended, Hello, Job, Message, Needed
from . import facts
from .files import read_source
from .prepared import Ran
from .store import Store

_VARIABLES = "variables"
OnMessage = Callable[[Message], None]


@dataclass(frozen=True)
class Asked:
    """A job, and under which circumstances it is to be run; `fresh` whatever is known. `timeout` is in seconds."""

    job: Job
    interpreter: str
    permissions: Permissions
    timeout: float
    fresh: bool = False


class Waiting:
    """Sentences about a run that may prove needless: they are told once it begins."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._sentence: str | None = None

    def say(self, sentence: str) -> None:
        """What is about to be done."""
        self._sentence = sentence

    def begin(self) -> None:
        """It is being done."""
        if self._sentence is not None:
            self._progress(self._sentence)
            self._sentence = None


class Reuse:
    """What was kept, for one engine. `variables` are those of its workers."""

    def __init__(self, store: Store, variables: Mapping[str, str]) -> None:
        self._store = store
        self._variables = variables
        self._keeping: set[asyncio.Task[None]] = set()

    async def ran(self, asked: Asked, on_message: OnMessage, run: Callable[[OnMessage], Awaitable[Ran]]) -> Ran:
        """What the job says: what was kept of it, where that is certain, else what it says when it is run; that is kept then."""
        await self.settled()
        libraries = await asyncio.to_thread(facts.libraries, asked.interpreter)  # which the worker has imported or finds out of date
        kept = await asyncio.to_thread(self.find, asked, libraries) if not asked.fresh else None
        if kept is not None:
            for message in kept.messages:
                on_message(message)
            return Ran(kept.hello, kept.layers, Finished(kept.ended), kept.output)
        messages: list[Message] = []

        def hear(message: Message) -> None:
            messages.append(message)
            if not isinstance(message, Needed):
                on_message(message)

        ran = await run(hear)
        task = asyncio.create_task(asyncio.to_thread(self.keep, asked, ran, messages, libraries))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)
        return ran

    async def settled(self) -> None:
        """Return when all that is being kept is kept."""
        if self._keeping:
            await asyncio.gather(*self._keeping, return_exceptions=True)

    async def begin_anew(self) -> None:
        """Heed nothing that was kept before now."""
        await self.settled()
        self._store.begin_anew()

    def find(self, asked: Asked, libraries: Mapping[str, str] | None = None) -> Kept | None:
        """What a run of the job would say now, if that is known for certain. Reads files, so it is for a thread, and so is `keep`."""
        libraries = facts.libraries(asked.interpreter) if libraries is None else libraries
        for kept in self._store.candidates(self._question(asked), asked.job.text):
            answer = self._answer(kept, asked.job, libraries)
            if answer is not None:
                self._store.used(answer) if answer is kept else self._store.put(replace(answer, made=time.time()))
                return answer
        return None

    def _answer(self, kept: Kept, job: Job, libraries: Mapping[str, str]) -> Kept | None:
        texts = _texts_now(kept.texts, job)
        if texts is None or kept.facts != self._facts(kept.texts, libraries):
            return None
        answer = answers(kept, job, texts)
        return answer if answer is not None and facts.still(kept.needed) else None

    def keep(self, asked: Asked, ran: Ran, messages: Sequence[Message], libraries: Mapping[str, str]) -> None:
        """Keep what a run said, if it may be the answer another time. `libraries` are those from before it."""
        job, needed = asked.job, needed_of(messages, asked.job)
        if not isinstance(ran.end, Finished) or ran.end.ended.problem or needed is None or not facts.is_covered(ran.hello, libraries):
            return
        texts = _texts_now(dict.fromkeys(needed.programs, ""), job)
        if texts is None or not can_be_known(texts) or facts.libraries(asked.interpreter) != libraries or not _as_run(needed, texts, job):
            return
        said = tuple(message for message in messages if not isinstance(message, (Hello, Needed, Ended)))
        known, ended = self._facts(texts, libraries), replace(ran.end.ended, kept=False)
        kept = Kept(
            self._question(asked),
            replace(job, overlay={}, keep=0.0),
            ran.hello,
            ran.layers,
            said,
            ended,
            ran.output,
            needed,
            texts,
            known,
            time.time(),
        )
        if facts.still(needed):
            self._store.put(kept)

    def _facts(self, texts: Mapping[str, str], libraries: Mapping[str, str]) -> dict[str, str]:
        variables = {_VARIABLES: facts.variables_of(self._variables, telling=False)} if wants_variables(texts) else {}
        return {**libraries, **variables}

    def _question(self, asked: Asked) -> str:
        others = [asked.interpreter, asdict(asked.permissions), asked.timeout, facts.own_version(), facts.machine()]
        return question(asked.job, [*others, facts.variables_of(self._variables)])


def _texts_now(paths: Mapping[str, str], job: Job) -> dict[str, str] | None:
    """What files say as a job would run them; None where one of them cannot be read."""
    open_texts = {os.path.realpath(path): text for path, text in {**job.overlay, **({job.path: job.text} if job.path else {})}.items()}
    found = {}
    for path in paths:
        text = open_texts.get(os.path.realpath(path))
        if text is None:
            source = read_source(path)
            if source is None:
                return None
            text = source.text
        found[path] = text
    return found


def _as_run(needed: Needed, texts: Mapping[str, str], job: Job) -> bool:
    """Whether these texts are what was executed: a file may have been saved meanwhile."""
    open_paths = {os.path.realpath(path) for path in (job.path, *job.overlay)}
    return all(os.path.realpath(path) in open_paths or facts.state(path) == state for path, state in needed.programs.items())
