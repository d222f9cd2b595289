"""A language server whose engine needs no torch: what it "finds" is written in the documents. Run it to have it on stdio.

* `print(...)` is a graph break with a fix, which is a safe one for `print(safe...)`; on a line with `# quiet` it is ignored;
* fixes are tried where the text says `TRY`, one at a time when it is let in with `TRY ONE BY ONE`; one of `print(...DIFFERS...)` fails;
* `import helper` takes in the file `helper.py` beside the entry, and `helper.f(...)` is then a caller of each of its breaks;
* `model(...)` holds three breaks of a library;
* `STALE` says that nothing new is known, with a hint;
* `GRAPHS` tells of each marked function: a graph before, between and behind its breaks, called with `x: f32[8, 16]`;
* `UNREACHED` says that nothing calls it, `GUESSED` that it was called with inputs that were guessed;
* `LIVE` tells of the first break at once, and of the others when it is released;
* `SLOW` makes the trace wait until it is released, `BUG` makes the engine fail, `NO TORCH` finds no torch.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from graphbreak.core.explained import Explanation
from graphbreak.core.findings import (
    Cost,
    Diagnostic,
    Environment,
    Fix,
    FunctionResult,
    Graph,
    InputSet,
    Kind,
    Operation,
    Outcome,
    Region,
    Report,
    Safety,
    Severity,
    StackFrame,
)
from graphbreak.core.marks import Mark, find_marks
from graphbreak.core.provisional import as_provisional
from graphbreak.core.requests import AnalysisRequest
from graphbreak.core.source import Edit, SourceFile, Span
from graphbreak.core.trials import Trial, try_fix
from graphbreak.lsp.server import run_stdio
from graphbreak.worker.protocol import Compared, Job

URL = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
GUESS = InputSet("inferred", "x: f32[8, 16]", expression="f(torch.randn(8, 16))")
LIBRARY = "/usr/lib/python3/site-packages/lib.py"


class FakeAnalyser:
    """Remembers what it was asked, and answers from the text."""

    def __init__(self) -> None:
        self.requests: list[AnalysisRequest] = []
        self.explained: list[tuple[str, str, list[str]]] = []
        self.tried: list[str] = []
        self.trials = 0
        self.most_trials = 0
        self.let_in = asyncio.Semaphore(0)
        self.cancelled = 0
        self.restarts = 0
        self.closed = 0
        self.release = asyncio.Event()

    async def analyse(
        self, request: AnalysisRequest, progress: Callable[[str], None], found: Callable[[Report], None] | None = None
    ) -> Report:
        """The report of a text."""
        self.requests.append(request)
        progress("tracing")
        if "BUG" in request.source.text:
            raise RuntimeError("a bug in the engine")
        if "LIVE" in request.source.text and found is not None:
            found(first_of(report_of(request)))
            await self._wait()
        if "SLOW" in request.source.text:
            await self._wait()
        return report_of(request)

    def wake(self) -> None:
        pass

    async def foresee(self, request: AnalysisRequest, found: Callable[[Report], None]) -> None:
        """Nothing is foreseen."""

    async def try_fix(
        self, request: AnalysisRequest, before: Report, diagnostic: Diagnostic, fix: Fix, others: Sequence[Diagnostic] = ()
    ) -> Trial:
        """Judge the reports of the two texts as the engine does; `tried` has the code that each fix was for."""
        text = request.source.text
        self.trials += 1
        self.most_trials = max(self.trials, self.most_trials)
        try:
            if "TRY" not in text or "TRY ONE BY ONE" in text:
                await self.let_in.acquire()
        finally:
            self.trials -= 1
        self.tried.append(before.sources[diagnostic.path].slice(diagnostic.span))

        async def analyse(edited: AnalysisRequest) -> Report:
            return report_of(edited)

        return await try_fix(request, before, diagnostic, fix, analyse, lambda job: self.compare(request, job), others)

    async def compare(self, request: AnalysisRequest, job: Job) -> Compared:
        """The same, unless text that is not there any more says otherwise."""
        assert job.edited is not None
        return Compared(job.text.count("DIFFERS") == job.edited.text.count("DIFFERS"), True, 1, "it returns something else")

    async def explain(self, request: AnalysisRequest, name: str, details: list[str]) -> Explanation:
        """Say something."""
        self.explained.append((request.source.path, name, details))
        if "BUG" in request.source.text:
            raise RuntimeError("a bug in the engine")
        if "SLOW" in request.source.text:
            await self._wait()
        return Explanation(f"Graph Count: 2 in {name}", tuple((detail, "0/0", "code") for detail in details))

    async def _wait(self) -> None:
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def restart(self) -> None:
        """Count it."""
        self.restarts += 1

    async def close(self) -> None:
        """Count it, and leave a trace for tests that only see the process."""
        self.closed += 1
        if "CLOSED_FILE" in os.environ:
            Path(os.environ["CLOSED_FILE"]).write_text("closed", encoding="utf-8")


def report_of(request: AnalysisRequest) -> Report:
    """What the text says is found in it."""
    entry = request.source
    helpers = [helper for name in re.findall(r"^import (\w+)", entry.text, re.MULTILINE) if (helper := _sibling(request, name))]
    sources = {source.path: source for source in (entry, *helpers)}
    found = [cause for source in sources.values() for cause in _causes(source)]
    found += [caller for helper in helpers for caller in _callers(entry, helper)]
    found += list(_library_causes(entry))
    outcome = Outcome.NO_ENVIRONMENT if "NO TORCH" in entry.text else Outcome.TRACED
    detail = "No Python with torch was found." if outcome is Outcome.NO_ENVIRONMENT else ""
    functions: tuple[FunctionResult, ...] = (FunctionResult(entry.path, "f", 0, entry.path, Span.at(0, 0, 0, 0), outcome, detail),)
    if "GRAPHS" in entry.text:
        functions = tuple(_function(entry, mark) for mark in find_marks(entry).marks)
        found = [_within(diagnostic, functions) for diagnostic in found]
    if request.only:
        functions = tuple(function for function in functions if function.name == request.only)
        found = [diagnostic for diagnostic in found if request.only in diagnostic.functions]
    environment = Environment("3.11.7", "2.13.0", "cpu", ("time limit",))
    problems = ("The program wrote a lot.",) if "PROBLEM" in entry.text else ()
    if stale := "STALE" in entry.text:
        hint = "This was not analysed."
        found = [Diagnostic("hint", entry.path, Span.at(0, 0, 0, 1), Severity.HINT, Kind.NOT_ANALYSED, "not-analysed", hint)]
    jobs = (Job(entry.path, entry.text, request.root),)
    return Report(entry.path, request.version, functions, tuple(found), environment, problems, stale=stale, jobs=jobs, sources=sources)


def first_of(report: Report) -> Report:
    """What is known of a run after its first break."""
    rows = tuple(replace(function, breaks=min(function.breaks, 1)) for function in report.functions)
    return as_provisional(replace(report, diagnostics=tuple(found.with_fixes(()) for found in report.diagnostics[:1]), functions=rows))


def _within(diagnostic: Diagnostic, functions: tuple[FunctionResult, ...]) -> Diagnostic:
    """The diagnostic with the names of the functions that its line belongs to."""
    line, path = diagnostic.span.start.line, diagnostic.path
    names = (f.name for f in functions if any(r.path == path and r.start <= line <= r.end for r in f.regions))
    return replace(diagnostic, functions=tuple(names))


def _function(entry: SourceFile, mark: Mark) -> FunctionResult:
    if "UNREACHED" in entry.text:
        return FunctionResult(entry.path, mark.name, mark.line, entry.path, mark.span, Outcome.NOT_REACHED, "nothing in this file calls it")
    end = next((line for line in range(mark.line + 1, len(entry.lines)) if not entry.line(line).startswith(" ")), len(entry.lines))
    regions, graphs = [], [Graph(1, ())]
    for line in range(mark.line + 1, end):
        if "print(" in entry.line(line):
            graphs[-1] = Graph(len(graphs), graphs[-1].ops, (f"{entry.path}:{len(graphs) - 1}",))
            graphs.append(Graph(len(graphs) + 1, ()))
            regions.append(Region(entry.path, line, line, "eager"))
        else:
            graphs[-1] = Graph(len(graphs), (*graphs[-1].ops, Operation("add", entry.path, line)))
            if regions and regions[-1].graphs == (len(graphs),):
                regions[-1] = Region(entry.path, regions[-1].start, line, "graph", (len(graphs),))
            else:
                regions.append(Region(entry.path, line, line, "graph", (len(graphs),)))
    return FunctionResult(
        entry.path,
        mark.name,
        mark.line,
        entry.path,
        mark.span,
        Outcome.TRACED,
        inputs=(GUESS if "GUESSED" in entry.text else InputSet("call", "x: f32[8, 16]"),),
        graphs=len(graphs),
        ops=sum(len(graph.ops) for graph in graphs),
        breaks=len(graphs) - 1,
        regions=tuple(regions),
        graph_list=tuple(graphs),
    )


def _sibling(request: AnalysisRequest, name: str) -> SourceFile | None:
    path = os.path.join(os.path.dirname(request.source.path), f"{name}.py")
    if path in request.overlay:
        return SourceFile(path, request.overlay[path])
    return SourceFile(path, Path(path).read_text(encoding="utf-8")) if os.path.exists(path) else None


def _spans(source: SourceFile, pattern: str) -> Iterator[Span]:
    for match in re.finditer(pattern, source.text):
        yield Span(source.position(match.start()), source.position(match.end()))


def _causes(source: SourceFile) -> Iterator[Diagnostic]:
    for number, span in enumerate(_spans(source, r"print\([^)]*\)")):
        safety = Safety.SAFE if source.slice(span).startswith("print(safe") else Safety.CHANGES_BEHAVIOUR
        fix = Fix("Remove the `print`", safety, {source.path: (Edit(span, "pass"),)}, family="print")
        frame = StackFrame(source.path, span.start.line, "f", span=span)
        yield Diagnostic(
            id=f"{source.path}:{number}",
            path=source.path,
            span=span,
            severity=Severity.WARNING,
            kind=Kind.BREAK,
            code="GB0059",
            message="Graph break: Failed to trace builtin operator",
            explanation="Dynamo does not know `print`.",
            hints=("Take it out.",),
            url=URL,
            stack=(frame,),
            cost=Cost(graphs=2, hits=number + 1, ops_before=1, ops_after=2, frames=1),
            ignored="# quiet" in source.line(span.start.line),
            fixes=(fix,),
        )


def _callers(entry: SourceFile, helper: SourceFile) -> Iterator[Diagnostic]:
    name = Path(helper.path).stem
    for cause in _causes(helper):
        for span in _spans(entry, rf"\b{name}\.\w+\([^)]*\)"):
            yield Diagnostic(
                cause.id, entry.path, span, Severity.INFORMATION, Kind.CALLER, cause.code, f"Inherits a graph break in `{name}`"
            )


def _library_causes(entry: SourceFile) -> Iterator[Diagnostic]:
    for span in _spans(entry, r"\bmodel\([^)]*\)"):
        for number, code in enumerate(("GB0059", "GB0170", "GB0170")):
            stack = (StackFrame(entry.path, span.start.line, "f"), StackFrame(LIBRARY, 10 * number, "inner", library=True))
            yield Diagnostic(
                f"lib{number}", entry.path, span, Severity.WARNING, Kind.BREAK, code, f"Graph break: number {number}", stack=stack
            )


if __name__ == "__main__":
    if "NOISE" in os.environ:
        print("a library that prints when it is imported")
    sys.exit(run_stdio(FakeAnalyser))
