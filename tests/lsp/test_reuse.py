"""In the editor, with the real engine: nothing is run twice, and what the user asks for is run all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest_asyncio

from graphbreak.core.findings import Report
from graphbreak.core.requests import AnalysisRequest
from graphbreak.tracer.engine import Engine
from graphbreak.tracer.prepared import Ran
from graphbreak.tracer.store import Store
from graphbreak.worker.protocol import Job
from harness import INTERPRETER, PRINT

from .editor import Editor, until


class Counting(Engine):
    """The real engine; knows the texts that it traces, those of trials among them, and counts the reports that it makes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(store=Store(folder))
        self.runs: list[str] = []
        self.reports = 0

    async def run(self, job: Job, *rest: Any, **more: Any) -> Ran:
        self.runs += [job.text] if job.edited is None else []
        return await super().run(job, *rest, **more)

    async def analyse(
        self, request: AnalysisRequest, progress: Callable[[str], None], found: Callable[[Report], None] | None = None
    ) -> Report:
        report = await super().analyse(request, progress, found)
        self.reports += 1
        return report


@pytest_asyncio.fixture
async def editors() -> AsyncIterator[list[Editor]]:
    """The editors of a test, to be disconnected at its end."""
    used: list[Editor] = []
    yield used
    for editor in used:
        if editor._server is not None and not editor._server.done():
            await editor.disconnect()


async def connected(editors: list[Editor], folder: Path) -> tuple[Editor, Counting]:
    editor, engine = Editor(), Counting(folder.parent / "kept")
    editor.analyser = cast(Any, engine)
    editors.append(editor)
    await editor.connect(folder, options={"interpreter": INTERPRETER})
    return editor, engine


async def test_nothing_is_run_twice(editors: list[Editor], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path, edited = folder / "a.py", PRINT.replace("\n", "\n# a remark\n", 1)
    path.write_text(PRINT)
    editor, engine = await connected(editors, folder)
    editor.open(path, PRINT)
    await until(lambda: engine.reports >= 1, lambda: "no report", 120)
    await editor.shows(path, "6:4-6:16", version=1)
    assert PRINT in engine.runs
    bars, reports = len(editor.client.progress_reports), engine.reports

    editor.insert(path, 1, 0, "# a remark\n")
    path.write_text(edited)
    editor.save(path)
    await editor.shows(path, "7:4-7:16", version=2)
    await until(lambda: engine.reports > reports, lambda: "no second report", 60)
    assert edited not in engine.runs
    assert len(editor.client.progress_reports) == bars
    await editor.disconnect()

    editor, engine = await connected(editors, folder)
    editor.open(path, edited)
    await editor.shows(path, "7:4-7:16", version=1)
    assert edited not in engine.runs
    assert "tracing" not in [state for state, _ in editor.status]

    await editor.command("graphbreak.trace", path.as_uri())
    await until(lambda: engine.runs.count(edited) == 1, lambda: "not run", 60)
