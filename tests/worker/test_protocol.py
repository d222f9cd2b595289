"""Every message survives the pipe, and nothing else gets through it."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import sys
import threading
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.core.tracing import Finished
from graphbreak.tracer.connection import heard, read_run, version_problem
from graphbreak.worker import protocol
from graphbreak.worker.protocol import CallSeen, Hello, Job, Message, ProtocolError
from graphbreak.worker.protocol_values import FURTHEST, MAX_MESSAGE, MAX_VALUES

TEXTS = st.text(max_size=6)
NUMBERS = st.integers(-(2**53), 2**53)
PLACES = st.integers(1, FURTHEST)


def values_of(hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    """Values of the types that the messages use. `from_type` would make numbers that JSON cannot hold."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is str:
        return TEXTS
    if hint is int:
        return NUMBERS
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if hint is bool:
        return st.booleans()
    if hint is type(None):
        return st.none()
    if origin is typing.Union:
        return st.one_of([values_of(argument) for argument in args])
    if origin is list:
        return st.lists(values_of(args[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(values_of(args[0]), values_of(args[1]), max_size=3)
    return messages_of(hint)


@functools.cache
def messages_of(cls: type) -> st.SearchStrategy[typing.Any]:
    """A job can hold another one, so what it is made of is asked for only when it is made."""
    return st.deferred(lambda: st.builds(cls, **{name: field_of(cls, name, hint) for name, hint in typing.get_type_hints(cls).items()}))


def field_of(cls: type, name: str, hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    """Values of one field: what says where something is has bounds of its own."""
    places = {"lines": 1, "ops": 2} if cls in (protocol.FrameCompiled, protocol.GraphSeen) else {}
    if name in places and typing.get_origin(hint) is list:
        return st.lists(st.tuples(*[TEXTS] * places[name], PLACES).map(list), max_size=3)
    if name in ("line", "first_line", "last_line"):
        return PLACES
    if name in ("column", "end_column", "end_line"):
        return PLACES if hint is int else st.one_of(st.none(), PLACES)
    return values_of(hint)


MESSAGES = st.one_of([messages_of(cls) for cls in typing.get_args(Message)])


def body(data: bytes) -> bytes:
    return data[protocol.HEADER.size :]


@given(MESSAGES)
def test_every_message_comes_back_as_it_was(message: Message) -> None:
    data = protocol.pack(message)
    assert protocol.HEADER.unpack(data[: protocol.HEADER.size]) == (len(body(data)),)
    assert protocol.unpack(body(data)) == message


def test_a_text_with_anything_in_it_comes_back() -> None:
    job = Job("/w/ä 🎉\ud800.py", "x = '\x00\r\n\u2028'\n", "/w")
    assert protocol.unpack(body(protocol.pack(job))) == job


def test_fields_that_have_a_default_may_be_left_out() -> None:
    assert protocol.unpack(b'["Job", {"path": "/a.py", "text": "", "root": "/"}]') == Job("/a.py", "", "/")


@pytest.mark.parametrize(
    "field",
    ["lines", "ops"],
)
@pytest.mark.parametrize("items", [[[]], [["/a.py"]], [[1, 1]], [["/a.py", -1]], [["/a.py", 2**31]], [[1]], [["/a.py", "f"]]])
def test_lists_of_lines_have_names_and_a_line(field: str, items: list[typing.Any]) -> None:
    values = {"mark": 0, "compile_id": "0/0", "lines": [], "ops": [], field: items}
    with pytest.raises(ProtocolError):
        protocol.unpack(json.dumps(["GraphSeen", values]).encode())


@pytest.mark.parametrize(("field", "value"), [("line", -1), ("line", 2**31), ("column", -1), ("end_column", 2**40), ("first_line", -1)])
def test_no_place_is_outside_of_every_file(field: str, value: int) -> None:
    place = {"file": "/a.py", "line": 1, "function": "f", field: value}
    with pytest.raises(ProtocolError):
        protocol.unpack(json.dumps(["Failure", {"type": "E", "message": "", "frames": [place]}]).encode())


def test_a_frame_without_a_line_stands_on_the_first() -> None:
    place = {"file": "/a.py", "line": 0, "function": "f"}
    failure = protocol.unpack(json.dumps(["Failure", {"type": "E", "message": "", "frames": [place]}]).encode())
    assert isinstance(failure, protocol.Failure)
    assert failure.frames[0].line == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b'["Fork"]',
        b'["Fork", {}]',
        b'["Fork", null]',
        b'["Fork", {"job": "1"}]',
        b'["Fork", {"job": true}]',
        b'["Fork", {"job": 1.5}]',
        b'["Fork", {"job": null}]',
        b'["Fork", {"job": 1, "more": 2}]',
        b'["Fork", {"job": 1}, 3]',
        b'["Place", {"file": "a", "line": 1, "function": "f"}]',  # a part of messages, no message
        b'["Exited", {"job": 1, "status": [1]}]',
        b'["Job", {"path": "a", "text": "", "root": "/", "overlay": {"a": 1}}]',
        b'["Job", {"path": "a", "text": "", "root": "/", "calls": [1]}]',
        b'["Job", {"path": "a", "text": "", "root": "/", "calls": [{"expression": "f()"}]}]',
        b'["GraphSeen", {"mark": 0, "compile_id": "", "lines": [["a", 1.5]]}]',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        protocol.unpack(data)


JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([cls.__name__ for cls in typing.get_args(Message)])


def unpacked(data: bytes) -> Message | None:
    try:
        return protocol.unpack(data)
    except ProtocolError:
        return None


@given(st.binary(max_size=40))
def test_bytes_at_random_never_fail_otherwise(data: bytes) -> None:
    unpacked(data)


@given(NAMES, JSON)
def test_values_at_random_never_fail_otherwise(name: str, values: object) -> None:
    unpacked(json.dumps([name, values]).encode())


@given(MESSAGES, st.data())
def test_a_message_with_one_wrong_field_is_refused_or_still_of_its_type(message: Message, data: st.DataObject) -> None:
    values = dataclasses.asdict(message)
    name = data.draw(st.sampled_from(sorted(values)))
    values[name] = data.draw(JSON)
    result = unpacked(json.dumps([type(message).__name__, values]).encode())
    if result is not None:
        assert protocol.unpack(body(protocol.pack(result))) == result or "NaN" in json.dumps(values)


@pytest.mark.parametrize(("version", "told"), [(protocol.VERSION, False), (protocol.VERSION + 1, True), (0, True)])
def test_two_sides_of_different_versions_are_told_apart(version: int, told: bool) -> None:
    sentence = version_problem(Hello(version, "3.11", "2.13", "cpu", 1, "/t", []))
    assert bool(sentence) is told
    assert sentence == "" or (f"version {version}" in sentence and "install graphbreak again" in sentence)


@pytest.mark.parametrize("data", [b" " * (MAX_MESSAGE + 1), b"," * (MAX_VALUES + 1)])
async def test_too_much_is_refused_before_it_is_decoded(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "unpack", lambda data: pytest.fail("it was decoded"))
    with pytest.raises(ProtocolError, match="a message of"):
        await heard(data)


async def test_a_large_message_is_decoded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    real, threads = protocol.unpack, []

    def unpack(data: bytes) -> Message:
        threads.append(threading.current_thread())
        return real(data)

    monkeypatch.setattr(protocol, "unpack", unpack)
    for size in (10, 1_000_000):
        message = CallSeen(0, "x" * size)
        assert await heard(body(protocol.pack(message))) == message
    assert threads[0] is threading.main_thread()
    assert threads[1] is not threading.main_thread()


async def test_messages_that_are_all_there_leave_others_their_turn() -> None:
    stream, turns = asyncio.StreamReader(), 0
    stream.feed_data(protocol.pack(CallSeen(0, "x")) * 500 + protocol.pack(protocol.Ended(0, [], [])))

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    heard: list[Message] = []
    assert isinstance(await read_run(stream, heard.append), Finished)
    task.cancel()
    assert len(heard) == 500
    assert turns >= 500


def test_a_text_or_a_number_is_told_without_an_attempt_at_the_other() -> None:
    ops: list[list[str | int]] = [["torch.sin", "/w/a.py", line + 1] for line in range(5000)]
    graph = protocol.GraphSeen(0, "0/0", [], [], ops)
    data = body(protocol.pack(graph))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        assert protocol.unpack(data) == graph
    finally:
        sys.setprofile(None)
    assert calls < len(ops) / 10
