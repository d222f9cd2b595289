"""More than an editor would send, and one that does not listen: the server stays small, answers, and ends with it."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from .raw_editor import RawEditor, framed, raw_editor

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
MARK = "import torch\n@torch.compile\n"
TEXT = MARK + "def f(x):\n    print(x)\n"
MIB = 1 << 20
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def typed(path: Path, version: int, text: str, line: int = 0, character: int = 0) -> dict[str, Any]:
    """Something is typed."""
    place = {"line": line, "character": character}
    changes = [{"range": {"start": place, "end": place}, "text": text}]
    params = {"textDocument": {"uri": path.as_uri(), "version": version}, "contentChanges": changes}
    return {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}


@LINUX
def test_a_flood_of_changes_is_followed_to_the_letter_and_costs_no_memory(tmp_path: Path) -> None:
    path, rounds = tmp_path / "a.py", 10 if LONG else 2
    with raw_editor(folder=tmp_path) as editor:
        editor.begin(run="onType")
        editor.open(path, TEXT)
        editor.shows(path, "3:4-3:12")
        version, sizes = 1, []
        for _ in range(rounds):
            begun = time.monotonic()
            for number in range(1000):
                version += 1
                text = "# x\n" if number % 2 == 0 else ""
                change = typed(path, version, text)
                if not text:
                    change["params"]["contentChanges"][0]["range"]["end"] = {"line": 1, "character": 0}
                editor.raw(framed(change))
            assert editor.hover(path, 3, 5)["result"]["range"]["start"] == {"line": 3, "character": 4}
            time.sleep(max(0.0, begun + 1 - time.monotonic()))
            sizes.append(editor.memory())
        editor.change(path, version + 1, {"range": typed(path, 0, "")["params"]["contentChanges"][0]["range"], "text": "\n\n"})
        editor.shows(path, "5:4-5:12")
        assert sizes[-1] - sizes[0] < (rounds - 1) * MIB / 4, [size / MIB for size in sizes]
        assert editor.end() == 0


@LINUX
def test_a_storm_of_cancellations_ends_nothing_but_what_it_names(tmp_path: Path) -> None:
    path, many = tmp_path / "a.py", 20_000 if LONG else 1_000
    with raw_editor(folder=tmp_path) as editor:
        editor.begin()
        editor.open(path, TEXT)
        editor.shows(path, "3:4-3:12")
        done = editor.request("textDocument/hover", textDocument={"uri": path.as_uri()}, position={"line": 3, "character": 5})
        editor.answer(done)
        before = editor.memory()
        for number in range(many):
            for target in (done, number + 1_000_000, f"unknown {number}", None):
                editor.raw(framed({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": target}}))
            hover = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 3, "character": 5}}
            running = editor.request("textDocument/hover", **hover)
            editor.raw(framed({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": running}}))
        last = editor.answer(editor._numbers)
        assert "result" in last or last["error"]["code"] == -32800
        editor.wait(lambda: len(editor.answers) >= many + 1)
        editor.answers.clear()
        assert editor.hover(path, 3, 5)["result"] is not None
        assert editor.memory() - before < 16 * MIB
        assert editor.end() == 0


def test_a_request_that_waits_for_something_is_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with raw_editor(folder=tmp_path) as editor:
        editor.begin()
        editor.open(path, "SLOW = 1\n" + TEXT)
        number = editor.request("graphbreak/explain", textDocument={"uri": path.as_uri()}, function="f", details=[])
        editor.notify("$/cancelRequest", id=number)
        assert editor.answer(number)["error"]["code"] == -32800
        editor.notify("$/cancelRequest", id=number)
        assert "error" not in editor.hover(path)


def waiting(editor: RawEditor) -> int:
    """How many bytes the server has said that were not read."""
    assert editor.process.stdout is not None
    count = fcntl.ioctl(editor.process.stdout.fileno(), termios.FIONREAD, bytes(4))
    return int.from_bytes(count, sys.byteorder)


def stuff(editor: RawEditor, path: Path, most: int) -> int:
    """Ask until the server takes no more: how many bytes it took, `most` at most."""
    assert editor.process.stdin is not None
    descriptor = editor.process.stdin.fileno()
    os.set_blocking(descriptor, False)
    params = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 3, "character": 5}}
    data = b"".join(framed({"jsonrpc": "2.0", "id": n, "method": "textDocument/hover", "params": params}) for n in range(10, 400))
    taken, quiet, rest = 0, 0, b""
    while taken < most and quiet < 60:
        rest = rest or data
        try:
            count = os.write(descriptor, rest)
        except BlockingIOError:
            count, quiet = 0, quiet + 1
            time.sleep(0.05)
        else:
            quiet = 0
        taken, rest = taken + count, rest[count:]
    os.set_blocking(descriptor, True)
    return taken


ENDS = ["its pipes", "its process", "what it reads", "what it writes"]


@LINUX
@pytest.mark.parametrize("end", ENDS if LONG else ENDS[:2])
def test_an_editor_that_never_reads_costs_little_and_takes_the_server_with_it(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.py"
    with raw_editor(reads=False, folder=tmp_path, CLOSED_FILE=str(tmp_path / "closed")) as editor, raw_editor(("-c", "input()")) as other:
        editor.request(
            "initialize",
            processId=other.process.pid if end == "its process" else None,
            rootUri=None,
            capabilities={},
            workspaceFolders=None,
        )
        editor.wait(lambda: waiting(editor) > 0)
        editor.notify("initialized")
        editor.open(path, TEXT)
        before = editor.memory()
        taken = stuff(editor, path, 200 * MIB)
        assert taken < 200 * MIB, "it takes whatever it is sent"
        assert editor.memory() - before < 96 * MIB
        assert editor.process.poll() is None
        assert editor.process.stdin is not None
        assert editor.process.stdout is not None
        if end in ("its pipes", "what it reads"):
            editor.process.stdout.close()
        if end in ("its pipes", "what it writes"):
            editor.process.stdin.close()
        if end == "its process":
            other.close()
        assert editor.process.wait(60) == 1
        assert (tmp_path / "closed").exists()


@LINUX
def test_an_editor_that_reads_late_gets_every_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with raw_editor(reads=False, folder=tmp_path) as editor:
        editor.request("initialize", processId=None, rootUri=None, capabilities={}, workspaceFolders=None)
        editor.notify("initialized")
        editor.open(path, TEXT)
        for _ in range(2000):
            editor.request("textDocument/hover", textDocument={"uri": path.as_uri()}, position={"line": 3, "character": 5})
        editor.read()
        editor.wait(lambda: set(range(1, 2002)) <= set(editor.answers))
        editor.shows(path, "3:4-3:12")
        assert editor.end() == 0


def test_a_log_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with raw_editor(folder=tmp_path) as editor:  # its stderr is a pipe that nobody reads
        editor.begin()
        for number in range(1000):
            editor.send({"id": f"x{number}", "method": "x/y", "params": {}})
            editor.notify("$/cancelRequest", id=f"nobody's {number}")
        assert editor.answer("x999")["error"]["code"] == -32601
        assert "result" in editor.hover(path)
        assert editor.end() == 0
