"""What a compiled function writes for people to read: `print`, a logger, a warning, a progress bar."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from ..core.findings import Diagnostic
from .imports import is_local, resolved
from .model import FixContext
from .names import module_binders
from .regions import compiled_place
from .syntax import Place, dotted

_METHODS = frozenset(
    {"debug", "info", "warning", "warn", "error", "critical", "fatal", "exception", "log"}
    | {"debug_once", "info_once", "warning_once", "error_once", "warning_advice"}
)
_PRINTERS = frozenset({"print", "pprint.pprint", "tqdm.write", "tqdm.tqdm.write", "sys.stdout.write", "sys.stderr.write", "rich.print"})
_LOGGER = re.compile(r"log", re.IGNORECASE)
_MAKES_LOGGER = re.compile(r"get_?logger$", re.IGNORECASE)


@dataclass(frozen=True)
class Output:
    """A statement that only writes. `kind` is `print`, `warning` or `log`; `callee` is the name as written, `target` what it stands for."""

    place: Place
    statement: ast.Expr
    call: ast.Call
    kind: str
    callee: str
    target: str

    @property
    def noun(self) -> str:
        """What it is called in a title."""
        return {"print": "`print`", "warning": "warning", "log": "log message"}[self.kind]


def output_at(diagnostic: Diagnostic, context: FixContext) -> Output | None:
    """The writing statement that broke, if that is what broke: the whole statement is the call."""
    place = compiled_place(diagnostic, context)
    output = written_by(place, place.statement) if place is not None else None
    within = output is not None and (output.place.node is output.call or output.place.node in ast.walk(output.call.func))
    return output if within else None


def written_by(place: Place, statement: ast.stmt) -> Output | None:
    """A statement of the place's function as one that only writes; None for any other statement."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    callee = dotted(statement.value.func)
    kind = _kind(place, callee)
    return Output(place, statement, statement.value, kind, callee, resolved(place, callee)) if kind else None


def _kind(place: Place, callee: str) -> str:
    target = resolved(place, callee)
    if target in _PRINTERS:
        return "print"
    if target in ("warnings.warn", "warnings.warn_explicit"):
        return "warning"
    head, _, method = callee.rpartition(".")
    if method in _METHODS and (target.startswith("logging.") or _is_logger(place, head)):
        return "log"
    return ""


def _is_logger(place: Place, name: str) -> bool:
    """Whether a name is a logger: called so, or bound to what a `getLogger` gives."""
    if not name:
        return False
    if _LOGGER.search(name.rpartition(".")[2]):
        return True
    binders = [] if is_local(place, name.split(".")[0]) else module_binders(place.module, name)
    return any(
        isinstance(binder, ast.Assign) and isinstance(binder.value, ast.Call) and bool(_MAKES_LOGGER.search(dotted(binder.value.func)))
        for binder in binders
    )
