"""Programs and interpreters that go wrong: each ends in one clear outcome, and the next trace is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphbreak.core.findings import FunctionResult, Kind, Outcome, Report
from graphbreak.core.requests import Permissions, Settings
from graphbreak.worker import protocol
from harness import INTERPRETER, PRINT, Harness, assert_print_example, code, of_kind, only, squiggles

DEFINITION = """\
import atexit, ctypes, os, subprocess, sys, threading, time
import torch


@torch.compile
def f(x):
    x = x * 2
    print("a")
    return x + 1


"""
CALL = "f(torch.ones(3))\n"
BREAK = ("break", "GB0059", 'print("a")')


def with_hint(*found: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    return [*found, ("not-analysed", "not-analysed", "f")]


@dataclass(frozen=True)
class Fault:
    text: str
    outcome: Outcome
    detail: str
    shown: list[tuple[str, str, str]]
    problem: str = ""
    timeout: float = 60.0
    stale: bool = False


FAULTS = {
    "a syntax error": Fault(
        DEFINITION + CALL + "def (:\n",
        Outcome.SYNTAX_ERROR,
        "Python cannot read this file: invalid syntax (line 13)",
        with_hint(),
        "invalid syntax (line 13)",
        stale=True,
    ),
    "an exception before the call": Fault(
        DEFINITION + "raise ValueError('no data')\n" + CALL,
        Outcome.RAISED,
        "the program raised ValueError: no data before it was called",
        with_hint(("raised", "raised", "raise ValueError('no data')")),
    ),
    "an exception after the call": Fault(
        DEFINITION + CALL + "raise ValueError('no data')\n",
        Outcome.TRACED,
        "",
        [BREAK, ("raised", "raised", "raise ValueError('no data')")],
    ),
    "an import that is not there": Fault(
        DEFINITION + "import nowhere\n" + CALL,
        Outcome.RAISED,
        "ModuleNotFoundError: No module named 'nowhere'",
        with_hint(("raised", "raised", "import nowhere")),
    ),
    "a program that never ends, before the call": Fault(
        DEFINITION + "while True: pass\n" + CALL,
        Outcome.TIMED_OUT,
        "had not ended after 1 s; it had not been called by then",
        with_hint(),
        "had not ended after 1 s and was stopped",
        timeout=1,
        stale=True,
    ),
    "a program that never ends, after the call": Fault(
        DEFINITION + CALL + "while True: pass\n",
        Outcome.TIMED_OUT,
        "had not ended after 1 s; what was found until then is shown",
        with_hint(BREAK),
        "had not ended after 1 s and was stopped",
        timeout=1,
    ),
    "a whole function eager, and a program that never ends": Fault(
        DEFINITION.replace('    print("a")', '    for _ in x: print("a")') + CALL + "while True: pass\n",
        Outcome.TIMED_OUT,
        "had not ended",
        with_hint(("skipped", "GB0059", 'print("a")')),
        "had not ended",
        timeout=1,
    ),
    "an own exit before the call": Fault(
        DEFINITION + "os._exit(3)\n" + CALL,
        Outcome.WORKER_DIED,
        "the program ended its own process with exit status 3 before it was called",
        with_hint(),
        "exit status 3",
        stale=True,
    ),
    "an own exit after the call": Fault(
        DEFINITION + CALL + "os._exit(3)\n",
        Outcome.TRACED,
        "the program ended its own process with exit status 3; what was found",
        [BREAK],
        "exit status 3",
    ),
    "a crash before the call": Fault(
        DEFINITION + "ctypes.string_at(0)\n" + CALL,
        Outcome.WORKER_DIED,
        "the process was ended by SIGSEGV before it was called",
        with_hint(),
        "SIGSEGV",
        stale=True,
    ),
    "a crash after the call": Fault(
        DEFINITION + CALL + "ctypes.string_at(0)\n",
        Outcome.TRACED,
        "the process was ended by SIGSEGV; what was found",
        [BREAK],
        "SIGSEGV",
    ),
    "every descriptor closed": Fault(
        DEFINITION + "os.closerange(3, 4096)\n" + CALL,
        Outcome.WORKER_DIED,
        "the program closed the pipe that results are sent over",
        with_hint(),
        "closed the pipe",
        stale=True,
    ),
    "an exit with a status, before the call": Fault(
        DEFINITION + "sys.exit(2)\n" + CALL,
        Outcome.NOT_REACHED,
        "the program ended with exit status 2 before it was called",
        with_hint(),
    ),
    "an exit with a status, after the call": Fault(DEFINITION + CALL + "sys.exit(2)\n", Outcome.TRACED, "", [BREAK]),
    "an exit with a message, before the call": Fault(
        DEFINITION + "sys.exit('no data')\n" + CALL,
        Outcome.NOT_REACHED,
        "the program ended with exit status 1 before it was called",
        with_hint(),
    ),
    "a question to the terminal": Fault(DEFINITION + CALL + "input()\n", Outcome.TRACED, "", [BREAK, ("raised", "raised", "input()")]),
    "a signal to itself": Fault(
        DEFINITION + CALL + "os.kill(os.getpid(), 9)\n",
        Outcome.TRACED,
        "the process was ended by SIGKILL",
        [BREAK],
        "SIGKILL",
        stale=True,
    ),
    "an exception without a text": Fault(
        DEFINITION + "class E(Exception):\n    def __str__(self): raise KeyError\nraise E\n",
        Outcome.RAISED,
        "the program raised E before",
        with_hint(("raised", "raised", "raise E")),
    ),
    "a wrong shape in the function": Fault(
        DEFINITION.replace("return x + 1", "return x @ torch.ones(7)") + CALL,
        Outcome.TRACED,
        "",
        [BREAK, ("raised", "raised", "x @ torch.ones(7)")],
    ),
    "a function that nothing calls and that fails": Fault(
        DEFINITION.replace("return x + 1", "raise KeyError"), Outcome.NO_INPUTS, "nothing in this file calls it, and inputs", with_hint()
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_has_one_clear_outcome_and_the_next_trace_is_right(harness: Harness, tmp_path: Path, fault: Fault) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", fault.text, timeout=fault.timeout)

    row = only(report)
    assert row.outcome is fault.outcome
    assert (fault.detail in row.detail) if fault.detail else row.detail == ""
    assert squiggles(report) == fault.shown
    assert len(report.problems) == bool(fault.problem)
    assert fault.problem in "".join(report.problems)
    assert report.stale is fault.stale
    assert_print_example(harness.write_and_analyse(tmp_path / "next.py", PRINT))


def test_a_traceback_in_the_output_is_the_users_own(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", "raise ValueError('no data')\n")
    assert report.output == (
        f"Traceback (most recent call last):\n"
        f'  File "{tmp_path}/main.py", line 1, in <module>\n'
        f"    raise ValueError('no data')\n"
        f"ValueError: no data\n"
    )


def test_much_output_is_kept_bounded(harness: Harness, tmp_path: Path) -> None:
    text = DEFINITION + "print('y' * 1_000_000)\nsys.stderr.write('z' * 1_000_000)\n" + CALL + "print('END')\n"
    report = harness.write_and_analyse(tmp_path / "main.py", text)
    assert squiggles(report) == [BREAK]
    assert report.output.endswith("zza\nEND\n")
    assert len(report.output) <= 64 * 1024


SPELLINGS = {
    "CRLF and a byte-order mark": (("\ufeff" + PRINT.replace("\n", "\r\n")).encode(), 'print("mid")'),
    "a byte-order mark": (("\ufeff" + PRINT).encode(), 'print("mid")'),
    "emoji before the break": (PRINT.replace('print("mid")', "s = '🎉é'; print(\"mid\")").encode(), 'print("mid")'),
    "emoji in the break": (PRINT.replace('"mid"', '"漢🎉"').encode(), 'print("漢🎉")'),
    "tabs": (PRINT.replace("    ", "\t").encode(), 'print("mid")'),
    "latin-1": (("# coding: latin-1\n" + PRINT.replace('print("mid")', 's = "é"; print("ü")')).encode("latin-1"), 'print("ü")'),
    "several lines": (PRINT.replace('print("mid")', 'print(\n        "mid",\n    )').encode(), 'print(\n        "mid",\n    )'),
    "no line end": (PRINT.rstrip("\n").encode(), 'print("mid")'),
    "form feeds": (PRINT.replace("\n\n", "\n\x0c\n").encode(), 'print("mid")'),
}


@pytest.mark.parametrize(("data", "expected"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_the_expression_is_exact_however_the_file_is_written(harness: Harness, tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "main.py"
    path.write_bytes(data)
    report = harness.analyse(path)
    assert squiggles(report) == [("break", "GB0059", expected)]
    assert (only(report).graphs, only(report).ops) == (2, 2)


def test_what_a_program_starts_is_gone_afterwards(harness: Harness, tmp_path: Path) -> None:
    start = (
        "one = subprocess.Popen(['sleep', '600'])\n"
        "two = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "three = os.fork() or (os.setsid(), os.fork() or time.sleep(600), os._exit(0))\n"
        "open('pids', 'w').write(f'{os.getpid()} {one.pid} {two.pid} {three}')\n"
    )
    (tmp_path / "main.py").write_text(DEFINITION + start + CALL)
    report = harness.analyse(tmp_path / "main.py", settings=may_write(tmp_path))
    assert squiggles(report) == [BREAK]
    assert len((tmp_path / "pids").read_text().split()) == 4
    harness.wait_for_the_end_of_jobs(5)


def may_write(folder: Path) -> Settings:
    """What a test needs whose program makes itself known by a file; the same for all tests, so that they share a prepared parent."""
    return Settings(interpreter=INTERPRETER, permissions=Permissions(write=(str(folder.parent),)))


def test_a_loop_that_shows_nothing_new_ends_early(harness: Harness, tmp_path: Path) -> None:
    started = time.monotonic()
    report = harness.write_and_analyse(tmp_path / "main.py", DEFINITION + "while True:\n    time.sleep(0.001)\n    " + CALL)
    assert time.monotonic() - started < 20
    row = only(report)
    assert row.outcome is Outcome.TRACED
    assert row.stopped == "every marked function was called, and 3 s and 32 further calls brought nothing new"
    assert squiggles(report) == [BREAK]
    assert report.problems == ()


def test_cancelling_ends_the_job_within_a_second(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "main.py"
    path.write_text(DEFINITION + "subprocess.Popen(['sleep', '600'], start_new_session=True)\nopen('here', 'w')\nwhile True: pass\n")
    future = harness.start(path, settings=may_write(tmp_path))
    give_up = time.monotonic() + 90  # the sleeper is not seen while it starts
    while not (tmp_path / "here").exists() or len(harness.processes()) != 2 + harness.kept_ready():
        assert time.monotonic() < give_up, harness.processes()
        time.sleep(0.01)
    future.cancel()
    harness.wait_for_the_end_of_jobs(5)
    assert_print_example(harness.write_and_analyse(tmp_path / "next.py", PRINT))


def test_two_traces_at_once_do_not_mix(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PRINT)
    other = tmp_path / "other.py"
    other.write_text(DEFINITION + CALL)
    futures = [harness.start(tmp_path / "main.py"), harness.start(other), harness.start(tmp_path / "main.py")]
    first, second, third = (future.result(60) for future in futures)
    assert_print_example(first)
    assert squiggles(second) == [BREAK]
    assert_print_example(third)


def no_environment(report: Report) -> FunctionResult:
    row = only(report)
    assert row.outcome is Outcome.NO_ENVIRONMENT
    assert [hint.message for hint in of_kind(report, Kind.NOT_ANALYSED)] == [f"Not analysed: `scale`: {row.detail.rstrip('.')}."]
    assert report.problems == (row.detail,)
    assert report.stale
    return row


def test_an_interpreter_that_is_not_there(harness: Harness, tmp_path: Path) -> None:
    report = harness.analyse(tmp_path / "main.py", PRINT, settings=Settings(interpreter="/nowhere/python"))
    assert no_environment(report).detail == "The interpreter /nowhere/python cannot be started: No such file or directory."


def test_an_interpreter_that_is_no_program(harness: Harness, tmp_path: Path) -> None:
    report = harness.analyse(tmp_path / "main.py", PRINT, root=tmp_path, settings=Settings(interpreter="./python"))
    assert no_environment(report).detail == f"The interpreter {tmp_path}/./python cannot be started: No such file or directory."
    report = harness.analyse(tmp_path / "main.py", PRINT, settings=Settings(interpreter=str(tmp_path)))
    assert no_environment(report).detail == f"The interpreter {tmp_path} cannot be started: Permission denied."


def test_an_interpreter_without_torch(harness: Harness, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    report = harness.analyse(tmp_path / "main.py", PRINT, settings=Settings(interpreter=str(python)))
    assert no_environment(report).detail == f"There is no torch in {python}. Install it there, or choose another interpreter."


def false_interpreter(folder: Path, body: str) -> Settings:
    """A program that stands in for Python: it is given the worker's path, its mode and the descriptor to speak on."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\nimport os, socket, sys\n{body}\n")
    path.chmod(0o755)
    return Settings(interpreter=str(path))


def test_a_worker_of_another_version_says_what_to_do(harness: Harness, tmp_path: Path) -> None:
    hello = json.dumps(
        ["Hello", {"version": 99, "python": "3.11", "torch": "2.13", "device": "cpu", "pid": 1, "torch_folder": "", "library_folders": []}]
    ).encode()
    settings = false_interpreter(tmp_path, f"socket.socket(fileno=int(sys.argv[3])).send({protocol.HEADER.pack(len(hello)) + hello!r})")
    report = harness.analyse(tmp_path / "main.py", PRINT, settings=settings)
    expected = f"The worker speaks version 99 of the protocol and the server version {protocol.VERSION}; install graphbreak again."
    assert no_environment(report).detail == expected


def test_an_interpreter_that_dies_tells_its_last_words(harness: Harness, tmp_path: Path) -> None:
    settings = false_interpreter(tmp_path, "sys.exit('libtorch.so: cannot open shared object file')")
    detail = no_environment(harness.analyse(tmp_path / "main.py", PRINT, settings=settings)).detail
    assert "ended with status 1 while importing torch: libtorch.so: cannot open shared object file" in detail


def test_an_interpreter_that_says_something_else(harness: Harness, tmp_path: Path) -> None:
    settings = false_interpreter(tmp_path, "socket.socket(fileno=int(sys.argv[3])).send(b'hello, world')")
    detail = no_environment(harness.analyse(tmp_path / "main.py", PRINT, settings=settings)).detail
    assert detail.startswith(f"The interpreter {tmp_path}/python did not answer as a worker does")


def test_a_broken_interpreter_is_tried_again(harness: Harness, tmp_path: Path) -> None:
    settings = false_interpreter(tmp_path, "sys.exit('libtorch.so is missing')")
    no_environment(harness.analyse(tmp_path / "main.py", PRINT, settings=settings))
    (tmp_path / "python").unlink()
    (tmp_path / "python").symlink_to(sys.executable)
    assert no_environment(harness.analyse(tmp_path / "main.py", PRINT, settings=settings)).detail.startswith("There is no torch in")


def test_an_untrusted_workspace_is_not_run(harness: Harness, tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n" + PRINT
    report = harness.analyse(tmp_path / "main.py", text, settings=Settings(interpreter=sys.executable, trusted=False))
    assert only(report).outcome is Outcome.REFUSED
    assert report.problems == ("The workspace is not trusted, so nothing in it is run.",)
    assert not (tmp_path / "ran").exists()


def test_a_parent_that_is_killed_is_replaced(tmp_path: Path) -> None:
    harness = Harness()
    try:
        assert_print_example(harness.write_and_analyse(tmp_path / "main.py", PRINT))
        parent = min(harness.processes())  # a spare may be there beside it
        os.kill(parent, 9)
        report = harness.write_and_analyse(tmp_path / "main.py", PRINT)
        if only(report).outcome is not Outcome.TRACED:  # the one that was under way when the parent went
            assert only(report).outcome is Outcome.WORKER_DIED
            report = harness.write_and_analyse(tmp_path / "main.py", PRINT)
        assert_print_example(report)
        assert parent not in harness.processes()
        assert len(harness.engine.prepared) == 1
    finally:
        harness.close()
    assert harness.processes() == []


def test_closing_ends_a_job_that_runs(tmp_path: Path) -> None:
    harness = Harness()
    path = tmp_path / "main.py"
    path.write_text("open('here', 'w')\nwhile True: pass\n")
    future = harness.start(path, settings=may_write(tmp_path))
    give_up = time.monotonic() + 60
    while not (tmp_path / "here").exists():
        assert time.monotonic() < give_up
        time.sleep(0.01)
    harness.close()
    assert harness.processes() == []
    assert "SIGKILL" in future.result(0).problems[0]


def test_a_syntax_error_in_a_helper_is_shown_there(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def log(x:\n    pass\n")
    report = harness.write_and_analyse(tmp_path / "main.py", "import torch\nimport helper\n@torch.compile\ndef f(x): return x\n")
    (raised,) = of_kind(report, Kind.RAISED)
    assert "SyntaxError" in raised.message
    assert Path(raised.path).name == "helper.py"
    assert code(report, raised).startswith("def log(x:")
