"""What the command line and the editor ask for, and who answers: one analysis of one entry file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..worker.protocol import Compared, Job
from .entries import Entry
from .findings import Diagnostic, Fix, Report
from .source import SourceFile

if TYPE_CHECKING:
    from .explained import Explanation
    from .trials import Trial


@dataclass(frozen=True)
class Permissions:
    """What user code may do beyond the sandbox's own rules. Paths are absolute, or begin with `~`; `env` names variables to keep.

    `require` names the layers of the sandbox without which nothing is to be run. `enabled` false is to have no sandbox at all.
    """

    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    network: bool = False
    require: tuple[str, ...] = ()
    enabled: bool = True


@dataclass(frozen=True)
class Settings:
    """What a user can set. `timeout` is in seconds; `interpreter` is the Python of the worker, or None to look for it.

    `device` is `auto` (the code's own devices), `cpu` (as if there were no CUDA) or `cuda` (nothing is run where there is none).
    """

    interpreter: str | None = None
    timeout: float = 60.0
    trusted: bool = True
    device: str = "auto"
    permissions: Permissions = Permissions()
    ignore: tuple[str, ...] = ()
    """Codes whose diagnostics are marked as ignored."""
    confirmed: bool = True
    """Whether programs may be run without a sandbox, where there is none, though the user was not asked."""


@dataclass(frozen=True)
class AnalysisRequest:
    """Analyse one file. `root` is the folder it belongs to; `roots` are all workspace folders; paths are absolute.

    `overlay` has the unsaved texts of other open files by path. `version` is the editor's version of the document.
    """

    source: SourceFile
    root: str
    roots: tuple[str, ...]
    settings: Settings = Settings()
    overlay: Mapping[str, str] = field(default_factory=dict)
    version: int | None = None
    run_unmarked: bool = False
    """Run the file even where its source shows no mark (a file that the user named)."""
    only: str = ""
    """The name of the one marked function that is asked for: runs that do not show it are left out."""
    fresh: bool = False
    """The user asked for it: its programs are run, whatever is known."""
    entries: tuple[Entry, ...] = ()
    """How to run the file, in place of the ways that its project names."""
    keep: bool = False
    """Edits are likely to follow: be ready to say of them soon what they break."""
    line: int | None = field(default=None, compare=False)
    """Where the user is, 0-based: of runs that need not wait for each other, that of the function there comes first."""


class Analyser(Protocol):
    """Who answers: the real engine, or a stand-in in tests. Cancelling the task of `analyse` ends the trace."""

    async def analyse(
        self, request: AnalysisRequest, progress: Callable[[str], None], found: Callable[[Report], None] | None = None
    ) -> Report:
        """The report of one file; `progress` hears a short sentence when something is run, and `found` provisional reports of a program
        that takes its time. Never raises for what user code does."""

    async def foresee(self, request: AnalysisRequest, found: Callable[[Report], None]) -> None:
        """If the texts differ from those last analysed (with `keep`) in one function that was only a part of what was compiled, trace that
        by itself and tell `found` what it breaks, provisionally. Cancelling the task ends it."""

    async def try_fix(
        self, request: AnalysisRequest, before: Report, diagnostic: Diagnostic, fix: Fix, others: Sequence[Diagnostic] = ()
    ) -> Trial:
        """Apply a fix of a diagnostic (and of others) of `before`, the report of `request`, to a copy, and see what it is good for."""

    async def compare(self, request: AnalysisRequest, job: Job) -> Compared:
        """What a job of a request and its edited one do in eager mode."""

    async def explain(self, request: AnalysisRequest, name: str, details: list[str]) -> Explanation:
        """PyTorch's own explain report for the call that the file makes of a function; `details` are keys of `explained.DETAILS`."""

    def wake(self) -> None:
        """Somebody is at work: have ready again what has ended because nobody was."""

    async def restart(self) -> None:
        """Throw prepared workers away; the next analysis starts afresh."""

    async def close(self) -> None:
        """End every worker; nothing is left running."""
