"""The product in an environment of its own, without torch: command line and server trace with another interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from graphbreak import __version__
from harness import INTERPRETER, PRINT

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`graphbreak` as a user installs it, in a fresh environment."""
    folder = tmp_path_factory.mktemp("no-torch") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
    subprocess.run(pip, check=True, timeout=300, env=plain_environment())
    return folder / "bin" / "graphbreak"


def plain_environment() -> dict[str, str]:
    """The environment without what points to the one that runs the tests."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX")}


def run(command: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=plain_environment()
    )


def test_torch_is_not_there(command: Path, tmp_path: Path) -> None:
    ended = run(command.with_name("python"), "-c", "import graphbreak, torch", folder=tmp_path)
    assert ended.returncode == 1
    assert "No module named 'torch'" in ended.stderr


def test_the_installed_command_runs(command: Path, tmp_path: Path) -> None:
    assert run(command, "--version", folder=tmp_path).stdout == f"graphbreak {__version__}\n"


def test_check_traces_with_another_interpreter(command: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PRINT)
    ended = run(command, "check", "main.py", "--format", "json", "--python", INTERPRETER, folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "")
    result = json.loads(ended.stdout)
    assert [(found["kind"], found["code"], found["range"]["start"]) for found in result["diagnostics"]] == [
        ("break", "GB0059", {"line": 7, "column": 5})
    ]
    assert result["functions"][0]["graphs"] == 2


class Client:
    """The least that a language client has to do: messages with a length, and answers by their numbers."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._out: IO[bytes] = process.stdin
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, stream: IO[bytes]) -> None:
        while header := stream.readline():
            length = int(header.partition(b":")[2])
            while stream.readline().strip():
                pass
            self._messages.put(json.loads(stream.read(length)))

    def send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._out.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._out.flush()

    def wait(self, **wanted: Any) -> dict[str, Any]:
        """The next message that has all of `wanted`. Requests of the server are answered with nothing meanwhile."""
        while True:
            message = self._messages.get(timeout=90)
            if wanted.items() <= message.items():
                return message
            if "id" in message and "method" in message:
                items = message.get("params") or {}
                self.send(id=message["id"], result=[None] * len(items["items"]) if "items" in items else None)


@contextlib.contextmanager
def connected(command: Path, folder: Path) -> Iterator[tuple[Client, subprocess.Popen[bytes]]]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([command, "server"], cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=plain_environment())
    try:
        yield Client(process), process
    finally:
        process.kill()
        process.wait(10)


def test_the_server_publishes_what_another_interpreter_shows(command: Path, tmp_path: Path) -> None:
    path = tmp_path / "main.py"
    path.write_text(PRINT)
    with connected(command, tmp_path) as (client, process):
        options = {"interpreter": INTERPRETER}
        folders = [{"uri": tmp_path.as_uri(), "name": "work"}]
        client.send(
            id=1,
            method="initialize",
            params={"processId": os.getpid(), "capabilities": {}, "workspaceFolders": folders, "rootUri": tmp_path.as_uri(),
                    "initializationOptions": options},
        )  # fmt: skip
        assert client.wait(id=1)["result"]["serverInfo"]["name"] == "graphbreak"
        client.send(method="initialized", params={})
        document = {"uri": path.as_uri(), "languageId": "python", "version": 7, "text": PRINT}
        client.send(method="textDocument/didOpen", params={"textDocument": document})
        while not (published := client.wait(method="textDocument/publishDiagnostics")["params"])["diagnostics"]:
            pass
        assert published["uri"] == path.as_uri()
        (found,) = published["diagnostics"]
        assert found["code"] == "GB0059"
        assert found["range"] == {"start": {"line": 6, "character": 4}, "end": {"line": 6, "character": 16}}
        client.send(id=2, method="shutdown")
        client.wait(id=2)
        client.send(method="exit")
        assert process.wait(20) == 0
