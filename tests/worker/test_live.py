"""When what was found so far is told, and which runs of one file go on at once."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Report, Severity
from graphbreak.core.requests import AnalysisRequest, Settings
from graphbreak.core.source import Span
from graphbreak.tracer import live as live_module
from graphbreak.tracer.engine import Engine
from graphbreak.tracer.files import read_source
from graphbreak.tracer.live import Live
from harness import INTERPRETER, Harness

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FOUND = Diagnostic("1", "/a.py", Span.at(0, 0, 0, 1), Severity.WARNING, Kind.BREAK, "GB0059", "a break")


def report(*lines: int) -> Report:
    return Report("/a.py", diagnostics=tuple(Diagnostic(str(n), "/a.py", FOUND.span, FOUND.severity, FOUND.kind, "", "") for n in lines))


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "FIRST", 0.0)
    monkeypatch.setattr(live_module, "EVERY", 0.0)


async def told(count: int, heard: list[Report]) -> None:
    for _ in range(500):
        if len(heard) >= count:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(heard)


@pytest.mark.usefixtures("hurried")
async def test_only_what_is_new_is_told() -> None:
    heard: list[Report] = []
    live = Live(heard.append)
    live.begin()
    live.news(lambda: report())
    live.news(lambda: report(1))
    await told(1, heard)
    live.news(lambda: report(1))
    live.news(lambda: report(1, 2))
    await told(2, heard)
    live.stop()
    live.news(lambda: report(1))
    live.stop()
    await asyncio.sleep(0.05)
    assert heard == [report(1), report(1, 2)]


async def test_a_short_run_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "FIRST", 1000.0)
    heard: list[Report] = []
    live = Live(heard.append)
    live.begin()
    live.news(lambda: report(1))
    await asyncio.sleep(0.05)
    live.stop()
    await asyncio.sleep(0.05)
    assert heard == []


@pytest.mark.usefixtures("hurried")
async def test_what_is_found_while_a_report_is_made_is_told_after_it() -> None:
    heard: list[Report] = []
    live = Live(heard.append)
    loop = asyncio.get_running_loop()

    def first() -> Report:
        loop.call_soon_threadsafe(live.news, lambda: report(1, 2))
        return report(1)

    live.begin()
    live.news(first)
    await told(2, heard)
    assert heard == [report(1), report(1, 2)]


class Steps:
    """Works that end when they are told to."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.doors = [asyncio.Event() for _ in range(3)]

    def works(self) -> list[Callable[[], asyncio.Future[int]]]:
        return [lambda number=number: asyncio.ensure_future(self._work(number)) for number in range(3)]  # type: ignore[misc]

    async def _work(self, number: int) -> int:
        self.begun.append(number)
        await self.doors[number].wait()
        return number

    async def turn(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.mark.parametrize(("others", "at_first", "then"), [(1, [0, 1], [0, 1, 2]), (2, [0], [0, 1])])
async def test_works_share_the_idle_core_and_keep_their_order(others: int, at_first: list[int], then: list[int]) -> None:
    engine, steps = Engine(), Steps()
    engine._lanes = others
    together = asyncio.create_task(engine.together(steps.works()))
    await steps.turn()
    assert steps.begun == at_first
    steps.doors[at_first[-1]].set()
    await steps.turn()
    assert steps.begun == then
    for door in steps.doors:
        door.set()
    assert await together == [0, 1, 2]
    assert engine._lanes == others


async def test_a_work_that_fails_ends_the_others() -> None:
    engine, steps = Engine(), Steps()

    async def fails() -> int:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await engine.together([*steps.works()[:1], fails])
    assert (steps.begun, engine._lanes) == ([0], 0)


BOTH = """\
import torch


# graphbreak: f(torch.ones(3))
@torch.compile
def f(x):
    print("f")
    return x + 1


@torch.compile
def g(x):
    print("g")
    return x - 1


if __name__ == "__main__":
    g(torch.ones(3))
"""


def test_an_example_call_and_the_program_are_run_beside_each_other(harness: Harness, tmp_path: Path) -> None:
    """Whichever of them ends first, the report is the same."""
    reports = [harness.write_and_analyse(tmp_path / "main.py", BOTH) for _ in range(2)]
    for found in reports:
        assert [(row.name, [one.source for one in row.inputs], row.breaks) for row in found.functions] == [
            ("f", ["directive"], 1),
            ("g", ["call"], 1),
        ]
        assert [job.calls != [] for job in found.jobs] == [True, False]
    assert reports[0].diagnostics == reports[1].diagnostics


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", ["print_in_loop", "two_callers", "fullgraph_print"])
def test_what_is_told_early_is_in_the_end_word_for_word(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setattr(live_module, "_SHARE", 0)
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, tmp_path)
    source = read_source(str(tmp_path / f"{name}.py"))
    assert source is not None
    request = AnalysisRequest(source, str(tmp_path), (str(tmp_path),), Settings(interpreter=INTERPRETER))
    heard: list[Report] = []
    whole = harness.submit(harness.engine.analyse(request, lambda sentence: None, heard.append)).result(120)
    assert heard
    assert all(found.provisional for found in heard)
    ended = {said(found) for found in whole.diagnostics}
    assert {said(found) for early in heard for found in early.diagnostics} <= ended


def said(found: Diagnostic) -> tuple[object, ...]:
    """What of a diagnostic an editor is sent."""
    return found.id, found.path, found.span, found.kind, found.severity, found.message
