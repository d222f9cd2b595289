"""What the sandbox stops is said, also where the program swallows the error, with what allows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.findings import Kind
from graphbreak.core.requests import Permissions, Settings
from harness import INTERPRETER, PRINT, Harness, of_kind, squiggles

SERVER = Path(__file__).parent.parent.parent / "server"
BREAK = ("break", "GB0059", 'print("mid")')
WRITE = "; the setting `sandbox.write` does, or `--allow-write` on the command line."


def attempt(statement: str) -> str:
    return f"{PRINT}import os, socket\ntry:\n    {statement}\nexcept OSError:\n    pass\n"


STOPPED = {
    "a file beside the program": ("open('run.log', 'w')", "tried to write {folder}/run.log: the sandbox does not allow it" + WRITE),
    "a file for more": ("open('main.py', 'a')", "tried to write {folder}/main.py:"),
    "a descriptor": ("os.open('run.log', os.O_CREAT | os.O_WRONLY)", "tried to write {folder}/run.log:"),
    "a folder": ("os.makedirs('out/deep')", "tried to write {folder}/out:"),
    "a removal": ("os.remove('main.py')", "tried to write {folder}/main.py:"),
    "a new name": ("os.rename('main.py', 'other.py')", "tried to write {folder}/main.py:"),
    "a link": ("os.symlink('main.py', 'link')", "tried to write {folder}/link:"),
    "a host": (
        "socket.create_connection(('example.org', 80))",
        "tried to connect to example.org: the sandbox does not allow it; the setting",
    ),
    "an address": ("socket.create_connection(('192.0.2.1', 80), 1)", "tried to connect to 192.0.2.1:80:"),
}


@pytest.mark.parametrize(("statement", "sentence"), STOPPED.values(), ids=STOPPED.keys())
def test_what_was_stopped_is_said_though_the_program_goes_on(harness: Harness, tmp_path: Path, statement: str, sentence: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", attempt(statement))
    assert squiggles(report) == [BREAK]
    assert any(sentence.format(folder=tmp_path) in problem for problem in report.problems), report.problems
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main.py"]


NOT_STOPPED = {
    "a temporary file": "import tempfile; tempfile.NamedTemporaryFile().write(b'x'); open('/tmp/own.txt', 'w'); os.remove('/tmp/own.txt')",
    "a folder that is there": "os.makedirs(os.getcwd(), exist_ok=True)",
    "reading": "open('main.py').read(); os.listdir('/'); open('/etc/hosts').read()",
    "itself": "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); socket.getaddrinfo('localhost', 80)",
    "shared memory": "import multiprocessing.shared_memory as m; m.SharedMemory(create=True, size=64).unlink()",
    "nothing": "open(os.devnull, 'w').write('x')",
    "what is not there": "os.remove('nowhere')",
}


@pytest.mark.parametrize("statement", NOT_STOPPED.values(), ids=NOT_STOPPED.keys())
def test_what_is_allowed_is_not_remarked_upon(harness: Harness, tmp_path: Path, statement: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", attempt(statement))
    assert (squiggles(report), report.problems) == ([BREAK], ())


def test_an_exception_says_what_stopped_it(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", PRINT + "open('run.log', 'w')\n")
    (raised,) = of_kind(report, Kind.RAISED)
    assert f"run.log' (tried to write {tmp_path}/run.log: the sandbox does not allow it" in raised.message


def test_what_the_user_permits_is_written(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "main.py"
    path.write_text(PRINT + "open('run.log', 'w').write('x')\nopen('out/model', 'w').write('y')\n")
    permitted = Permissions(write=(str(tmp_path / "run.log"), str(tmp_path / "out")))
    report = harness.analyse(path, settings=Settings(interpreter=INTERPRETER, permissions=permitted))
    assert (squiggles(report), report.problems) == ([BREAK], ())
    assert ((tmp_path / "run.log").read_text(), (tmp_path / "out" / "model").read_text()) == ("x", "y")


def test_a_file_that_is_not_in_the_private_folder_is_said_to_be_elsewhere(harness: Harness, tmp_path: Path) -> None:
    outside = Path("/tmp") / f"graphbreak-test-{tmp_path.name}-{os.getpid()}.txt"
    outside.write_text("x")
    program = PRINT + f"open({str(outside)!r}).read()\n"
    try:
        report = harness.write_and_analyse(tmp_path / "main.py", program)
        (raised,) = of_kind(report, Kind.RAISED)
        assert "(/tmp/ is the program's own here; the setting `sandbox.read` shows it what lies there" in raised.message
        permitted = Settings(interpreter=INTERPRETER, permissions=Permissions(read=(str(outside),)))
        assert squiggles(harness.analyse(tmp_path / "main.py", settings=permitted)) == [BREAK]
    finally:
        outside.unlink()


@pytest.mark.parametrize("path", ["missing.txt", "/nowhere/missing.txt"])
def test_what_is_missing_on_the_machine_too_is_only_missing(harness: Harness, tmp_path: Path, path: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", PRINT + f"open({path!r})\n")
    (raised,) = of_kind(report, Kind.RAISED)
    assert raised.message.endswith(f"No such file or directory: {path!r}")


def test_a_look_into_the_private_folder_that_the_program_expects_to_fail_is_not_remarked_upon(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", attempt("open('/tmp/cache.json')"))
    assert (squiggles(report), report.problems) == ([BREAK], ())


LOADING = "for _ in torch.utils.data.DataLoader(range(4), num_workers=2):\n    pass\n"
SEGMENT = "import multiprocessing.shared_memory as m\nm.SharedMemory(create=True, size=64).unlink()\n"
WITHOUT_NAMESPACES = """
import sys
from graphbreak.sandbox import seccomp, system
system.forbid_new_privileges()
assert seccomp.apply(inet=True, datagrams=True)
from graphbreak.cli import main
sys.exit(main())
"""


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no such folder")
@pytest.mark.parametrize("program", [LOADING, SEGMENT], ids=["a loader", "a segment"])
def test_shared_memory_of_the_machine_is_not_written(tmp_path: Path, program: str) -> None:
    """Where a program has none of its own, that is said, and can be allowed."""
    (tmp_path / "main.py").write_text(PRINT + program)

    def found(*options: str) -> dict[str, Any]:
        command = [sys.executable, "-c", WITHOUT_NAMESPACES, "check", "--format=json", *options, str(tmp_path / "main.py")]
        ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SERVER)}, capture_output=True, text=True, timeout=300)
        result: dict[str, Any] = json.loads(ended.stdout)
        assert "mount namespace" not in result["environment"]["sandbox"]
        return result

    denied, allowed = found(), found("--allow-write", "/dev/shm")
    said = "tried to write /dev/shm: the sandbox does not allow it" + WRITE
    assert any(said in problem for problem in denied["problems"])
    assert [said[:-1] in diagnostic["message"] for diagnostic in denied["diagnostics"]] == [True, False]
    assert [diagnostic["kind"] for diagnostic in allowed["diagnostics"]] == ["break"]
    assert allowed["problems"] == []
