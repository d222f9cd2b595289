"""A fresh process for each trace, as platforms without fork have it: the same answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphbreak.core.findings import Outcome
from graphbreak.core.requests import Settings
from harness import PRINT, Harness, assert_print_example, only, squiggles

BREAK = ("break", "GB0059", 'print("mid")')


@pytest.fixture(scope="module")
def once() -> Iterator[Harness]:
    harness = Harness(fork=False, variables={"TORCH_COMPILE_DISABLE": "1", "TORCH_LOGS": "+dynamo", "PYTHONWARNINGS": "ignore"})
    yield harness
    harness.close()
    assert harness.processes() == []


def test_variables_that_would_falsify_the_trace_are_unset_and_named(once: Harness, tmp_path: Path) -> None:
    report = once.write_and_analyse(tmp_path / "main.py", PRINT)
    assert_print_example(report)
    assert report.environment.notes == ("TORCH_COMPILE_DISABLE=1 was unset for the trace.", "TORCH_LOGS=+dynamo was unset for the trace.")
    assert report.output.endswith("mid\n")
    assert len(report.output) < 1000


def test_a_program_that_never_ends_is_ended_with_what_it_started(once: Harness, tmp_path: Path) -> None:
    text = "import subprocess\nsubprocess.Popen(['sleep', '600'])\n" + PRINT + "while True: pass\n"
    report = once.write_and_analyse(tmp_path / "main.py", text, timeout=1)
    assert only(report).outcome is Outcome.TIMED_OUT
    assert squiggles(report)[0] == BREAK
    once.wait_for_the_end_of_jobs(5)


def test_an_own_exit(once: Harness, tmp_path: Path) -> None:
    report = once.write_and_analyse(tmp_path / "main.py", "import os\n" + PRINT + "os._exit(3)\n")
    assert only(report).outcome is Outcome.TRACED
    assert "exit status 3" in only(report).detail
    assert squiggles(report) == [BREAK]


@pytest.mark.parametrize(
    ("interpreter", "sentence"),
    [
        ("/nowhere/python", "The interpreter /nowhere/python cannot be started: No such file or directory."),
        (sys.executable + "/x", f"The interpreter {sys.executable}/x cannot be started: Not a directory."),
        ("/bin/true", "The interpreter /bin/true ended while importing torch"),
        ("/bin/echo", "The interpreter /bin/echo did not answer as a worker does: "),
    ],
)
def test_an_interpreter_that_is_none(once: Harness, tmp_path: Path, interpreter: str, sentence: str) -> None:
    report = once.analyse(tmp_path / "main.py", PRINT, settings=Settings(interpreter=interpreter))
    assert only(report).outcome is Outcome.NO_ENVIRONMENT
    assert only(report).detail.startswith(sentence)
    once.wait_for_the_end_of_jobs(5)


def test_the_next_job_gets_a_process_that_is_there_already(once: Harness, tmp_path: Path) -> None:
    assert_print_example(once.write_and_analyse(tmp_path / "main.py", PRINT))
    give_up = time.monotonic() + 30
    while not (once.engine.waiting and once.processes()):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    (ready,) = once.processes()
    assert squiggles(once.analyse(tmp_path / "main.py", PRINT + "\n")) == [BREAK]
    assert ready not in once.processes()
