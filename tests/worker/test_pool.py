"""What is kept ready ends when nobody needs it, and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphbreak.core.requests import Permissions, Settings
from graphbreak.tracer import pool
from harness import INTERPRETER, PRINT, Harness, assert_print_example


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_parents_that_nobody_needs_end_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_OTHERS_SECONDS", 0.5)
    harness = Harness(fork=True)
    try:
        other = Settings(interpreter=INTERPRETER, permissions=Permissions(env=("NOTHING",)))
        assert_print_example(harness.analyse(tmp_path / "main.py", PRINT, settings=other))
        assert_print_example(harness.analyse(tmp_path / "main.py", PRINT))
        wait_until(lambda: len(harness.engine.prepared) == 1)  # the one whose permissions are of the past has gone
        wait_until(lambda: len(harness.processes()) == harness.kept_ready() == 2)
        monkeypatch.setattr(pool, "IDLE_SECONDS", 0.5)
        wait_until(lambda: not harness.processes())
        assert harness.engine.prepared == []
        monkeypatch.setattr(pool, "IDLE_SECONDS", 600.0)

        async def wake() -> None:
            harness.engine.wake()

        harness.submit(wake()).result(10)
        wait_until(lambda: len(harness.engine.prepared) == 1)
        assert_print_example(harness.analyse(tmp_path / "main.py", PRINT + "\n"))
    finally:
        harness.close()
    assert harness.processes() == []
