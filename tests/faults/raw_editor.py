"""An editor that sends bytes: messages that are right, wrong, or none, to a server process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parent.parent.parent / "server"
TESTS = SERVER.parent / "tests"
FAKE = (str(TESTS / "lsp" / "fake_server.py"),)
REAL = ("-m", "graphbreak", "server")
SECONDS = 30.0


def framed(message: object) -> bytes:
    """A message as it crosses the pipe; bytes and texts are its body as they are."""
    body = message if isinstance(message, bytes) else message.encode() if isinstance(message, str) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class RawEditor:
    """One server and what it says. It is to be closed. `reads` false lets what it says pile up in the pipe."""

    def __init__(self, command: Sequence[str] = FAKE, *, reads: bool = True, folder: Path | None = None, **variables: str) -> None:
        self.token = f"GRAPHBREAK_TEST={uuid.uuid4().hex}"
        name, _, value = self.token.partition("=")
        path = os.pathsep.join([str(SERVER), str(TESTS), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, name: value, "PYTHONPATH": path, **variables}
        self.process = subprocess.Popen(
            [sys.executable, *command], env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.said: queue.Queue[dict[str, Any]] = queue.Queue()
        self.says: dict[str, Any] = {}
        """What it answers to requests of the server, by their method; nothing to the others."""
        self.asked: list[dict[str, Any]] = []
        self.log: list[str] = []
        self.errors: list[dict[str, Any]] = []
        """Errors that are about no request."""
        self.published: dict[str, dict[str, Any]] = {}
        self.lists = 0
        """How often diagnostics were published."""
        self.answers: dict[object, dict[str, Any]] = {}
        self.folder = folder
        self._listeners: dict[str, Callable[[dict[str, Any]], object]] = {}
        self._numbers = 0
        self._news = threading.Condition()
        if reads:
            self.read()

    def read(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            message = json.loads(stream.read(length))
            with self._news:
                self._take(message)
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method in self._listeners:
            self._listeners[method](params)
        if method == "window/logMessage":
            self.log.append(params["message"])
        elif method == "textDocument/publishDiagnostics":
            self.lists += 1
            self.published[params["uri"]] = params
        elif method is not None and "id" in message:
            self.asked.append(params)
            self.send({"id": message["id"], "result": self.says.get(str(method))})
        elif method is None and message.get("id") is None:
            self.errors.append(message["error"])
        elif method is None:
            self.answers[message["id"]] = message

    def listen(self, method: str, told: Callable[[dict[str, Any]], object]) -> None:
        """Have something done with each notification of a method."""
        self._listeners[method] = told

    def raw(self, data: bytes) -> None:
        """Send these bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message of version 2.0."""
        self.raw(framed({"jsonrpc": "2.0", **message}))

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def request(self, method: str, **params: Any) -> int:
        """Send a request: its number."""
        self._numbers += 1
        self.send({"id": self._numbers, "method": method, "params": params})
        return self._numbers

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to a request, with its `result` or its `error`."""
        return self.answer(self.request(method, **params))

    def answer(self, number: object) -> Any:
        """The answer to the request with this number."""
        self.wait(lambda: number in self.answers, f"no answer to {number}")
        return self.answers[number]

    def wait(self, condition: Callable[[], bool], otherwise: str = "it did not happen", seconds: float = SECONDS) -> None:
        """Wait until something that the server says comes about."""
        end = time.monotonic() + seconds
        with self._news:
            while not condition():
                assert time.monotonic() < end, f"{otherwise}; log: {self.log[-5:]}; ended: {self.process.poll()}"
                self._news.wait(0.1)

    def begin(self, *, process_id: int | None = None, encodings: Sequence[str] = ("utf-16",), **options: Any) -> Any:
        """Say hello."""
        folders = [] if self.folder is None else [{"uri": self.folder.as_uri(), "name": "workspace"}]
        capabilities = {"general": {"positionEncodings": list(encodings)}}
        answer = self.ask(
            "initialize",
            processId=process_id,
            rootUri=None,
            workspaceFolders=folders,
            capabilities=capabilities,
            initializationOptions=options,
        )
        self.notify("initialized")
        return answer["result"]

    def open(self, path: Path, text: str, version: int = 1) -> None:
        """Open a document."""
        self.notify("textDocument/didOpen", textDocument={"uri": path.as_uri(), "languageId": "python", "version": version, "text": text})

    def change(self, path: Path, version: Any, *changes: dict[str, Any]) -> None:
        """Change a document."""
        self.notify("textDocument/didChange", textDocument={"uri": path.as_uri(), "version": version}, contentChanges=list(changes))

    def save(self, path: Path) -> None:
        """Say that a document was saved."""
        self.notify("textDocument/didSave", textDocument={"uri": path.as_uri()})

    def hover(self, path: Path, line: int = 0, character: int = 0) -> Any:
        """The answer to a hover."""
        return self.ask("textDocument/hover", textDocument={"uri": path.as_uri()}, position={"line": line, "character": character})

    def shows(self, path: Path, *ranges: str) -> None:
        """Wait until a file shows exactly these ranges, `line:start-line:end`."""
        self.wait(lambda: self.ranges(path) == list(ranges), f"{self.ranges(path)} is not {list(ranges)}")

    def ranges(self, path: Path) -> list[str]:
        """What a file shows."""
        found = self.published.get(path.as_uri(), {"diagnostics": []})["diagnostics"]
        return ["{start[line]}:{start[character]}-{end[line]}:{end[character]}".format(**one["range"]) for one in found]

    def memory(self) -> int:
        """The resident memory of the server, in bytes."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def processes(self) -> list[int]:
        """The server and all that it has started and that runs now."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.token.encode() in (folder / "environ").read_bytes() and b"\nState:\tZ" not in (folder / "status").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def end(self) -> int:
        """Say goodbye: the server's exit status."""
        self.ask("shutdown")
        self.send({"method": "exit"})
        return self.process.wait(SECONDS)

    def close(self) -> None:
        """End it if it has not ended."""
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError, ValueError):
                assert stream is not None
                stream.close()


@contextlib.contextmanager
def raw_editor(command: Sequence[str] = FAKE, **settings: Any) -> Iterator[RawEditor]:
    """An editor that is closed in the end."""
    editor = RawEditor(command, **settings)
    try:
        yield editor
    finally:
        editor.close()
