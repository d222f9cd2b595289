"""Recompiles -> diagnostics: the guard that failed, with what was expected and what came."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..worker.protocol import LimitHit, Place, Recompiled, plain_name
from .findings import Cost, Diagnostic, Kind, Related, Severity
from .functions import Traced, mark_span
from .nodes import nodes_on
from .places import Sources, definition_line, name_span, node_span, span_of
from .source import Span
from .tracing import Finished, Run
from .workspace import Workspace

_REASON = re.compile(r"^(?:\d+/\d+: )?(.*?)(?:\s+# (.*))?$")
_PLACE = re.compile(r"(?:^|# )(\S+):(\d+) in (\S+)")
_FILE = re.compile(r'File "([^"]+)", line')
_HINT = re.compile(r"\(HINT: (.*?)\)?$")
_VALUE = re.compile(r"\d+(?:\.\d+)?|(?<=[=<>!] )'[^']*'")


@dataclass(frozen=True)
class Guard:
    """One guard failure: what was expected, where PyTorch says that the guard comes from, and its advice."""

    text: str
    place: Place | None = None
    hint: str = ""


@dataclass
class _Group:
    """The recompiles of one function for one guard."""

    first: Recompiled | LimitHit
    guard: Guard
    times: int = 0
    marks: set[int] = field(default_factory=set)
    actual: str = ""


def parse_guard(reason: str, files: Iterable[str] = ()) -> Guard:
    """A guard failure out of PyTorch's text of it. Takes any text.

    PyTorch cuts the front of the path off, at any character, so that `files` are needed to know it, unless a stack stands below (2.13 on).
    """
    first, _, stack = reason.strip().partition("\n")
    known = [*_FILE.findall(stack)[::-1], *files]
    match = _REASON.match(first)
    text, comment = (match.group(1).strip(), match.group(2) or "") if match else (first, "")
    places = _PLACE.findall(comment)
    full = (next((file for file in known if file.endswith(places[0][0])), "")) if places else ""
    place = Place(full, int(places[0][1]), plain_name(places[0][2])) if full else None
    hint = _HINT.search(comment)
    return Guard(text, place, hint.group(1) if hint else "")


def recompile_diagnostics(run: Run, rows: Sequence[Traced], workspace: Workspace, sources: Sources) -> list[Diagnostic]:
    """One diagnostic for each guard that failed, on its function; a second one, linked, on the expression that the guard comes from."""
    groups: dict[tuple[str, int, str], _Group] = {}
    files = run.end.ended.files if isinstance(run.end, Finished) else []
    for record in run.of(Recompiled):
        if record.reasons:
            guard = parse_guard(record.reasons[0], [record.file, *files])
            key = (record.file, record.first_line, _VALUE.sub("#", guard.text))
            group = groups.setdefault(key, _Group(record, guard, actual=record.actual[0] if record.actual else ""))
            group.times += 1
            group.marks.add(record.mark)
    found = [diagnostic for group in groups.values() for diagnostic in _diagnostics(group, rows, workspace, sources)]
    return found + [diagnostic for limit in run.of(LimitHit) if (diagnostic := _limit(limit, rows, workspace, sources)) is not None]


def _diagnostics(group: _Group, rows: Sequence[Traced], workspace: Workspace, sources: Sources) -> list[Diagnostic]:
    reached = [row for row in rows if row.numbers & group.marks]
    guard, name = group.guard, plain_name(group.first.function)
    times = "once more" if group.times == 1 else f"{group.times} times more"
    came = f"; now it is {group.actual}" if group.actual and "actual" not in guard.text else ""
    source_place = _guard_place(guard, workspace, sources)
    place = _function_place(group.first, workspace, sources) or source_place or _mark_place(reached)
    if place is None:
        return []
    main = Diagnostic(
        id=f"recompile:{group.first.file}:{group.first.first_line}:{guard.text}",
        path=place[0],
        span=place[1],
        severity=Severity.INFORMATION,
        kind=Kind.RECOMPILE,
        code="recompile",
        message=f"`{name}` was compiled {times}: guard `{guard.text}` failed{came}.",
        hints=(guard.hint,) if guard.hint else (),
        functions=tuple(row.result.name for row in reached),
        related=(Related(*source_place, "the guard comes from here"),) if source_place is not None else (),
        cost=Cost(sum(row.result.graphs for row in reached), group.times),
    )
    return [main] if source_place in (None, place) else [main, _at(main, source_place)]


def _at(main: Diagnostic, place: tuple[str, Span] | None) -> Diagnostic:
    assert place is not None
    message = f"A guard on this failed, and the function was compiled again. {main.message}"
    return replace(main, path=place[0], span=place[1], message=message, related=(Related(main.path, main.span, "compiled again"),))


def _limit(limit: LimitHit, rows: Sequence[Traced], workspace: Workspace, sources: Sources) -> Diagnostic | None:
    reached = [row for row in rows if limit.mark in row.numbers]
    guard = parse_guard(limit.reason, [limit.file])
    place = _function_place(limit, workspace, sources) or _guard_place(guard, workspace, sources) or _mark_place(reached)
    if place is None:
        return None
    return Diagnostic(
        id=f"recompile-limit:{limit.file}:{limit.first_line}",
        path=place[0],
        span=place[1],
        severity=Severity.WARNING,
        kind=Kind.RECOMPILE,
        code="recompile",
        message=f"`{plain_name(limit.function)}` hit {limit.limit}: from now on other inputs run eagerly. Last guard: `{guard.text}`.",
        hints=(guard.hint,) if guard.hint else (),
        functions=tuple(row.result.name for row in reached),
    )


def _function_place(record: Recompiled | LimitHit, workspace: Workspace, sources: Sources) -> tuple[str, Span] | None:
    source = sources(record.file) if workspace.owns(record.file) else None
    if source is None:
        return None
    line = definition_line(source, plain_name(record.function), record.first_line - 1, max(record.first_line - 1, 0))
    return record.file, name_span(source, line, plain_name(record.function))


def _guard_place(guard: Guard, workspace: Workspace, sources: Sources) -> tuple[str, Span] | None:
    """The guarded name or attribute on its line, where it is written just once there; else the statement."""
    place = guard.place
    source = sources(place.file) if place is not None and workspace.owns(place.file) else None
    if place is None or source is None:
        return None
    wanted = re.split(r"[=<>!%() ]", guard.text.removeprefix("not ").strip("("), maxsplit=1)[0]
    nodes = [node for node in nodes_on(source, place.line - 1) if isinstance(node, (ast.Name, ast.Attribute))]
    spans = [span for node in nodes if source.slice(span := node_span(source, node)) == wanted]
    return place.file, spans[0] if spans else span_of(source, place)


def _mark_place(reached: Sequence[Traced]) -> tuple[str, Span] | None:
    return (reached[0].result.mark_path, mark_span(reached[0])) if reached else None
