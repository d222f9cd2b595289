"""Where the time of a warm trace goes: ours before and after, the fork, the running of the file, Dynamo."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from graphbreak.core.requests import AnalysisRequest, Settings
from graphbreak.core.source import SourceFile
from graphbreak.tracer.engine import Engine
from graphbreak.worker.protocol import Ended, FrameCompiled, Hello

from .. import programs
from ..editor import environment
from ..reference import Reference
from ..rows import Row, seconds

SECONDS = 300
PARTS = (
    "ours before the worker is asked: marks, plan, request",
    "until the worker's first word: the job is taken up, and the file runs up to its first mark",
    "Dynamo, as it counts itself",
    "between the worker's first and last word, without Dynamo: the program, recording, messages",
    "until the job is over",
    "ours after: causes, diagnostics, fixes",
)


def measure(pairs: int, folder: Path) -> Iterator[Row]:
    """One row for each program; the medians of the parts go to a file beside."""
    found = {}
    os.environ.update(environment(folder / "store"))  # what was found before is not to be found again
    for name, program in (("small function", programs.small), ("tiny BART", programs.model)):
        with Reference(folder) as reference:
            parts, warm = asyncio.run(_parts(program, reference, pairs, folder))
        found[name] = [statistics.median(part) for part in zip(*parts)]
        total = statistics.median(sum(one) for one in parts)
        # The warm trace beside it is PyTorch's as it is, with the measuring of guards that our workers leave out.
        beside = f"an analysis {seconds(total)}, a warm trace {seconds(statistics.median(warm))}, Dynamo {seconds(found[name][2])}"
        ours = total - found[name][2]
        (folder / "profile.json").write_text(json.dumps({"parts": PARTS, "medians": found}), encoding="utf-8")
        yield Row(f"share of an analysis that is not Dynamo's own, {name}", 100 * ours / total, "%", None, len(parts), beside=beside)


async def _parts(
    program: Callable[[int], str], reference: Reference, times: int, folder: Path
) -> tuple[list[tuple[float, ...]], list[float]]:
    path, found, warm = folder / "program.py", [], []
    engine = _Watched()
    try:
        for number in range(-3, times):
            text = program(number + 3)
            path.write_text(text, encoding="utf-8")
            await asyncio.sleep(2.0 if number < 0 else 0.6)
            parts = await engine.parts(path, text)
            trace = reference.trace(path)
            if number >= 0:
                found.append(parts)
                warm.append(trace)
    finally:
        await engine.close()
    return found, warm


class _Watched(Engine):
    """An engine that notes when the worker is asked, what it says when, and when it is over."""

    def __init__(self) -> None:
        super().__init__()
        self._times: list[tuple[float, float, float, float, float]] = []

    async def run(self, job: Any, interpreter: str, rights: Any, timeout: float, on_message: Callable[[Any], None], *more: Any) -> Any:
        arrivals: list[float] = []
        dynamo = 0.0

        def noted(message: Any) -> None:
            nonlocal dynamo
            if not isinstance(message, (Hello, Ended)):
                arrivals.append(time.perf_counter())
            if isinstance(message, FrameCompiled):
                dynamo += message.seconds
            on_message(message)

        asked = time.perf_counter()
        try:
            return await super().run(job, interpreter, rights, timeout, noted, *more)
        finally:
            over = time.perf_counter()
            self._times.append((asked, arrivals[0] if arrivals else over, arrivals[-1] if arrivals else over, over, dynamo))

    async def parts(self, path: Path, text: str) -> tuple[float, ...]:
        """The seconds of each of `PARTS` for one analysis."""
        self._times.clear()
        folder = str(path.parent)
        request = AnalysisRequest(SourceFile(str(path), text), folder, (folder,), Settings(interpreter=sys.executable))
        begin = time.perf_counter()
        report = await self.analyse(request, lambda sentence: None)
        end = time.perf_counter()
        if not self._times or not any(found.code == "GB0059" for found in report.diagnostics):
            raise RuntimeError(f"nothing was traced: {report.problems} {[row.detail for row in report.functions]}")
        ((asked, first, last, over, dynamo),) = self._times[:1]
        return asked - begin, first - asked, dynamo, last - first - dynamo, over - last, end - over
