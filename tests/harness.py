"""The real engine for tests that are not asynchronous themselves: one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from graphbreak.core.findings import Diagnostic, Fix, FunctionResult, Kind, Report
from graphbreak.core.requests import AnalysisRequest, Settings
from graphbreak.core.source import SourceFile
from graphbreak.core.trials import Trial
from graphbreak.tracer.engine import Engine
from graphbreak.tracer.files import read_source

INTERPRETER = os.environ.get("GRAPHBREAK_TEST_PYTHON") or sys.executable
"""The Python of the workers: the one that runs the tests, or another one with another torch (`make test-torch`)."""

_MARKER = "GRAPHBREAK_TEST_WORKERS"
_T = TypeVar("_T")

PRINT = """\
import torch


@torch.compile
def scale(x):
    x = x * 2
    print("mid")
    return x + 1


scale(torch.randn(8, 16))
"""
"""The program whose right answer everything else is followed by: see `assert_print_example`."""


class Harness:
    """An engine that answers synchronously. Its workers carry a variable of their own, by which those left over are found."""

    def __init__(self, fork: bool | None = None, variables: Mapping[str, str] | None = None, engine: type[Engine] = Engine) -> None:
        self._mark = f"{_MARKER}={uuid.uuid4().hex}".encode()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engine", daemon=True)
        self._thread.start()
        before = dict(os.environ)
        name, _, value = self._mark.decode().partition("=")
        os.environ.update({name: value, **(variables or {})})
        try:
            self.engine = engine(fork)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def analyse(
        self,
        path: Path,
        text: str | None = None,
        *,
        root: Path | None = None,
        overlay: Mapping[Path, str] | None = None,
        settings: Settings | None = None,
        run_unmarked: bool = True,
        only: str = "",
        timeout: float = 60.0,
    ) -> Report:
        """The report of a file: of `text` in place of what is on disk, where that is given."""
        future = self.start(
            path, text, root=root, overlay=overlay, settings=settings, run_unmarked=run_unmarked, only=only, timeout=timeout
        )
        return future.result(timeout + 60)

    def start(
        self,
        path: Path,
        text: str | None = None,
        *,
        root: Path | None = None,
        overlay: Mapping[Path, str] | None = None,
        settings: Settings | None = None,
        run_unmarked: bool = True,
        only: str = "",
        timeout: float = 60.0,
    ) -> Future[Report]:
        """The same without waiting; cancelling the future cancels the analysis."""
        request = self._request(path, text, root, overlay, settings or Settings(interpreter=INTERPRETER, timeout=timeout), run_unmarked)
        request = replace(request, only=only)
        return self.submit(self.engine.analyse(request, lambda sentence: None))

    def try_fix(self, before: Report, diagnostic: Diagnostic, fix: Fix, *, timeout: float = 60.0) -> Trial:
        """What comes of a fix of a report that `analyse` gave for a file alone."""
        path = Path(before.path)
        request = self._request(
            path, before.sources[before.path].text, None, None, Settings(interpreter=INTERPRETER, timeout=timeout), True
        )
        return self.submit(self.engine.try_fix(request, before, diagnostic, fix)).result(timeout * 3)

    def request(self, path: Path, text: str) -> AnalysisRequest:
        """What `analyse` asks the engine for a text of a file."""
        return self._request(path, text, None, None, Settings(interpreter=INTERPRETER), True)

    def _request(
        self, path: Path, text: str | None, root: Path | None, overlay: Mapping[Path, str] | None, settings: Settings, run_unmarked: bool
    ) -> AnalysisRequest:
        source = SourceFile(str(path), text) if text is not None else read_source(str(path))
        assert source is not None, f"{path} cannot be read"
        folder = str(root or path.parent)
        texts = {str(name): unsaved for name, unsaved in (overlay or {}).items()}
        return AnalysisRequest(source, folder, (folder,), settings, overlay=texts, run_unmarked=run_unmarked)

    def write_and_analyse(self, path: Path, text: str, *, timeout: float = 60.0) -> Report:
        """The report of a file that is first written."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return self.analyse(path, timeout=timeout)

    def processes(self) -> list[int]:
        """The processes that this engine's workers are, or have started, and that run now."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_bytes()
                zombie = b"\nState:\tZ" in (folder / "status").read_bytes()
            except OSError:
                continue
            if self._mark in variables and not zombie:
                found.append(int(folder.name))
        return found

    def wait_for_the_end_of_jobs(self, seconds: float) -> None:
        """Wait until nothing runs but what the engine keeps ready: its parents and their spares. Fails where something else stays."""
        give_up = time.monotonic() + seconds
        while len(self.processes()) != self.kept_ready() and time.monotonic() < give_up:
            time.sleep(0.02)
        assert len(self.processes()) == self.kept_ready(), "only what is kept ready may be left"

    def kept_ready(self) -> int:
        """How many processes the engine keeps ready at this moment, as far as it knows."""
        return sum(1 + parent.has_spare for parent in self.engine.prepared) + self.engine.waiting

    def close(self) -> None:
        """End the engine with its workers and its loop."""
        self.submit(self._end()).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        await self.engine.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=20)

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Start work in the engine's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)


@lru_cache(maxsize=1)
def worker_versions() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The versions of the workers' Python and of their torch, each as (major, minor)."""
    ask = "import sys, importlib.metadata as m; print(*sys.version_info[:2], *m.version('torch').split('.')[:2])"
    answer = subprocess.run([INTERPRETER, "-c", ask], capture_output=True, text=True, check=True, timeout=60).stdout
    numbers = tuple(int(part) for part in answer.split())
    return numbers[:2], numbers[2:]


def worker_has(module: str) -> bool:
    """Whether the workers' Python can import a module."""
    ask = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    return subprocess.run([INTERPRETER, "-c", ask], capture_output=True, check=False, timeout=60).returncode == 0


def of_kind(report: Report, *kinds: Kind) -> list[Diagnostic]:
    """The diagnostics of some kinds, in the order of the report."""
    return [diagnostic for diagnostic in report.diagnostics if diagnostic.kind in kinds]


def breaks(report: Report) -> list[Diagnostic]:
    """What is wrong: all but the callers and what nothing is known of."""
    return [diagnostic for diagnostic in report.diagnostics if diagnostic.kind not in (Kind.CALLER, Kind.NOT_ANALYSED)]


def code(report: Report, diagnostic: Diagnostic) -> str:
    """The source text that a diagnostic stands under."""
    return report.sources[diagnostic.path].slice(diagnostic.span)


def only(report: Report, name: str | None = None) -> FunctionResult:
    """The row of a function, or the only one."""
    (row,) = [function for function in report.functions if name in (None, function.name)]
    return row


def squiggles(report: Report) -> list[tuple[str, str, str]]:
    """What a report shows, short: kind, code and text of each diagnostic."""
    return [(found.kind.value, found.code, code(report, found)) for found in report.diagnostics]


def assert_print_example(report: Report) -> None:
    """That a report is the right one for `PRINT`."""
    assert squiggles(report) == [("break", "GB0059", 'print("mid")')]
    row = only(report)
    assert (row.name, row.outcome.value, row.graphs, row.ops, row.breaks) == ("scale", "traced", 2, 2, 1)
    assert [inputs.summary for inputs in row.inputs] == ["x: f32[8, 16]"]
