"""Servers that die, windows that are loaded again or closed, an editor that is killed; how quickly it comes up."""

from __future__ import annotations

import os
import re
import signal
import statistics
from collections.abc import Callable
from pathlib import Path

from .code_server import CodeServer
from .conftest import OpenEditor
from .workbench import Workbench, eventually


def test_a_server_that_dies_comes_back(workbench: Workbench, editor: CodeServer) -> None:
    workbench.open_file("branch_on_data.py")
    eventually("the squiggle", workbench.squiggles)
    (first,) = editor.servers()
    os.kill(first, signal.SIGKILL)
    eventually("another server", lambda: set(editor.servers()) not in (set(), {first}))
    eventually("the squiggle again", lambda: workbench.squiggles() and "graph break" in workbench.status())
    assert workbench.notifications() == []


def test_a_server_that_always_dies_is_left_alone(workbench: Workbench, editor: CodeServer) -> None:
    killed: set[int] = set()

    def kill_until_noticed() -> bool:
        for server in set(editor.servers()) - killed:
            killed.add(server)
            os.kill(server, signal.SIGKILL)
        return any("5 times" in notice for notice in workbench.notifications())

    eventually("the notice", kill_until_noticed)
    assert 5 <= len(killed) <= 6, "the test before has killed one"
    eventually("the one notice", lambda: ["5 times" in notice for notice in workbench.notifications()] == [True])
    workbench.picture("gave-up-dark")
    workbench.press("Restart", editor.servers)
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)


def test_a_killed_editor_leaves_nothing(open_editor: OpenEditor, examples: Path) -> None:
    with open_editor(examples, {}) as (editor, workbench):
        workbench.open_file("helper_print.py")
        eventually("the squiggle", workbench.squiggles)
        assert editor.pythons()
        editor.kill()
        eventually("an end", lambda: not editor.pythons(), timeout=15)


def test_a_window_that_is_loaded_again_or_closed_takes_its_server_along(open_editor: OpenEditor, examples: Path) -> None:
    with open_editor(examples, {}) as (editor, workbench):
        workbench.open_file("helper_print.py")
        eventually("the squiggle", workbench.squiggles)
        before = set(editor.pythons())
        workbench.command("Developer: Reload Window")
        eventually("another server", lambda: set(editor.servers()) - before)
        eventually("the squiggle again", workbench.squiggles)
        eventually("an end of the first one", lambda: not before & set(editor.pythons()))
        assert len(editor.servers()) == 1
        workbench.close()
        eventually("an end", lambda: not editor.pythons())


STARTS = 5
MOST = 100
"""Milliseconds on top of what an extension takes that does nothing."""


def test_activation_is_quick(open_editor: OpenEditor, examples: Path, record_property: Callable[[str, object], None]) -> None:
    with open_editor(examples, {}, beside=["empty"]) as (_, workbench):
        starts = [_activation_times(workbench) for _ in range(STARTS)]
    ours, empty = [start["Graphbreak"] for start in starts], [start["empty"] for start in starts]
    more = statistics.median(mine - nothing for mine, nothing in zip(ours, empty))
    figures = f"activation: {ours} ms, an empty extension {empty} ms: {more:g} ms on top of it (median)"
    print(figures)
    record_property("activation", figures)
    assert more < MOST, figures


def _activation_times(workbench: Workbench) -> dict[str, int]:
    """Milliseconds by extension, of a window that is loaded anew and has come to rest before a Python file is opened in it."""
    workbench.reload()
    workbench.open_file("not_split.py")
    eventually("the lens", workbench.lenses)
    workbench.command("Developer: Show Running Extensions")
    times: dict[str, int] = {}
    eventually("the times", lambda: _read_times(workbench, times))
    workbench.page.keyboard.press("Escape")
    workbench.command("View: Close All Editors")
    return times


def _read_times(workbench: Workbench, times: dict[str, int]) -> bool:
    """Add the milliseconds of those extensions whose rows are in sight; whether all that matter have been seen."""
    for row in workbench.texts(".runtime-extensions-editor .monaco-list-row"):
        if found := re.search(r"Activation: (\d+)ms", row):
            times[row.split(" ")[0]] = int(found[1])
    workbench.page.locator(".runtime-extensions-editor .monaco-list").first.hover()
    workbench.page.mouse.wheel(0, 120)
    return {"Graphbreak", "empty"} <= times.keys()
