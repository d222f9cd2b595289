"""Neovim, with nothing but its own language client, shows the same breaks as every other editor.

`nvim_client.lua` is what runs inside Neovim; this side prepares a workspace, starts Neovim and looks at what it saw.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import pytest

CLIENT = Path(__file__).with_name("nvim_client.lua")
EXAMPLES = Path(__file__).parents[2] / "examples"
SERVER = [sys.executable, "-m", "graphbreak", "server"]

WAIT_FOR_DIAGNOSTICS_S = 120
WHOLE_SESSION_S = 2 * WAIT_FOR_DIAGNOSTICS_S + 60
LAST_PROCESS_GONE_S = 15
WARNING = 2
PROC = Path("/proc")  # without it (macOS) only Neovim's own word says that the server has ended
TOKEN = "GRAPHBREAK_NVIM_TOKEN"


class Shown(TypedDict):
    """A diagnostic as Neovim holds it: lines and byte columns from 0."""

    lnum: int
    col: int
    end_lnum: int
    end_col: int
    severity: int
    code: str
    source: str
    message: str


class Exit(TypedDict):
    """How the server ended, as Neovim saw it."""

    code: int
    signal: int


class Report(TypedDict, total=False):
    """What `nvim_client.lua` writes."""

    opened: list[Shown]
    hover: str
    edited: list[Shown]
    exit: Exit
    error: str


@dataclass(frozen=True)
class Session:
    """One finished run of Neovim."""

    status: int
    output: str
    report: Report
    started: dict[int, str]  # processes seen under Neovim while it ran, and their command lines
    left: dict[int, str]  # those that outlived it


@pytest.fixture
def nvim() -> str:
    """The path of Neovim; where it is missing, CI fails and a developer is told."""
    found = shutil.which("nvim")
    if found:
        return found
    if os.environ.get("CI"):
        pytest.fail("Neovim is not installed, and CI must run this test: apt-get install neovim")
    pytest.skip("NOT TESTED: Neovim is not installed (apt-get install neovim)")


def test_neovim_shows_the_break_and_follows_an_edit(nvim: str, tmp_path: Path) -> None:
    """Open, hover, add a `print`, save: exact ranges each time, and nothing is left running."""
    root = tmp_path / "workspace"
    root.mkdir()
    for example in EXAMPLES.glob("*.py"):
        shutil.copy(example, root)
    file = root / "print_middle.py"
    line, column = place(file.read_text(encoding="utf-8"), 'print("mid")')
    first_statement = place(file.read_text(encoding="utf-8"), "x = x * 2")[0]

    session = run_neovim(
        nvim,
        tmp_path,
        {
            "command": SERVER,
            "root": str(root),
            "file": str(file),
            "initialization_options": {"interpreter": sys.executable},
            "wait_ms": WAIT_FOR_DIAGNOSTICS_S * 1000,
            "opened": [line],
            "hover": {"line": line, "character": column + 2},
            "edit": {"line": first_statement, "text": " " * column + 'print("new")'},
            "edited": [first_statement, line + 1],
        },
    )

    report = session.report
    assert "error" not in report, f"{report}\n{session.output}"
    assert session.status == 0, session.output

    assert ranges(report["opened"]) == [span(line, column, 'print("mid")')]
    assert all(is_print_break(shown) for shown in report["opened"]), report["opened"]
    assert "GB0059" in report["hover"], report["hover"]
    assert "print" in report["hover"], report["hover"]

    assert 'print("new")' in file.read_text(encoding="utf-8").splitlines()[first_statement]
    assert ranges(report["edited"]) == [span(first_statement, column, 'print("new")'), span(line + 1, column, 'print("mid")')]
    assert all(is_print_break(shown) for shown in report["edited"]), report["edited"]

    assert report["exit"] == {"code": 0, "signal": 0}
    if PROC.is_dir():
        assert any("graphbreak" in command for command in session.started.values()), session.started
        assert session.left == {}


def place(text: str, wanted: str) -> tuple[int, int]:
    """Line and column, from 0, of the only occurrence of `wanted`."""
    [found] = [(number, line.index(wanted)) for number, line in enumerate(text.splitlines()) if wanted in line]
    return found


def span(line: int, column: int, text: str) -> tuple[int, int, int, int]:
    """The range that `text` takes on one line."""
    return line, column, line, column + len(text)


def ranges(diagnostics: list[Shown]) -> list[tuple[int, int, int, int]]:
    """The ranges alone, in Neovim's terms."""
    return [(shown["lnum"], shown["col"], shown["end_lnum"], shown["end_col"]) for shown in diagnostics]


def is_print_break(shown: Shown) -> bool:
    """Whether this is Graphbreak's warning about a builtin that Dynamo cannot trace."""
    return shown["severity"] == WARNING and shown["code"] == "GB0059" and shown["source"].lower() == "graphbreak" and bool(shown["message"])


def run_neovim(nvim: str, scratch: Path, job: dict[str, object]) -> Session:
    """Run `job` in a Neovim that has no configuration, and watch the processes it starts."""
    job_file, output, log = scratch / "job.json", scratch / "report.json", scratch / "nvim.log"
    job_file.write_text(json.dumps({**job, "output": str(output)}), encoding="utf-8")
    token = uuid.uuid4().hex
    homes = {f"XDG_{name}_HOME": str(scratch / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", str(CLIENT)],
            env={**os.environ, **homes, "GRAPHBREAK_NVIM_JOB": str(job_file), TOKEN: token},
            cwd=str(job["root"]),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
        )
        started = watch(process, token)
    report: Report = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {"error": "Neovim wrote no report"}
    return Session(process.returncode, everything_said(scratch), report, started, what_is_left(token))


def watch(process: subprocess.Popen[bytes], token: str) -> dict[int, str]:
    """Wait for Neovim to end, and collect the processes that ran under it; kill it when it takes too long."""
    started: dict[int, str] = {}
    deadline = time.monotonic() + WHOLE_SESSION_S
    while process.poll() is None:
        started |= running(token)
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
        time.sleep(0.1)
    started.pop(process.pid, None)
    return started


def what_is_left(token: str) -> dict[int, str]:
    """The processes of this session that are still there after a time in which all should have gone."""
    deadline = time.monotonic() + LAST_PROCESS_GONE_S
    while (left := running(token)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def running(token: str) -> dict[int, str]:
    """Live processes that inherited this session's token in their environment, and their command lines."""
    wanted = f"{TOKEN}={token}".encode()
    found: dict[int, str] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has just ended, or it belongs to someone else
            continue
    return found


def everything_said(scratch: Path) -> str:
    """Neovim's output and its language client's log, for the message of a failed test."""
    logs = [scratch / "nvim.log", *scratch.glob("*/nvim/*.log")]
    return "\n".join(f"--- {log}\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}" for log in logs if log.exists())
