"""Which analysis runs when: the newest request, the user's own document, the one touched last, and the background behind all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from graphbreak.lsp import runs as runs_module
from graphbreak.lsp.attention import Attention
from graphbreak.lsp.runs import Run, Runs

from .editor import MARK, Editor

SLOW = "# SLOW\n" + MARK + "def f(x):\n    return x\n"


class Work:
    """Analyses that end when they are told to. `begun` has their paths in the order in which they began, `ended` those that were ended."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.asked: list[Run] = []
        self.ended: list[str] = []
        self.attention = Attention()
        self.runs = Runs(self._analyse, lambda: 1, lambda: None, lambda: None, self.attention)
        self._doors: dict[str, asyncio.Event] = {}

    async def _analyse(self, run: Run) -> None:
        self.begun.append(run.path)
        self.asked.append(run)
        self._doors[run.path] = asyncio.Event()
        try:
            await self._doors[run.path].wait()
        except asyncio.CancelledError:
            self.ended.append(run.path)
            raise

    async def finish(self, path: str) -> None:
        """Let one come to its end, and whatever follows begin."""
        self._doors[path].set()
        await self.turn()

    async def turn(self) -> None:
        """Let all tasks take a few steps."""
        for _ in range(10):
            await asyncio.sleep(0)


@pytest_asyncio.fixture
async def work() -> AsyncIterator[Work]:
    """What runs is ended with the test."""
    work = Work()
    yield work
    await work.runs.stop()


async def test_two_run_at_once_and_the_one_touched_last_comes_next(work: Work) -> None:
    for path in "abcd":
        work.attention.opened(path)
    for path in "abcd":
        work.runs.request(path)
    await work.turn()
    assert work.begun == ["a", "b"]
    assert [work.runs.is_waiting(path) for path in "abcd"] == [False, False, True, True]
    await work.finish("a")
    assert work.begun == ["a", "b", "d"]
    work.attention.opened("c")
    work.runs.request("e")
    await work.finish("b")
    assert work.begun == ["a", "b", "d", "c"]


async def test_the_document_that_the_user_is_in_waits_for_no_other(work: Work) -> None:
    for path in "abc":
        work.runs.request(path)
    await work.turn()
    work.runs.attend("c")
    await work.turn()
    assert work.begun == ["a", "b", "c"]
    work.attention.at("d")
    work.runs.request("e")
    work.runs.request("d")
    await work.turn()
    assert work.begun == ["a", "b", "c", "d"]
    assert work.ended == []


async def test_a_long_run_gives_its_place_to_the_next_and_goes_on(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "LONG", 0.01)
    for path in "abc":
        work.runs.request(path)
    for _ in range(500):
        await asyncio.sleep(0.01)
        if "c" in work.begun:
            break
    assert (work.begun, work.ended) == (["a", "b", "c"], [])
    assert work.runs.is_running("a")


async def test_requests_that_wait_become_one_that_answers_all(work: Work) -> None:
    for path in "ab":
        work.runs.request(path)
    work.runs.request("c", unmarked=True, only="f")
    work.runs.request("c", only="f")
    work.runs.request("d", only="f")
    work.runs.request("d", only="g")
    await work.turn()
    await work.finish("a")
    await work.finish("b")
    asked = {run.path: (run.unmarked, run.only, run.revision) for run in work.asked}
    assert (asked["c"], asked["d"]) == ((True, "f", 1), (False, "", 1))


async def test_what_waits_is_cancelled_with_the_rest(work: Work) -> None:
    for path in "abcd":
        work.runs.request(path)
    await work.turn()
    work.runs.cancel("c")
    await work.finish("a")
    assert work.begun == ["a", "b", "d"]
    work.runs.request("e")
    work.runs.cancel_all()
    await work.turn()
    assert (work.begun, sorted(work.ended), work.runs.is_idle) == (["a", "b", "d"], ["b", "d"], True)


async def test_what_an_edit_makes_stale_ends_and_nothing_takes_its_place_until_it_is_asked_for(work: Work) -> None:
    work.runs.request_in_background(["z"])
    await work.turn()
    work.runs.outdated("z")
    work.runs.outdated("nobody")
    await work.turn()
    assert work.ended == [], "the background is asked again in its own time"
    work.runs.request("a")
    await work.turn()
    work.runs.outdated("a")
    assert not work.runs.is_running("a")
    await work.turn()
    assert (work.ended, work.begun) == (["z", "a"], ["z", "a", "z"])
    work.runs.request("a")
    await work.turn()
    assert work.begun == ["z", "a", "z", "a"]


async def test_the_background_goes_on_when_nobody_waits_any_more(work: Work) -> None:
    for path in "abc":
        work.runs.request(path)
    work.runs.request_in_background(["y", "z"])
    await work.turn()
    await work.finish("a")
    await work.finish("b")
    assert work.begun == ["a", "b", "c"]
    await work.finish("c")
    assert work.begun == ["a", "b", "c", "y"]


async def test_an_editor_that_opens_many_files_has_its_active_one_first(editor: Editor, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.py" for name in "abcd"]
    await editor.connect(tmp_path)
    for path in paths:
        editor.open(path, SLOW)
    await editor.analysed(2)
    lenses = [command.title for _, command in await editor.lenses(paths[0])]
    assert lenses[0] == "waits to be traced…"
    editor.client.protocol.notify("graphbreak/active", {"uri": paths[0].as_uri()})
    await editor.analysed(3)
    editor.client.protocol.notify("graphbreak/active", {"uri": "file:///not/open.py"})
    await editor.hover(paths[1], 0, 0)
    await editor.analysed(4)
    assert [Path(request.source.path).name for request in editor.analyser.requests] == ["d.py", "c.py", "a.py", "b.py"]
    assert editor.analyser.cancelled == 0
