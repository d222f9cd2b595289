"""The server as a process: it says who it is, keeps its pipe clean, and ends in every way an editor can end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client

from graphbreak.lsp import editor as editor_watch

FAKE_SERVER = Path(__file__).with_name("fake_server.py")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")


@pytest.fixture
def closed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Written by the engine of the server process when it is closed."""
    monkeypatch.setenv("CLOSED_FILE", str(tmp_path / "closed"))
    monkeypatch.setenv("NOISE", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    return tmp_path / "closed"


@pytest_asyncio.fixture
async def client(closed_file: Path) -> AsyncIterator[LanguageClient]:
    """A client with a server process of its own."""
    client = make_test_lsp_client()
    await client.start_io(sys.executable, str(FAKE_SERVER))
    yield client
    assert client._server is not None
    if client._server.returncode is None:
        client._server.kill()
    await client._server.wait()


async def _ended(client: LanguageClient, seconds: float = 5.0) -> int:
    assert client._server is not None
    return await asyncio.wait_for(client._server.wait(), seconds)


async def test_shutdown_and_exit_end_it_in_order(client: LanguageClient, closed_file: Path) -> None:
    answer = await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities()))
    assert answer.server_info is not None
    assert answer.server_info.name == "graphbreak"
    assert answer.capabilities.hover_provider
    assert answer.capabilities.code_action_provider
    await client.shutdown_async(None)
    assert closed_file.exists()
    client.exit(None)
    assert await _ended(client) == 0


async def test_it_ends_with_its_input(client: LanguageClient, closed_file: Path) -> None:
    await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities()))
    assert client._server is not None
    assert client._server.stdin is not None
    client._server.stdin.close()
    assert await _ended(client) == 1
    assert closed_file.exists()


@POSIX
async def test_it_ends_on_a_signal(client: LanguageClient, closed_file: Path) -> None:
    await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities()))
    assert client._server is not None
    client._server.send_signal(signal.SIGTERM)
    assert await _ended(client) == 1
    assert closed_file.exists()


async def test_it_ends_when_the_process_of_its_editor_does_though_the_pipe_stays_open(client: LanguageClient, closed_file: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities(), process_id=process.pid))
    process.kill()
    process.wait()
    await _ended(client, 2 * editor_watch.POLL + 2)
    assert closed_file.exists()


@POSIX
def test_it_ends_when_the_program_that_started_it_is_killed(closed_file: Path) -> None:
    server = f"subprocess.Popen([sys.executable, {str(FAKE_SERVER)!r}], stdin=subprocess.PIPE)"
    start = f"import subprocess, sys; server = {server}; print(server.pid, flush=True); server.wait()"
    parent = subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    end = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert closed_file.exists()


def _runs(pid: int) -> bool:
    """Whether it still does something: where nobody waits for orphans, the ended process itself stays as a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    zombie = stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
    return editor_watch.is_alive(pid) and not zombie


def test_a_process_is_known_to_be_there_or_not() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert editor_watch.is_alive(os.getpid())
    assert not editor_watch.is_alive(process.pid)
