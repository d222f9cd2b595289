"""Whatever an editor sends, the server answers what can be answered, says what it did not understand, and goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .raw_editor import RawEditor, framed, raw_editor

MARK = "import torch\n@torch.compile\n"
TEXT = MARK + "def f(x):\n    print(x)\n"
PARSE, INVALID, PARAMS, NO_METHOD, TOO_EARLY = -32700, -32600, -32602, -32601, -32002
HOVER = {"id": "h", "method": "textDocument/hover", "params": {}}

NO_MESSAGES: dict[str, tuple[bytes, int | None]] = {
    "no header": (b'{"jsonrpc": "2.0", "method": "x"}\r\n\r\n', PARSE),
    "no length": (b"Content-Type: x\r\n\r\n{}", PARSE),
    "a length that is none": (b"Content-Length: many\r\n\r\n{}", PARSE),
    "a negative length": (b"Content-Length: -5\r\n\r\n{}", PARSE),
    "a length of nothing": (b"Content-Length: 0\r\n\r\n", PARSE),
    "a length that is too small": (b'Content-Length: 5\r\n\r\n{"jsonrpc": "2.0", "method": "x"}', PARSE),
    "a length that is too large": (b"Content-Length: 40\r\n\r\n{}", PARSE),
    "a length of many digits": (b"Content-Length: " + b"9" * 400 + b"\r\n\r\n{}", PARSE),
    "a header without an end": (b"X" * 300_000, PARSE),
    "many empty lines": (b"\r\n" * 1000, None),
    "noise": (bytes(range(256)) * 50, PARSE),
    "not UTF-8": (framed(b'{"jsonrpc": "2.0", "method": "\xff\xfe"}'), PARSE),
    "another encoding": (framed('{"jsonrpc": "2.0", "method": "x"}'.encode("utf-16")), PARSE),
    "not JSON": (framed(b"{'jsonrpc': '2.0'}"), PARSE),
    "half of a message": (framed(b'{"jsonrpc": "2.0", "method": "x"'), PARSE),
    "no number": (framed(b'{"jsonrpc": "2.0", "id": NaN, "method": "x"}'), PARSE),
    "a number that is too long": (framed(b'{"jsonrpc": "2.0", "id": ' + b"9" * 9000 + b', "method": "x"}'), PARSE),
    "deep nesting": (framed(b"[" * 200_000), PARSE),
    "a batch": (framed([{"jsonrpc": "2.0", "method": "x"}]), None),
    "a text": (framed('"x"'), None),
    "nothing": (framed("null"), None),
    "no version": (framed({"method": "x"}), None),
    "an id that is an object": (framed({"jsonrpc": "2.0", "id": {}, "method": "x"}), None),
    "a method that is a list": (framed({"jsonrpc": "2.0", "method": ["x"]}), None),
    "an answer to nobody": (framed({"jsonrpc": "2.0", "id": 999, "result": {"jsonrpc": "2.0"}}), None),
    "an error of nobody": (framed({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}}), None),
    "an error that is none": (framed({"jsonrpc": "2.0", "id": 998, "error": 5}), None),
    "a notification that nobody knows": (framed({"jsonrpc": "2.0", "method": "x/y", "params": {}}), None),
    "no parameters": (framed({"jsonrpc": "2.0", "method": "textDocument/didOpen"}), None),
    "wrong parameters": (framed({"jsonrpc": "2.0", "method": "textDocument/didSave", "params": [1]}), None),
    "a document that is none": (framed({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 5}}), None),
    "other spelling": (b"content-length:2\n\n{}", None),
}  # fmt: skip

REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "an old version": ({"jsonrpc": "1.0", **HOVER}, INVALID),
    "no version": (HOVER, INVALID),
    "no parameters": ({"jsonrpc": "2.0", **HOVER}, PARAMS),
    "parameters of another kind": ({"jsonrpc": "2.0", **HOVER, "params": 5}, PARAMS),
    "a negative position": (
        {"jsonrpc": "2.0", **HOVER, "params": {"textDocument": {"uri": "file:///a.py"}, "position": {"line": -1, "character": 0}}}, PARAMS
    ),
    "a method that nobody knows": ({"jsonrpc": "2.0", "id": "h", "method": "x/y", "params": {}}, NO_METHOD),
    "a command that nobody knows": ({"jsonrpc": "2.0", **HOVER, "method": "workspace/executeCommand", "params": {"command": "x"}}, PARAMS),
    "a second beginning": (
        {"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}, INVALID
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawEditor]:
    """One server for all of them: each finds it as the one before has left it."""
    with raw_editor(folder=tmp_path_factory.mktemp("workspace")) as editor:
        editor.begin()
        yield editor
        assert editor.end() == 0


def assert_answers(editor: RawEditor) -> None:
    assert editor.hover(Path("/nowhere.py")) == {"jsonrpc": "2.0", "id": editor._numbers, "result": None}


@pytest.mark.parametrize("name", NO_MESSAGES)
def test_what_is_no_message_ends_nothing(server: RawEditor, name: str) -> None:
    data, code = NO_MESSAGES[name]
    before = len(server.errors)
    server.raw(data)
    if name == "a length that is too large":  # it takes what follows for its own
        server.raw(framed({"jsonrpc": "2.0", "method": "x"}))
    assert_answers(server)
    assert {error["code"] for error in server.errors[before:]} == ({code} if code is not None else set())


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_cannot_be_answered_is_refused(server: RawEditor, name: str) -> None:
    message, code = REFUSED[name]
    server.answers.pop("h", None)
    server.raw(framed(message))
    assert server.answer("h")["error"]["code"] == code
    assert_answers(server)


def test_what_was_not_understood_is_in_the_log_of_the_editor(server: RawEditor) -> None:
    server.raw(framed("no JSON at all"))
    server.wait(lambda: any("Not understood: a message is not JSON in UTF-8" in line for line in server.log))


def test_a_message_that_is_too_long_is_passed_over(server: RawEditor) -> None:
    length = 65 * 1024 * 1024
    before = server.memory()
    server.raw(b"Content-Length: %d\r\n\r\n" % length)
    for _ in range(65):
        server.raw(b"x" * (1024 * 1024))
    assert_answers(server)
    assert any(f"a message of {length} bytes" in line for line in server.log)
    assert server.memory() - before < 32 * 1024 * 1024


def test_before_the_beginning_and_after_the_end_there_are_only_refusals(tmp_path: Path) -> None:
    with raw_editor() as editor:
        assert editor.hover(tmp_path / "a.py")["error"]["code"] == TOO_EARLY
        editor.open(tmp_path / "a.py", TEXT)
        editor.begin()
        assert editor.hover(tmp_path / "a.py", 3, 5)["result"] is None
        editor.ask("shutdown")
        assert editor.hover(tmp_path / "a.py")["error"]["code"] == INVALID
        assert editor.ask("shutdown")["error"]["code"] == INVALID
        editor.send({"method": "exit"})
        assert editor.process.wait(10) == 0


def test_an_exit_without_a_beginning_is_one(tmp_path: Path) -> None:
    with raw_editor() as editor:
        editor.send({"method": "exit"})
        assert editor.process.wait(10) == 1


def at(line: int, character: int, end_line: int, end_character: int, text: str) -> dict[str, Any]:
    """A change of a range."""
    start, end = {"line": line, "character": character}, {"line": end_line, "character": end_character}
    return {"range": {"start": start, "end": end}, "text": text}


NOT_UNDERSTOOD: dict[str, dict[str, Any]] = {
    "a negative line": {"contentChanges": [at(-1, 0, 0, 0, "x")]},
    "a negative column": {"contentChanges": [at(0, -7, 0, 0, "x")]},
    "a line beyond every number": {"contentChanges": [at(0, 0, 1 << 40, 0, "x")]},
    "no changes": {},
    "a version that is none": {"version": "two", "contentChanges": [at(0, 0, 0, 0, "x")]},
    "a change without a text": {"contentChanges": [{"range": at(0, 0, 0, 0, "")["range"]}]},
}


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_after_a_change_that_was_not_understood_nothing_is_shown_until_the_text_is_known_again(
    server: RawEditor, tmp_path: Path, name: str
) -> None:
    path, wrong = tmp_path / "a.py", dict(NOT_UNDERSTOOD[name])
    server.open(path, TEXT)
    server.shows(path, "3:4-3:12")
    server.notify("textDocument/didChange", textDocument={"uri": path.as_uri(), "version": wrong.pop("version", 2)}, **wrong)
    server.shows(path)
    server.change(path, 3, at(0, 0, 0, 0, "import os\n"))
    assert server.hover(path, 4, 5)["result"] is None
    path.write_text("# saved\n" + TEXT)
    server.save(path)
    server.shows(path, "4:4-4:12")
    assert "version" not in server.published[path.as_uri()]
    server.change(path, 4, at(0, 0, 0, 0, "\n"))
    server.shows(path, "5:4-5:12")


def test_a_whole_text_is_known_again_as_well(server: RawEditor, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    server.open(path, TEXT)
    server.shows(path, "3:4-3:12")
    server.raw(framed("something"))
    server.shows(path)
    server.change(path, 5, at(0, 0, 0, 0, "lost"), {"text": TEXT}, at(0, 0, 0, 0, "\n\n"))
    server.shows(path, "5:4-5:12")
    assert server.published[path.as_uri()]["version"] == 5


def test_changes_of_what_is_not_open_are_let_be(server: RawEditor, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    server.change(path, 1, at(0, 0, 0, 0, "x"))
    server.save(path)
    server.notify("textDocument/didClose", textDocument={"uri": path.as_uri()})
    server.open(path, TEXT)
    server.shows(path, "3:4-3:12")
    server.notify("textDocument/didClose", textDocument={"uri": path.as_uri()})
    server.notify("textDocument/didClose", textDocument={"uri": path.as_uri()})
    server.change(path, 2, {"text": TEXT + "\n\n"})
    server.save(path)
    assert server.hover(path, 3, 5)["result"] is None
    server.shows(path)


ODD = {
    "beyond the last line": (at(99, 5, 200, 7, "# end"), TEXT + "# end"),
    "beyond the line": (at(3, 50, 3, 60, "  # end"), TEXT[:-1] + "  # end\n"),
    "the wrong way round": (at(3, 4, 0, 0, ""), "    print(x)\n".lstrip()),
    "in the middle of a character": (at(2, 2, 2, 2, "x"), None),
    "half of a character": (at(2, 0, 2, 0, "\ud83d"), None),
    "a NUL": (at(2, 0, 2, 0, "\0"), None),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_odd_ranges_and_texts_are_taken_for_something_and_nothing_is_lost(tmp_path: Path, encoding: str) -> None:
    with raw_editor(folder=tmp_path) as editor:
        assert editor.begin(encodings=[encoding])["capabilities"]["positionEncoding"] == encoding
        for number, (name, (change, _)) in enumerate(ODD.items()):
            path = tmp_path / f"odd{number}.py"
            text = TEXT.replace("def", "# 😀é€\ndef")
            editor.open(path, text)
            editor.shows(path, "4:4-4:12")
            editor.change(path, 2, change)
            editor.save(path)
            assert "error" not in editor.hover(path, 4, 5), name
            editor.change(path, 3, {"text": TEXT})
            editor.save(path)
            editor.shows(path, "3:4-3:12")
        assert editor.end() == 0


@pytest.mark.parametrize("name", ["beyond the last line", "beyond the line", "the wrong way round"])
def test_ranges_outside_the_text_are_taken_for_the_nearest_inside(server: RawEditor, tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.py"
    change, after = ODD[name]
    server.open(path, TEXT)
    server.change(path, 2, change)
    server.change(path, 3, at(0, 0, 0, 0, MARK))
    shown = (MARK + str(after)).split("print")[0]
    line, column = shown.count("\n"), len(shown.rpartition("\n")[2])
    server.shows(path, f"{line}:{column}-{line}:{column + 8}")


def test_older_and_equal_versions_are_followed_as_they_come(server: RawEditor, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    server.open(path, TEXT, version=10)
    for version in (9, 9, -4, 0):
        server.change(path, version, at(0, 0, 0, 0, "\n"))
    server.shows(path, "7:4-7:12")
    assert server.published[path.as_uri()]["version"] == 0
    server.open(path, TEXT, version=3)  # a second time, without a close
    server.shows(path, "3:4-3:12")


def test_no_answer_depends_on_what_a_text_is_made_of(server: RawEditor, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    server.open(path, TEXT + json.dumps({"jsonrpc": "2.0"}) + "Content-Length: 5\r\n\r\n{}")
    server.shows(path, "3:4-3:12")
    server.notify("workspace/didChangeConfiguration", settings={"graphbreak": {"jsonrpc": "2.0", "id": 4}})
    assert_answers(server)
