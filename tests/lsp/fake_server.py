"""A language server whose engine needs no torch: what it "finds" is written in the documents. Run it to have it on stdio.

* `print(...)` is a graph break with a fix; on a line with `# quiet` it is ignored;
* `import helper` takes in the file `helper.py` beside the entry, and `helper.f(...)` is then a caller of each of its breaks;
* `model(...)` holds three breaks of a library;
* `STALE` says that nothing new is known, with a hint;
* `SLOW` makes the trace wait until it is released, `BUG` makes the engine fail, `NO TORCH` finds no torch.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from graphbreak.core.findings import Diagnostic, Environment, Fix, FunctionResult, Kind, Outcome, Report, Safety, Severity, StackFrame
from graphbreak.core.requests import AnalysisRequest
from graphbreak.core.source import Edit, SourceFile, Span
from graphbreak.lsp.server import run_stdio

URL = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
LIBRARY = "/usr/lib/python3/site-packages/lib.py"


class FakeAnalyser:
    """Remembers what it was asked, and answers from the text."""

    def __init__(self) -> None:
        self.requests: list[AnalysisRequest] = []
        self.cancelled = 0
        self.restarts = 0
        self.closed = 0
        self.release = asyncio.Event()

    async def analyse(self, request: AnalysisRequest, progress: Callable[[str], None]) -> Report:
        """The report of a text."""
        self.requests.append(request)
        progress("tracing")
        if "BUG" in request.source.text:
            raise RuntimeError("a bug in the engine")
        if "SLOW" in request.source.text:
            await self._wait()
        return report_of(request)

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
    function = FunctionResult(entry.path, "f", 0, entry.path, Span.at(0, 0, 0, 0), outcome, detail)
    problems = ("The program wrote a lot.",) if "PROBLEM" in entry.text else ()
    if stale := "STALE" in entry.text:
        hint = "This was not analysed."
        found = [Diagnostic("hint", entry.path, Span.at(0, 0, 0, 1), Severity.HINT, Kind.NOT_ANALYSED, "not-analysed", hint)]
    return Report(entry.path, request.version, (function,), tuple(found), Environment(), problems, stale=stale, sources=sources)


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
        fix = Fix("Remove the `print`", Safety.CHANGES_BEHAVIOUR, {source.path: (Edit(span, "pass"),)})
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
