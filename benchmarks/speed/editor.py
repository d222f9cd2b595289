"""An editor without a screen: the real server over stdio, every message with the time at which it arrived."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PAUSE = 0.6
"""Seconds between two saves, in which whatever is made ready for the next one can be."""

Message = dict[str, Any]
Position = dict[str, int]


class TookTooLong(Exception):
    """Something that was waited for did not come."""


class Editor:
    """One server with one workspace folder. What it stores goes to a folder of its own."""

    def __init__(self, folder: Path, store: Path, options: Mapping[str, object] | None = None) -> None:
        self.folder = folder
        self.messages: list[tuple[float, Message]] = []
        self.latest: dict[str, list[Message]] = {}
        """The diagnostics that each file shows, by its URI."""
        self._news = threading.Condition()
        self._answers: dict[int, float] = {}
        self._number = 0
        self._versions: dict[str, int] = {}
        self.began = self.saved_at = time.perf_counter()
        self._server = subprocess.Popen(
            [sys.executable, "-m", "graphbreak", "server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(store),
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self._initialize({"interpreter": sys.executable, **(options or {})})

    def _initialize(self, options: Mapping[str, object]) -> None:
        capabilities = {
            "window": {"workDoneProgress": True},
            "workspace": {"codeLens": {"refreshSupport": True}},
            "textDocument": {"publishDiagnostics": {"relatedInformation": True, "versionSupport": True}},
            "experimental": {"graphbreakStatus": True},
        }
        folder = {"uri": self.folder.as_uri(), "name": "workspace"}
        params = {
            "processId": os.getpid(),
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": capabilities,
            "initializationOptions": options,
        }
        self.ask("initialize", params)
        self.tell("initialized", {})

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._server.pid

    def tell(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def begin(self, method: str, params: object) -> int:
        """Send a request, for `answer`."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, number: int, timeout: float = 60.0) -> Any:
        """The answer to a request."""
        message, _ = self.wait(lambda message: message.get("id") == number and "method" not in message, timeout=timeout)
        if "error" in message:
            raise RuntimeError(str(message["error"]))
        return message.get("result")

    def ask(self, method: str, params: object, timeout: float = 60.0) -> Any:
        """Send a request and wait for its answer."""
        return self.answer(self.begin(method, params), timeout)

    def timed(self, method: str, params: object) -> float:
        """The seconds until a request is answered."""
        begin = time.perf_counter()
        number = self.begin(method, params)
        _, arrived = self.wait(lambda message: message.get("id") == number and "method" not in message)
        return arrived - begin

    def wait(self, wanted: Callable[[Message], bool], since: float = 0.0, timeout: float = 60.0) -> tuple[Message, float]:
        """The first message of a kind that arrived since a time, with its own. Raises TookTooLong."""
        end, index = time.perf_counter() + timeout, 0
        with self._news:
            while True:
                for arrived, message in self.messages[index:]:
                    if arrived >= since and wanted(message):
                        return message, arrived
                index = len(self.messages)
                left = end - time.perf_counter()
                if left <= 0 or not self._news.wait(left):
                    raise TookTooLong(f"the server did not answer within {timeout:.0f} s")

    def open(self, path: Path, text: str | None = None) -> None:
        """Open a file with a text, which is written first where it is given."""
        if text is not None:
            path.write_text(text, encoding="utf-8")
        self._versions[path.as_uri()] = 1
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text(encoding="utf-8")}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def change(self, path: Path, line: int, start: int, end: int, text: str) -> None:
        """Replace a part of a line."""
        uri = path.as_uri()
        self._versions[uri] += 1
        change = {"range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}, "text": text}
        self.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": self._versions[uri]}, "contentChanges": [change]})

    def replace_all(self, path: Path, text: str) -> None:
        """Put a text in the place of the whole document's, on disk too, without saving it in the editor."""
        uri = path.as_uri()
        self._versions[uri] += 1
        self.tell(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": self._versions[uri]}, "contentChanges": [{"text": text}]}
        )
        path.write_text(text, encoding="utf-8")

    def save(self, path: Path, text: str, line: int, timeout: float = 120.0) -> tuple[float, list[Message]]:
        """Put a line of a text in the place of the document's, save: the seconds until its trace has ended."""
        before, after = path.read_text(encoding="utf-8").split("\n"), text.split("\n")
        if before[:line] + before[line + 1 :] != after[:line] + after[line + 1 :]:
            raise ValueError(f"{path.name}: another line than {line} is to be saved")
        self.change(path, line, 0, len(before[line]), after[line])
        path.write_text(text, encoding="utf-8")
        time.sleep(0.05)
        self.saved_at = begin = time.perf_counter()
        self.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        return self.traced(path, begin, timeout)

    def traced(self, path: Path, begin: float, timeout: float = 120.0) -> tuple[float, list[Message]]:
        """The seconds from a time until the trace begun then has ended, and the diagnostics that are shown then.

        The end is told right behind the last publication, which is left out where it would say nothing new.
        """
        message, arrived = self.wait(
            lambda one: (
                one.get("method") == "graphbreak/status" and one["params"]["uri"] == path.as_uri() and one["params"]["state"] != "tracing"
            ),
            begin,
            timeout,
        )
        if message["params"]["state"] == "failed":
            raise RuntimeError(message["params"]["message"])
        return arrived - begin, list(self.latest.get(path.as_uri(), []))

    def published(self, path: Path) -> list[tuple[float, Message]]:
        """All publications for a file so far, each with its time."""
        with self._news:
            found = list(self.messages)
        return [
            (at, one)
            for at, one in found
            if one.get("method") == "textDocument/publishDiagnostics" and one["params"]["uri"] == path.as_uri()
        ]

    def rest(self, pause: float = PAUSE) -> None:
        """Wait until no fixes are tried any more, and for a moment longer; what arrived is forgotten."""
        end = time.perf_counter() + 60
        time.sleep(0.1)
        while self._is_trying() and time.perf_counter() < end:
            time.sleep(0.05)
        time.sleep(pause)
        with self._news:
            self.messages.clear()

    def _is_trying(self) -> bool:
        with self._news:
            told = [one["params"]["trying"] for _, one in self.messages if one.get("method") == "graphbreak/trying"]
        return bool(told) and bool(told[-1])

    def close(self) -> None:
        """End the server, in an orderly way if it can, and all that it started."""
        try:
            self.ask("shutdown", None, timeout=15)
            self.tell("exit", None)
            self._server.wait(10)
        except (TookTooLong, OSError, RuntimeError, subprocess.TimeoutExpired):
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, message: Message) -> None:
        assert self._server.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _read(self) -> None:
        stream = self._server.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
                header = stream.readline()
            message = json.loads(stream.read(length))
            arrived = time.perf_counter()
            if "method" in message and "id" in message:  # nothing is set here, and every bar may be shown
                self._send({"id": message["id"], "result": None})
            if message.get("method") == "textDocument/publishDiagnostics":
                self.latest[message["params"]["uri"]] = message["params"]["diagnostics"]
            with self._news:
                self.messages.append((arrived, message))
                self._news.notify_all()


def environment(store: Path) -> dict[str, str]:
    """The variables of a process whose stored results are in a folder of their own."""
    own = {f"XDG_{name}_HOME": str(store / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    return {**os.environ, **own, "PYTHONPATH": str(ROOT / "server")}
