"""PyTorch's own explain report for the call that a file makes of one marked function."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..worker.protocol import Explained, Failure, Job
from .functions import death_sentence, failure_text
from .inputs import PlannedRun, job_for, plan_runs
from .marks import find_marks
from .project import Projects, no_project
from .requests import AnalysisRequest
from .tracing import NoEnvironment, Refused, Run, TimedOut, Tracer, WorkerDied

DETAILS = {
    "graphs": "dynamo_output_graph",
    "guards": "dynamo_cpp_guards_str",
    "bytecode": "_BYTECODE",
    "decompiled": "decompiled",
}
"""What can be asked for beside the report -> the artifacts' names (or a part of them)."""


@dataclass(frozen=True)
class Explanation:
    """`report` is what `torch._dynamo.explain` prints; `artifacts` are (name, compile id, text). `problem` says why there is no report."""

    report: str = ""
    artifacts: tuple[tuple[str, str, str], ...] = ()
    problem: str = ""


async def explain(
    request: AnalysisRequest, name: str, details: list[str], tracer: Tracer, interpreter: str, projects: Projects = no_project
) -> Explanation:
    """Run the file until it calls the function, and hand that call to PyTorch's explain. `details` are keys of `DETAILS`."""
    settings = projects(request.source.path)
    marks = find_marks(request.source, settings.examples_of(request.source.path))
    if marks.problem is not None:
        return Explanation(problem=f"{request.source.path}: {marks.problem.message}")
    problem = f"Nothing in {request.source.path} is compiled under the name {name}."
    for planned in plan_runs(request.source, marks, True, settings.entries_of(request.source.path)):
        run = await tracer.trace(_job(request, planned, name, details), interpreter, request.settings.timeout, lambda message: None)
        found = run.of(Explained)
        report = next((message.text for message in found if message.name == "explain"), "")
        if report:
            artifacts = tuple((message.name, message.compile_id, message.text) for message in found if message.name != "explain")
            return Explanation(report, artifacts)
        problem = _problem(run, request.source.path, name) or problem
    return Explanation(problem=problem)


def _job(request: AnalysisRequest, planned: PlannedRun, name: str, details: list[str]) -> Job:
    return replace(job_for(request, planned), honour_fullgraph=False, explain=name, details=[DETAILS[detail] for detail in details])


def _problem(run: Run, path: str, name: str) -> str:
    end = run.end
    if isinstance(end, (NoEnvironment, Refused)):
        return end.sentence
    if isinstance(end, TimedOut):
        return f"{path} had not called {name} after {end.seconds:g} s."
    if isinstance(end, WorkerDied):
        return f"{path}: {death_sentence(end)} before {name} was called."
    failures = run.of(Failure)
    if failures:
        return f"{path} raised {failure_text(failures[0])} before {name} was explained."
    return f"{path} ran without calling a compiled function {name}."
