"""What an analysis says: functions, diagnostics and the stacks behind them. Plain values that the command line and the editor show.

The field names follow the output contract (README, "JSON"); positions inside are 0-based, see `source`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from ..worker.protocol import Job
from .source import Edit, Position, SourceFile, Span

if TYPE_CHECKING:
    from .asking import Wish


class Kind(str, Enum):
    """What a diagnostic is about."""

    BREAK = "break"
    """The graph is split here."""
    SKIPPED = "skipped"
    """Because of this, a whole frame runs eagerly."""
    CALLER = "caller"
    """A call that inherits a break further down."""
    RECOMPILE = "recompile"
    """A guard failed and the function was compiled again."""
    RAISED = "raised"
    """The code fails."""
    INTENDED = "intended"
    """The user asked for this break: a disabled callee or a `graph_break()` call of their own."""
    NOT_ANALYSED = "not-analysed"
    """A marked function that nothing ran, so nothing is known about it."""
    UNUSED_IGNORE = "unused-ignore"
    """A comment that asks to ignore what is not there, or a word in it that is no code."""


class Severity(str, Enum):
    """How loud a diagnostic is; the names are those of the editor."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class Effect(str, Enum):
    """What a break did to a compiled frame."""

    SPLIT = "split"
    EAGER = "eager"


class Outcome(str, Enum):
    """How the attempt to trace one marked function ended."""

    TRACED = "traced"
    RAISED = "raised"
    TIMED_OUT = "timed-out"
    WORKER_DIED = "worker-died"
    NO_INPUTS = "no-inputs"
    NOT_REACHED = "not-reached"
    SYNTAX_ERROR = "syntax-error"
    NO_ENVIRONMENT = "no-environment"
    CANCELLED = "cancelled"
    REFUSED = "refused"


@dataclass(frozen=True)
class StackFrame:
    """One frame of a user stack. `library` frames lie outside the workspace; `span` is None where no columns are known."""

    path: str
    line: int
    function: str
    library: bool = False
    span: Span | None = None


@dataclass(frozen=True)
class CompiledFrame:
    """A frame that Dynamo compiled by itself, and what the break did to it. `line` is the `def` line."""

    function: str
    path: str
    line: int
    effect: Effect


@dataclass(frozen=True)
class Related:
    """A further place that belongs to a diagnostic."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True)
class Cost:
    """What a break costs.

    `graphs` and `ops` are those of the marks it reaches; `hits` how often the traced run came to it; `ops_before` the operations of the
    frames it cut short and `ops_after` of those resumed behind it; `frames` how many frames were compiled only because of it;
    `graphs_before` and `graphs_after` how many of the graphs were captured up to it and behind it.
    """

    graphs: int = 0
    hits: int = 1
    in_loop: bool = False
    ops: int = 0
    ops_before: int = 0
    ops_after: int = 0
    frames: int = 0
    graphs_before: int = 0
    graphs_after: int = 0


class Safety(int, Enum):
    """How sure a fix is, in order, so that "apply at this level" is one comparison."""

    DISPLAY = 0
    """Shown only."""
    CHANGES_BEHAVIOUR = 1
    """The program may print, compute or compile something else afterwards."""
    SAFE = 2
    """The program does the same as before."""

    @property
    def label(self) -> str:
        """The word for it in JSON and in titles."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Verdict:
    """What a trial of a fix showed. `accepted` is whether it may be applied unseen at its level of safety; `reason` says in words why not.

    `same_outputs` is None where nothing could be compared. `summary` is what a title says of it; `removes`, that fewer causes are left
    (a break that is made an intended one is still one);
    `failed`, that it does not do what it is for or changes what the program does: nobody should apply it.
    """

    breaks_before: int
    breaks_after: int
    same_outputs: bool | None
    accepted: bool
    reason: str = ""
    summary: str = ""
    removes: bool = False
    failed: bool = False


@dataclass(frozen=True)
class Fix:
    """An edit that is offered for a break: `edits` by absolute path.

    `needs` are the dotted names that the edited code uses and that not every torch has (`torch._higher_order_ops.print`); it is offered
    only where the installed torch has them all. `admits` says that it lets more into the graph than the code says (a setting such as
    `capture_scalar_outputs`), so a trial has to compile the graph too. `verified` is None until it was tried.
    `family` is the row of the table that it comes from. `freed` is the text, beside the edits, whose operations become arithmetic of
    Python.
    """

    title: str
    safety: Safety
    edits: dict[str, tuple[Edit, ...]] = field(hash=False)
    needs: tuple[str, ...] = ()
    admits: bool = False
    verified: Verdict | None = None
    family: str = ""
    freed: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True)
class Diagnostic:
    """One thing to show at one place.

    `id` is the same for a cause and for the callers that inherit it, and stable between runs of the same text.
    """

    id: str
    path: str
    span: Span
    severity: Severity
    kind: Kind
    code: str
    message: str
    gb_type: str = ""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    url: str = ""
    functions: tuple[str, ...] = ()
    stack: tuple[StackFrame, ...] = ()
    frames: tuple[CompiledFrame, ...] = ()
    related: tuple[Related, ...] = ()
    cost: Cost | None = None
    ignored: bool = False
    baselined: bool = False
    """It was there when the baseline was written, and is treated like an ignored one."""
    caused_by: str = ""
    """The `id` of the cause that this one follows from, where PyTorch says that it follows from an earlier one."""
    context: str = ""
    """PyTorch's developer debug context: says which object it was."""
    fixes: tuple[Fix, ...] = ()

    guessed: bool = False
    """Only inputs that were guessed showed it."""
    provisional: bool = False
    """Only an edited function by itself showed it, see `foreseen`: the trace of the whole confirms or corrects it."""

    @property
    def is_shown(self) -> bool:
        """Whether people are to see it: it is neither ignored nor in the baseline."""
        return not self.ignored and not self.baselined

    def with_fixes(self, fixes: tuple[Fix, ...]) -> Diagnostic:
        """The same diagnostic with the fixes that are offered for it."""
        return replace(self, fixes=fixes)


@dataclass(frozen=True)
class InputSet:
    """One set of example inputs: where it came from (`call`, `directive`, ...) and what it looks like.

    `entry` is what was run: an entry in the project's words, or a file by its path, where the function is marked or written in another.
    `expression` is the example call that makes it, where that was guessed.
    """

    source: str
    summary: str
    entry: str = ""
    expression: str = ""


@dataclass(frozen=True)
class Region:
    """Lines (0-based, both included) of one state: `graph` (in graphs of these numbers), `eager`, or `not-reached` with these inputs."""

    path: str
    start: int
    end: int
    state: str
    graphs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Operation:
    """One operation of a graph: its name, and where it is written (0-based line; `path` empty where PyTorch does not say)."""

    name: str
    path: str
    line: int


@dataclass(frozen=True)
class Graph:
    """One captured graph, by its number from 1; `ended_by` are the ids of the causes that cut it off."""

    number: int
    ops: tuple[Operation, ...]
    ended_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class FunctionResult:
    """What became of one marked function. Lines are 0-based here; `mark_*` is where it is marked."""

    path: str
    name: str
    line: int
    mark_path: str
    mark_span: Span
    outcome: Outcome
    detail: str = ""
    stopped: str | None = None
    fullgraph: bool = False
    inputs: tuple[InputSet, ...] = ()
    graphs: int = 0
    ops: int = 0
    breaks: int = 0
    skipped: int = 0
    seconds: float = 0.0
    recompiles: int = 0
    regions: tuple[Region, ...] = ()
    graph_list: tuple[Graph, ...] = ()
    provisional: bool = False
    """The run that shows it still goes on, or did not come to its end: what it says is only so far."""


@dataclass(frozen=True)
class Environment:
    """Where the trace ran. `notes` are sentences the user should see, such as variables that were unset for it."""

    python: str = ""
    torch: str = ""
    device: str = ""
    sandbox: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def merged_environment(environments: Sequence[Environment]) -> Environment:
    """The first one that knows its torch, with the notes of all of them; `device` is that of the first, or CUDA where one used it."""
    first = next((environment for environment in environments if environment.torch), (*environments, Environment())[0])
    notes = tuple(dict.fromkeys(note for environment in environments for note in environment.notes))
    devices = {environment.device for environment in environments}
    return replace(first, device="cuda" if "cuda" in devices else first.device, notes=notes)


@dataclass(frozen=True)
class Report:
    """All that one analysis of one entry file says. Immutable, so handlers may read it while the next one is made."""

    path: str
    version: int | None = None
    functions: tuple[FunctionResult, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    environment: Environment = Environment()
    problems: tuple[str, ...] = ()
    """Sentences about the run as a whole: what went wrong, in the user's words."""
    output: str = ""
    """The tail of what the program printed."""
    used_ignores: frozenset[str] = frozenset()
    """The ids that `unused-ignore` diagnostics would have for those comments that did hide something, see `unused`."""
    settings_problems: tuple[str, ...] = ()
    """Those of `problems` that are about the project's settings and say nothing of the run."""
    wish: Wish | None = None
    """What the project asks that its programs may do, and the user has not granted."""
    attempted: Wish | None = None
    """What its program tried, the sandbox stopped, and the user could allow."""
    stale: bool = False
    """Nothing new is known (a syntax error, a run that died before it showed anything): the results before this one stay."""
    made: float = field(default=0.0, hash=False, compare=False)
    """When the run was over that shows what stands here (seconds since 1970): for a stale one the last that showed something."""
    provisional: bool = False
    """More is to come: what a run that still goes on has shown so far, see `provisional`. It adds to the results before it and takes
    nothing away; its fixes are not tried; the next report without this takes the place of both."""
    jobs: tuple[Job, ...] = field(default=(), hash=False, compare=False)
    """What the worker was asked for it, for a comparison of the same runs."""
    sources: dict[str, SourceFile] = field(default_factory=dict, hash=False, compare=False)
    """The texts that the positions refer to, by absolute path: each file that a diagnostic or a fix names."""


START = Span(Position(0, 0), Position(0, 0))
