"""What crosses the pipe between the server and the worker: the only module that both sides import (with `protocol_values` behind it).

A message is one frozen dataclass, sent as a 4-byte length (big-endian) and JSON. Lines are 1-based and columns are
UTF-8 byte offsets, as Python counts them in code objects; the server converts them.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import typing
from dataclasses import dataclass, field

from .protocol_values import ASSERTED as ASSERTED
from .protocol_values import ProtocolError as ProtocolError
from .protocol_values import built
from .protocol_values import plain_name as plain_name

VERSION = 1
HEADER = struct.Struct(">I")
CUT_OFF = 119
"""The exit status of a job that finds the pipe to the server closed."""


@dataclass(frozen=True)
class Place:
    """One frame's place. `end_line`, `column` and `end_column` are None where the interpreter has no columns.

    `first_line` is the code object's first line (0 if unknown); `function` is its name with Dynamo's resume prefix taken off.
    """

    file: str
    line: int
    function: str
    end_line: typing.Optional[int] = None
    column: typing.Optional[int] = None
    end_column: typing.Optional[int] = None
    first_line: int = 0


@dataclass(frozen=True)
class Hello:
    """The first thing a worker says. `error` is set, in one sentence, when it cannot trace at all."""

    version: int
    python: str
    torch: str
    device: str
    pid: int
    torch_folder: str
    library_folders: list[str]
    error: str = ""


@dataclass(frozen=True)
class ExampleCall:
    """A directive: an example call to evaluate in the module, at its own place in the file (1-based line, UTF-8 column).

    `compile_path` names the object to compile first (`Net.forward`), or is empty where the source compiles it itself; `fullgraph` and
    `dynamic` are for that. `file` is where it is written, if that is not the module's own file; `recorded` is a call
    that was recorded (JSON, see `samples`), in place of an expression, of the function that `expression` then names.
    """

    expression: str
    line: int
    column: int
    compile_path: str = ""
    fullgraph: bool = False
    dynamic: typing.Optional[bool] = None
    file: str = ""
    recorded: str = ""


@dataclass(frozen=True)
class Guess:
    """A mark that nothing is known to call: inputs for it are to be found by trying.

    `name` is the qualified name of the definition (without `<locals>.`), or the text of what is compiled; `line` is the line of the
    `def` or `class` keyword. `mark` is where it is marked; a found call is evaluated as if it stood there. `decorated` tells a
    decorator from a call that compiles. `fullgraph` and `dynamic` are for what the source would compile later.
    """

    name: str
    line: int
    mark: Place
    decorated: bool = True
    fullgraph: bool = False
    dynamic: typing.Optional[bool] = None


@dataclass(frozen=True)
class KnownMark:
    """A mark that the server saw in the source, by its lines (1-based, both included)."""

    file: str
    first_line: int
    last_line: int


@dataclass(frozen=True)
class Job:
    """One trace: run `text` as the file `path`, with `root` as working directory.

    Without `calls` it runs as `__main__` and everything is recorded; with them it is imported under its own name, and only
    the calls are recorded; `guesses` are marks whose calls have to be found first. `overlay` has unsaved texts by path.
    `honour_fullgraph` false compiles as if `fullgraph=True` were not there.
    `quiet_seconds` and `quiet_calls` say when a program that has shown its marks enough is ended. `explain` is the qualified name of a
    function whose first call goes to `torch._dynamo.explain`; `details` are the kinds of artifacts to send with it. `arguments` are the
    program's own; with `function` (a qualified name) the file is imported and that is called; with `tests` pytest runs these ids.
    `device` is `auto` (the code's own), `cpu` (as if there were no CUDA) or `cuda` (nothing is run where there is none).

    With `edited`, which is this job with other texts, nothing is traced: both run in eager mode and are compared (`Compared`). Where
    `backend` is named, the edited one also runs compiled with that. With `names`, nothing of the user's is run: the answer is `Missing`.

    With `keep` above 0, a job that took Dynamo that many seconds or more stays after its end (`Ended.kept`), to answer `Focus`.
    """

    path: str
    text: str
    root: str
    overlay: dict[str, str] = field(default_factory=dict)
    calls: list[ExampleCall] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)
    marks: list[KnownMark] = field(default_factory=list)
    honour_fullgraph: bool = True
    quiet_seconds: float = 3.0
    quiet_calls: int = 32
    explain: str = ""
    details: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    function: str = ""
    tests: list[str] = field(default_factory=list)
    edited: typing.Optional[Job] = None
    backend: str = ""
    names: list[str] = field(default_factory=list)
    device: str = "auto"
    keep: float = 0.0


@dataclass(frozen=True)
class MarkSeen:
    """Something was compiled: where it was asked for, and which function it is. `name` is the qualified name."""

    mark: int
    place: Place
    file: str
    first_line: int
    name: str
    fullgraph: bool
    directive: int = -1


@dataclass(frozen=True)
class CallSeen:
    """A compiled callable was called with inputs not seen before."""

    mark: int
    inputs: str
    directive: int = -1


@dataclass(frozen=True)
class Inferred:
    """What was found for a guess (by its index): `expression` is a call that works in eager mode, `tries` how many calls it took.

    Without one `error` says why, as the end of a sentence; `reachable` is false where there is nothing that could be called.
    `compile_path` is as in `ExampleCall`.
    """

    guess: int
    expression: str
    tries: int
    error: str = ""
    reachable: bool = True
    compile_path: str = ""


@dataclass(frozen=True)
class BreakSeen:
    """One graph-break record. `above` are the frames that led to the compiled one, `frames` run from the compiled frame inwards.

    `error` marks a break that was raised instead (`fullgraph=True`). `intent` is where the disabled callee was disabled, if known.
    The `registry_*` fields come from the installed torch's own registry.
    """

    mark: int
    compile_id: str
    attempt: int
    text: str
    above: list[Place]
    frames: list[Place]
    error: bool = False
    intent: typing.Optional[Place] = None
    registry_id: str = ""
    registry_explanation: str = ""
    registry_hints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FrameCompiled:
    """Dynamo finished with a frame. `ops` is None when it runs eagerly. `lines` are the (file, line) places outside torch that it
    traced through in the attempt that counted."""

    mark: int
    compile_id: str
    function: str
    file: str
    first_line: int
    ops: typing.Optional[int]
    seconds: float
    fail_type: str = ""
    lines: list[list[typing.Union[str, int]]] = field(default_factory=list)


@dataclass(frozen=True)
class GraphSeen:
    """A graph was captured. `lines` are the places, over all stacks of its operations, as (file, line).
    `ops` are the first 5,000 operations, and how many more: (name, file, line) of the innermost frame outside torch; `ASSERTED` begins that
    of an assertion.
    """

    mark: int
    compile_id: str
    lines: list[list[typing.Union[str, int]]]
    inlined: list[int] = field(default_factory=list)
    ops: list[list[typing.Union[str, int]]] = field(default_factory=list)


@dataclass(frozen=True)
class Recompiled:
    """A frame is compiled again. `reasons` are PyTorch's guard failures, `actual` what the guarded values are now (`""` if unknown)."""

    mark: int
    compile_id: str
    function: str
    file: str
    first_line: int
    reasons: list[str]
    actual: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LimitHit:
    """Dynamo gave up compiling a frame again; from here on new inputs run eagerly."""

    mark: int
    limit: str
    function: str
    file: str
    first_line: int
    reason: str


@dataclass(frozen=True)
class Explained:
    """The report of `torch._dynamo.explain` (`name` is `explain`), or one artifact of the compile that it made."""

    name: str
    compile_id: str
    text: str


@dataclass(frozen=True)
class Failure:
    """The program, or an example call (`directive`), raised. `compiler` says that it was Dynamo that raised.

    `eager` is what the same call of the marked function (`mark`) does without compiling: `""` not tried, `returns`, `raises: ...` (the
    same), or `differs: ...` (something else).
    """

    type: str
    message: str
    frames: list[Place]
    compiler: bool = False
    mark: int = -1
    directive: int = -1
    eager: str = ""


@dataclass(frozen=True)
class Compared:
    """What became of a program by an edit. `values` says whether all that its marked functions returned, wrote and left behind is the
    same, None where that cannot be said; `printed` the same of its output, and of what it leaves compiled. `calls` is how many calls were
    compared, `reason` the first difference, or why there is no answer.
    """

    values: typing.Optional[bool]
    printed: typing.Optional[bool]
    calls: int
    reason: str = ""


@dataclass(frozen=True)
class Missing:
    """Which of the names that were asked for this torch does not have."""

    names: list[str]


@dataclass(frozen=True)
class DeviceSeen:
    """The program asked for a device, and this one was used; `used` is empty where there is none, and nothing was run."""

    asked: str
    used: str


@dataclass(frozen=True)
class Denied:
    """The program tried something that the sandbox does not allow: `write` or `read` a path, or `connect to` a host; or to `find` a file
    in a folder that it has for itself, where there is none."""

    action: str
    target: str


@dataclass(frozen=True)
class Cut:
    """More was found than is told: `what` is left out, as the rest of a sentence that begins "more than"."""

    what: str


@dataclass(frozen=True)
class Needed:
    """What a result depends on. `programs` (executed) and `files` (read) have the digest of what each said, or its time and size, or
    nothing where it was not there; `folders` (listed) and `searched` (for modules) the names in them. `idle` are functions that never ran
    (file, first line, name); of files in `quoted` the text itself counts; `unseen` says why more counts than is known."""

    programs: dict[str, str]
    files: dict[str, str]
    folders: dict[str, list[str]]
    searched: dict[str, list[str]]
    idle: list[list[typing.Union[str, int]]]
    quoted: list[str]
    unseen: list[str]


@dataclass(frozen=True)
class Ended:
    """The job is over. `status` is the exit status the program asked for; `stopped` says why it was ended early; `runs` how often the
    graph of each compile was run. `modules` are the libraries that the program imported, in
    order, if they are worth importing ahead. `problem` is a sentence where it could not be run as asked. A job that was `kept` waits for
    `Focus`."""

    status: int
    files: list[str]
    modules: list[str]
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    problem: str = ""
    kept: bool = False


@dataclass(frozen=True)
class Focus:
    """To a kept job: the file `path`, which it ran as `before`, now reads `after`, and differs only in the body of the function `name`
    (at `line` in `before`, its decorators included). Trace that function alone, and answer with its breaks and `Focused`."""

    number: int
    path: str
    before: str
    after: str
    name: str
    line: int


@dataclass(frozen=True)
class Focused:
    """Request `number` is done. `reached` says whether the function was called; without that `problem` may say why nothing was traced."""

    number: int
    reached: bool
    problem: str = ""


@dataclass(frozen=True)
class Fork:
    """To the prepared parent, with two descriptors beside it (the job's socket, its output's write end): fork for a job, maybe of CUDA."""

    job: int
    cuda: bool = False


@dataclass(frozen=True)
class Kill:
    """To the prepared parent: end a job, its children included."""

    job: int


@dataclass(frozen=True)
class Exited:
    """From the prepared parent: a job's process is gone. `status` is its exit status, or minus the signal that ended it."""

    job: int
    status: int


@dataclass(frozen=True)
class Grow:
    """To the prepared parent, with a control socket beside it: fork a parent that imports these libraries, in order, and answers there."""

    modules: list[str]


@dataclass(frozen=True)
class Grown:
    """From a parent forked by `Grow`: where its modules came from; or which of the libraries cannot be imported ahead, and it ends."""

    files: list[str]
    left_out: str = ""


@dataclass(frozen=True)
class Spare:
    """From the prepared parent: whether a process is ready ahead of the next job."""

    ready: bool


Message = typing.Union[
    Fork, Kill, Exited, Spare, Grow, Grown, Hello, Job, MarkSeen, CallSeen, Inferred, BreakSeen, FrameCompiled, GraphSeen, Recompiled,
    LimitHit, Explained, Failure, Compared, Missing, DeviceSeen, Denied, Cut, Needed, Ended, Focus, Focused,
]  # fmt: skip
_TYPES: dict[str, type] = {t.__name__: t for t in typing.get_args(Message)}


def pack(message: Message) -> bytes:
    """A message as it goes over the pipe."""
    body = json.dumps([type(message).__name__, dataclasses.asdict(message)], ensure_ascii=True, separators=(",", ":"))
    data = body.encode("ascii")
    return HEADER.pack(len(data)) + data


def unpack(data: bytes) -> Message:
    """The message of a frame's bytes (without its length). Raises ProtocolError for what is none of those above, field types included."""
    try:
        name, values = json.loads(data)
        cls = _TYPES[name]
        return typing.cast(Message, built(cls, values))
    except ProtocolError:
        raise
    except Exception as error:
        raise ProtocolError(f"not a message: {error!r}") from error
