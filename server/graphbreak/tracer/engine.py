"""The engine behind the command line and the editor: workers kept ready, one `analyse` on top."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace

from ..core.analysis import analyse
from ..core.explained import Explanation, explain
from ..core.findings import Environment, Report
from ..core.project import with_project
from ..core.requests import AnalysisRequest
from ..core.tracing import NoEnvironment, Refused, Run, RunEnd
from ..worker.protocol import Hello, Job, Message
from .environment import choose_interpreter, worker_variables
from .files import sources_with
from .once import run_once
from .prepared import CannotStart, ParentGone, PreparedParent
from .project import ProjectReader

_LAYERS = ("process group", "time limit")
_UNTRUSTED = "The workspace is not trusted, so nothing in it is run."


class Engine:
    """Answers analyses. `fork` false uses a fresh process per trace, as platforms without fork do."""

    def __init__(self, fork: bool | None = None) -> None:
        self._fork = sys.platform == "linux" and not os.environ.get("GRAPHBREAK_NO_FORK") if fork is None else fork
        self._variables, self._notes = worker_variables(os.environ)
        self._parents: dict[str, asyncio.Task[PreparedParent]] = {}

    async def analyse(self, request: AnalysisRequest, progress: Callable[[str], None]) -> Report:
        """The report of one file. Cancelling the task ends its trace."""
        sources = sources_with({**request.overlay, request.source.path: request.source.text})
        interpreter = choose_interpreter(request.settings.interpreter, request.root, os.environ)
        tracer = _Tracer(self, trusted=request.settings.trusted)
        projects = ProjectReader((request.root, *request.roots))
        report = with_project(await analyse(request, tracer, interpreter, sources, progress, projects), projects)
        return replace(report, environment=replace(report.environment, notes=(*self._notes, *report.environment.notes)))

    async def explain(self, request: AnalysisRequest, name: str, details: list[str]) -> Explanation:
        """PyTorch's own explain report for the call that a file makes of a function."""
        interpreter = choose_interpreter(request.settings.interpreter, request.root, os.environ)
        projects = ProjectReader((request.root, *request.roots))
        return await explain(request, name, details, _Tracer(self, trusted=request.settings.trusted), interpreter, projects)

    async def prepare(self, interpreter: str) -> PreparedParent:
        """The parent of an interpreter, started if there is none. Raises CannotStart."""
        task = self._parents.get(interpreter)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None or not task.result().alive)):
            task = self._parents[interpreter] = asyncio.create_task(self._start(interpreter))
        return await asyncio.shield(task)  # a cancelled trace must not take down a parent that others wait for

    async def _start(self, interpreter: str) -> PreparedParent:
        parent = PreparedParent(interpreter, self._variables)
        await parent.start()
        return parent

    async def run(self, job: Job, interpreter: str, timeout: float, on_message: Callable[[Message], None]) -> tuple[Hello, RunEnd, str]:
        """Run a job, by a fork where that is possible. Raises CannotStart."""
        if not self._fork:
            return await run_once(interpreter, self._variables, job, timeout, on_message)
        for _ in range(3):
            parent = await self.prepare(interpreter)
            assert parent.hello is not None
            try:
                return parent.hello, *await parent.run(job, timeout, on_message)
            except ParentGone:  # something ended it since it was last used
                await parent.close()
        raise CannotStart(f"The prepared process of {interpreter} ends again and again before it is used.")

    async def restart(self) -> None:
        """Throw the prepared parents away; the next analysis starts afresh, with the environment's torch as it is then."""
        parents, self._parents = self._parents, {}
        for task in parents.values():
            task.cancel() if not task.done() else None
            try:
                await (await task).close()
            except (CannotStart, asyncio.CancelledError, Exception):
                continue

    async def close(self) -> None:
        """End every worker."""
        await self.restart()


class _Tracer:
    """The engine as `core.tracing.Tracer`: collects what a job says into a `Run`."""

    def __init__(self, engine: Engine, trusted: bool) -> None:
        self._engine, self._trusted = engine, trusted

    async def trace(self, job: Job, interpreter: str, timeout: float, on_message: Callable[[Message], None]) -> Run:
        if not self._trusted:
            return Run((), Refused(_UNTRUSTED))
        messages: list[Message] = []

        def keep(message: Message) -> None:
            messages.append(message)
            on_message(message)

        try:
            hello, end, output = await self._engine.run(job, interpreter, timeout, keep)
        except CannotStart as error:
            return Run((), NoEnvironment(str(error)))
        environment = Environment(hello.python, hello.torch, hello.device, _LAYERS)
        return Run(tuple(messages), end, environment, tuple(hello.library_folders), hello.torch_folder, output)
