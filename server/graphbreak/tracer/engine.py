"""The engine behind the command line and the editor: workers kept ready, one `analyse` on top."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..core.analysis import analyse
from ..core.explained import Explanation, explain
from ..core.findings import Diagnostic, Environment, Fix, Report
from ..core.fixall import Choice, FixAll, Remembering
from ..core.foreseen import Whole
from ..core.project import Projects, with_project
from ..core.requests import AnalysisRequest
from ..core.tracing import NoEnvironment, Refused, Run
from ..core.trials import Trial, try_fix, with_trials
from ..sandbox import start as sandbox
from ..worker.protocol import Compared, Denied, DeviceSeen, Hello, Job, Message, Missing
from .environment import choose_interpreter, worker_variables
from .files import folders_of, sources_with
from .focusing import LEAST, Focusing
from .forks import Forks, Ran
from .kept import KeptJob
from .live import Live
from .pool import Pool
from .prepared import CannotStart, NotAllowed
from .project import ProjectReader
from .reuse import Asked, Reuse, Waiting
from .rights import Rights, permitted, unconfined, with_attempts, with_wish
from .store import Store

_T = TypeVar("_T")
_LAYERS = ("process group", "time limit")
_LANES = 2
"""How many runs may go on at once before an analysis does its own one after another."""
_NOT_SANDBOXED = "not sandboxed"
_UNCONFIRMED = "There is no sandbox on this platform, and you have not yet allowed that the workspace's programs are run without one."
_UNTRUSTED = "The workspace is not trusted, so nothing in it is run."


class Engine:
    """Answers analyses. `fork` false uses a fresh process per trace, as platforms without fork do; with a `store`, nothing is run twice."""

    def __init__(self, fork: bool | None = None, store: Store | None = None) -> None:
        fork = sys.platform == "linux" and not os.environ.get("GRAPHBREAK_NO_FORK") if fork is None else fork
        self._variables, self._notes = worker_variables(os.environ)
        self.reuse = self.reusing(store) if store is not None else None
        self.names: dict[str, dict[str, bool]] = {}
        """For each interpreter the dotted names that were asked for, and whether its torch has them."""
        self._pool = Pool(fork, self._variables, lambda interpreter: self.names.pop(interpreter, None))
        self._lanes = 0
        self.focusing = Focusing()

    def reusing(self, store: Store) -> Reuse:
        """What answers from a store in this engine's place, where it can."""
        return Reuse(store, self._variables)

    async def analyse(
        self, request: AnalysisRequest, progress: Callable[[str], None], found: Callable[[Report], None] | None = None
    ) -> Report:
        """The report of one file. Cancelling the task ends its trace."""
        live = Live(found) if found is not None else None
        self._lanes += 1
        try:
            return await self._analyse(request, progress, live)
        finally:
            self._lanes -= 1
            if live is not None:
                live.stop()

    async def _analyse(self, request: AnalysisRequest, progress: Callable[[str], None], live: Live | None) -> Report:
        sources = sources_with({**request.overlay, request.source.path: request.source.text})
        interpreter = choose_interpreter(request.settings.interpreter, request.root, os.environ)
        projects = ProjectReader((request.root, *request.roots))
        waiting = Waiting(progress)
        tracer = _Tracer(self, request, projects, live, waiting.begin, keep=request.keep)
        news = live.news if live is not None else None
        try:
            report = with_project(await analyse(request, tracer, interpreter, sources, waiting.say, projects, news), projects)
            if tracer.kept is not None:
                job, run = tracer.kept
                tracer.kept = None
                self.focusing.keep(job, Whole(request, run, report))
        finally:
            if tracer.kept is not None:
                self.focusing.end(tracer.kept[0])
        report = with_attempts(with_wish(report, tracer.wish), tracer.denied, request)
        return replace(report, environment=replace(report.environment, notes=(*self._notes, *report.environment.notes)))

    async def foresee(self, request: AnalysisRequest, found: Callable[[Report], None]) -> None:
        """If one function was edited since the last analysis, tell what it breaks before the whole is traced again."""
        sources = sources_with({**request.overlay, request.source.path: request.source.text})
        await self.focusing.focus(request, sources, ProjectReader((request.root, *request.roots)), found)

    async def try_fix(
        self, request: AnalysisRequest, before: Report, diagnostic: Diagnostic, fix: Fix, others: Sequence[Diagnostic] = ()
    ) -> Trial:
        """Apply a fix to a copy, trace it again and compare what it computes. Cancelling the task ends what runs for it."""
        return await try_fix(request, before, diagnostic, fix, self._analyse_edited, lambda job: self.compare(request, job), others)

    async def _analyse_edited(self, request: AnalysisRequest) -> Report:
        return await self.analyse(replace(request, keep=False), lambda sentence: None)

    async def try_fixes(self, request: AnalysisRequest, report: Report) -> Report:
        """The report of a request with a verdict on each of its fixes."""
        return await with_trials(report, lambda diagnostic, fix: self.try_fix(request, report, diagnostic, fix))

    def fix_all(self, request: AnalysisRequest, report: Report, choice: Choice) -> FixAll:
        """All fixes of a file that help, to be run; `report` is that of the request."""
        asking = Remembering(self._analyse_edited, lambda job: self.compare(request, job))
        return FixAll(request, report, asking.try_one, asking.compare, choice)

    async def compare(self, request: AnalysisRequest, job: Job) -> Compared:
        """What a job and its edited one do, in eager mode and maybe compiled: up to five runs, which have the time of two."""
        interpreter = choose_interpreter(request.settings.interpreter, request.root, os.environ)
        projects = ProjectReader((request.root, *request.roots))
        run = await _Tracer(self, request, projects).trace(job, interpreter, 2 * request.settings.timeout, lambda message: None)
        answers = run.of(Compared)
        return answers[0] if answers else Compared(None, None, 0, f"the comparison did not end by itself ({type(run.end).__name__})")

    async def explain(self, request: AnalysisRequest, name: str, details: list[str]) -> Explanation:
        """PyTorch's own explain report for the call that a file makes of a function."""
        interpreter = choose_interpreter(request.settings.interpreter, request.root, os.environ)
        projects = ProjectReader((request.root, *request.roots))
        return await explain(request, name, details, _Tracer(self, request, projects), interpreter, projects)

    @property
    def prepared(self) -> list[Forks]:
        """The parents that are ready, those of the second level included."""
        return [*self._pool.ready, *self._pool.grown]

    @property
    def waiting(self) -> int:
        """How many processes that no parent has forked wait for a job."""
        return self._pool.ahead.count

    async def answer(self, asked: Asked, rights: Rights, on_message: Callable[[Message], None], begun: Callable[[], None]) -> Ran:
        """What a job says: what it said before, where it could say nothing else now; else it is run, and `begun` told before. Raises
        CannotStart and NotAllowed."""

        async def run(on_message: Callable[[Message], None]) -> Ran:
            begun()
            return await self.run(asked.job, asked.interpreter, rights, asked.timeout, on_message)

        return await (self.reuse.ran(asked, on_message, run) if self.reuse is not None else run(on_message))

    async def run(self, job: Job, interpreter: str, rights: Rights, timeout: float, on_message: Callable[[Message], None]) -> Ran:
        """Run a job, by a fork where that is possible. Raises CannotStart and NotAllowed."""
        return await self._pool.run(job, interpreter, rights, timeout, on_message)

    async def together(self, works: Sequence[Callable[[], Awaitable[_T]]]) -> list[_T]:
        """The results of works of one analysis, in order: one after another, and two at once where no other analysis needs the core."""
        waiting = deque(enumerate(works))
        results: dict[int, _T] = {}

        async def lane() -> None:
            while waiting:
                number, work = waiting.popleft()
                results[number] = await work()

        more = max(min(len(works) - 1, _LANES - self._lanes), 0)
        self._lanes += more
        lanes = [asyncio.create_task(lane()) for _ in range(more + 1)]
        try:
            await asyncio.gather(*lanes)
        finally:
            self._lanes -= more
            for task in lanes:
                task.cancel()
            await asyncio.wait(lanes)
        return [results[number] for number in sorted(results)]

    def wake(self) -> None:
        """Somebody is at work: start again what has ended because nobody was."""
        self._pool.wake()

    async def restart(self) -> None:
        """Throw the prepared parents and what is kept away; the next analysis starts afresh, with the environment's torch as it is then."""
        if self.reuse is not None:
            await self.reuse.begin_anew()
        await self._end_parents()

    async def _end_parents(self) -> None:
        await self.focusing.close()
        self.names.clear()
        await self._pool.end()

    async def close(self) -> None:
        """End every worker."""
        if self.reuse is not None:
            await self.reuse.settled()
        await self._end_parents()


_ASK_SECONDS = 60.0


class _Tracer:
    """The engine as `core.tracing.Tracer`: collects what a job says into a `Run`."""

    def __init__(
        self,
        engine: Engine,
        request: AnalysisRequest,
        projects: Projects,
        live: Live | None = None,
        begun: Callable[[], None] = lambda: None,
        keep: bool = False,
    ) -> None:
        self._engine, self._request, self._live, self._begun, self._keep = engine, request, live, begun, keep
        self.kept: tuple[KeptJob, Run] | None = None
        """A job that stays after its end, for whoever takes it out of here, and what it said."""
        self._permissions, self.wish = permitted(request.settings.permissions, projects(request.source.path), request.root)
        self._unconfined = unconfined(request, sandbox.AVAILABLE)
        self.wish = self._unconfined or self.wish
        self.denied: list[Denied] = []
        """What the programs of the request tried in vain."""

    async def trace(self, job: Job, interpreter: str, timeout: float, on_message: Callable[[Message], None]) -> Run:
        settings = self._request.settings
        if not settings.trusted:
            return Run((), Refused(_UNTRUSTED))
        if self._unconfined is not None:
            return Run((), Refused(_UNCONFIRMED))
        messages: list[Message] = []
        job = replace(job, keep=LEAST if self._keep and job.honour_fullgraph else 0.0)

        def keep(message: Message) -> None:
            if not isinstance(message, Hello):
                messages.append(message)
            elif self._live is not None:
                self._live.begin()
            if isinstance(message, Denied):
                self.denied.append(message)
            on_message(message)

        rights = Rights(self._permissions, tuple(folders_of(job, self._request.roots)))
        try:
            asked = Asked(job, interpreter, self._permissions, timeout, self._request.fresh)
            ran = await self._engine.answer(asked, rights, keep, self._begun)
        except CannotStart as error:
            return Run((), NoEnvironment(str(error)))
        except NotAllowed as error:
            return Run((), Refused(str(error)))
        seen = [message for message in messages if isinstance(message, DeviceSeen)]
        if any(not device.used for device in seen):
            return Run((), Refused(f"The device is set to cuda, and {interpreter} finds none; set it to auto or cpu."))
        hello = ran.hello
        used = next((device.used for device in seen), hello.device)
        notes = tuple(
            f"{os.path.basename(job.path)} asked for {device.asked}; there is none, so it was traced on the CPU."
            for device in seen
            if device.used != device.asked
        )
        environment = Environment(hello.python, hello.torch, used, (*(ran.layers or (_NOT_SANDBOXED,)), *_LAYERS), notes)
        run = Run(tuple(messages), ran.end, environment, tuple(hello.library_folders), hello.torch_folder, ran.output)
        if ran.kept is not None:
            if self.kept is not None:
                self._engine.focusing.end(self.kept[0])
            self.kept = (ran.kept, run)
        return run

    async def together(self, works: Sequence[Callable[[], Awaitable[_T]]]) -> list[_T]:
        return await self._engine.together(works)

    async def aside(self, work: Callable[[], _T]) -> _T:
        return await asyncio.to_thread(work)

    async def missing(self, names: frozenset[str], interpreter: str) -> frozenset[str]:
        known = self._engine.names.setdefault(interpreter, {})
        asked = sorted(name for name in names if name not in known)
        if asked:
            run = await self.trace(Job("", "", "", names=asked), interpreter, _ASK_SECONDS, lambda message: None)
            for answer in run.of(Missing):
                known.update((name, name not in answer.names) for name in asked)
        return frozenset(name for name in names if not known.get(name, False))
