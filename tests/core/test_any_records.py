"""The reader of records: whatever a worker says, in whatever order, there is a report, and it can be shown."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import typing
from collections.abc import Awaitable, Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from fuzz import FUZZING, LONG, TEXTS
from graphbreak.core.analysis import analyse
from graphbreak.core.events import parse_reason
from graphbreak.core.explain import hover_markdown
from graphbreak.core.findings import Report
from graphbreak.core.requests import AnalysisRequest, Settings
from graphbreak.core.source import SourceFile
from graphbreak.core.tracing import Finished, NoEnvironment, Refused, Run, RunEnd, TimedOut, WorkerDied
from graphbreak.tracer.connection import read_run
from graphbreak.worker import protocol
from graphbreak.worker.protocol import Ended, Job, Message
from graphbreak.worker.protocol_values import FURTHEST

PROGRAM = """\
import torch
import helper
# graphbreak: f(torch.ones(2))
@torch.compile
def f(x):
    s = 'é😀'; print(x); return helper.log(x)  # graphbreak: ignore[GB0059]
@torch.compile(fullgraph=True)
class Net(torch.nn.Module):
    def forward(self, x):
        for i in range(3):
            if x.sum() > 0:
                x = x + x.item()
        return x
g = torch.compile(lambda x: x.data_ptr())
"""
TEXT = {"/w/a.py": PROGRAM, "/w/helper.py": "def log(x):\n    print(x)\n    return x"}
BREAK = "Graph Break Reason: {0}\n  Explanation: {1}\n  Hint: {0}\n\n visit: https://x/gb/gb0059.html\n\nUser code traceback:\n{1}"
WORDS = st.one_of(
    st.sampled_from(["f", "Net.forward", "/w/a.py", "/w/helper.py", "/lib/torch/x.py", "", "print", "ValueError", "dynamo_error", "0/0"]),
    TEXTS,
    st.builds(BREAK.format, TEXTS, TEXTS),
)  # fmt: skip
NUMBERS = st.one_of(st.integers(-2, 16), st.integers(-(2**53), 2**53))
LINES = st.one_of(st.integers(1, 16), st.integers(1, FURTHEST))
COLUMNS = st.one_of(st.none(), st.integers(0, 40), st.integers(0, FURTHEST))
NAMED = {"line": LINES, "first_line": st.one_of(st.just(0), LINES), "last_line": LINES}
OPERATIONS: dict[type, dict[str, st.SearchStrategy[typing.Any]]] = {
    protocol.FrameCompiled: {"ops": st.one_of(st.none(), NUMBERS)},
    protocol.GraphSeen: {"ops": st.lists(st.tuples(WORDS, WORDS, LINES).map(list), max_size=3)},
}
SAID = [kind for kind in typing.get_args(Message) if kind not in (Job,)]


def values_of(hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    """Values of the types that messages use, of those mostly that could be true."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    plain = {str: WORDS, int: NUMBERS, float: st.floats(allow_nan=False, allow_infinity=False), bool: st.booleans(), type(None): st.none()}
    if hint in plain:
        return plain[hint]
    if origin is typing.Union:
        return st.one_of([values_of(argument) for argument in args])
    if origin is list:
        return st.lists(values_of(args[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(values_of(args[0]), values_of(args[1]), max_size=3)
    if hint is protocol.Place:
        return st.builds(protocol.Place, WORDS, LINES, WORDS, COLUMNS, COLUMNS, COLUMNS, NAMED["first_line"])
    return messages_of(hint)


@functools.cache
def messages_of(kind: type) -> st.SearchStrategy[typing.Any]:
    """Messages of one kind."""
    hints = typing.get_type_hints(kind)
    if "lines" in hints:
        places = st.tuples(WORDS, LINES).map(list)
        return st.deferred(
            lambda: st.builds(
                kind,
                **{name: _field(name, hint) for name, hint in hints.items() if name not in ("lines", "ops")},
                lines=st.lists(places, max_size=3),
                **OPERATIONS.get(kind, {}),
            )
        )
    return st.deferred(lambda: st.builds(kind, **{name: _field(name, hint) for name, hint in hints.items()}))


def _field(name: str, hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    return NAMED[name] if name in NAMED else values_of(hint)


MESSAGES = st.lists(st.one_of([messages_of(kind) for kind in SAID]), max_size=8)
ENDS: st.SearchStrategy[RunEnd] = st.one_of(
    st.builds(Finished, messages_of(Ended)),
    st.builds(TimedOut, st.just(3.0)),
    st.builds(WorkerDied, st.one_of(st.none(), st.integers(-70, 255)), WORDS),
    st.builds(NoEnvironment, WORDS),
    st.builds(Refused, WORDS),
)


@dataclasses.dataclass
class Saying:
    """A tracer whose workers all say the same."""

    messages: list[Message]
    end: RunEnd

    async def together(self, works: Sequence[Callable[[], Awaitable[typing.Any]]]) -> list[typing.Any]:
        return [await work() for work in works]

    async def trace(self, job: Job, interpreter: str, timeout: float, on_message: Callable[[Message], None]) -> Run:
        for message in self.messages:
            on_message(message)
        return Run(tuple(self.messages), self.end, libraries=("/lib",), torch_folder="/lib/torch", output="\ud83d", job=job)

    async def aside(self, work: Callable[[], typing.Any]) -> typing.Any:
        return work()

    async def missing(self, names: frozenset[str], interpreter: str) -> frozenset[str]:
        return frozenset()


@functools.cache
def source(path: str) -> SourceFile | None:
    return SourceFile(path, TEXT[path]) if path in TEXT else None


def assert_can_be_shown(report: Report) -> None:
    json.dumps(dataclasses.asdict(report), default=str, allow_nan=False)
    for found in report.diagnostics:
        assert found.span.start <= found.span.end
        hover_markdown(found)
        text = source(found.path)
        if text is not None:
            for place in (found.span.start, found.span.end):
                assert text.position(text.offset(place)) == place, found
    for row in report.functions:
        assert row.line >= 0


@FUZZING
@given(messages=MESSAGES, end=ENDS, text=TEXTS)
def test_whatever_is_said_there_is_a_report(messages: list[Message], end: RunEnd, text: str) -> None:
    main = source("/w/a.py")
    assert main is not None
    request = AnalysisRequest(main, "/w", ("/w",), Settings("python"))
    news: list[Callable[[], Report]] = []
    report = asyncio.run(analyse(request, Saying(messages, end), "python", source, lambda sentence: None, news=news.append))
    for shown in (*(now() for now in news), report):
        assert_can_be_shown(shown)
    parse_reason(text)


CHUNKS = st.lists(st.one_of(st.binary(max_size=12), st.one_of([messages_of(kind) for kind in SAID]).map(protocol.pack)), max_size=5)


@FUZZING
@given(chunks=CHUNKS, cut=st.integers(0, 30))
def test_whatever_comes_over_the_pipe_there_is_an_end(chunks: list[bytes], cut: int) -> None:
    async def read() -> RunEnd:
        stream = asyncio.StreamReader()
        data = b"".join(chunks)
        stream.feed_data(data[: len(data) - cut] if LONG or cut > 15 else data)
        stream.feed_eof()
        return await read_run(stream, lambda message: None)

    assert isinstance(asyncio.run(read()), (Finished, WorkerDied))
