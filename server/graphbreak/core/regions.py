"""What became of each source line of a traced function: which graphs it went into, eager, or not reached with these inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..worker.protocol import BreakSeen, FrameCompiled, GraphSeen, plain_name
from .causes import Cause
from .findings import Graph, Operation, Region
from .nodes import functions_in
from .places import Sources, definition_at
from .source import SourceFile
from .tracing import Run
from .workspace import Workspace

GRAPH, EAGER, NOT_REACHED = "graph", "eager", "not-reached"
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class _Lines:
    """What is known of the lines (1-based) of one file."""

    graphs: dict[int, set[int]] = field(default_factory=dict)
    eager: set[int] = field(default_factory=set)
    lost: list[tuple[str, int]] = field(default_factory=list)
    """Functions that run wholly in eager mode: name and a line in them."""


def regions_of(numbers: frozenset[int], run: Run, workspace: Workspace, sources: Sources) -> tuple[Region, ...]:
    """The regions of all workspace functions that a mark's call went through, by file and line."""
    files: dict[str, _Lines] = {}
    graphs = [graph for graph in run.of(GraphSeen) if graph.mark in numbers]
    order = {graph.compile_id: number for number, graph in enumerate(graphs, start=1)}
    for graph in graphs:
        for file, line in graph.lines:
            files.setdefault(str(file), _Lines()).graphs.setdefault(int(line), set()).add(order[graph.compile_id])
    for frame in run.of(FrameCompiled):
        if frame.mark in numbers:
            _add_frame(files, frame, order.get(frame.compile_id))
    for record in run.of(BreakSeen):
        if record.mark in numbers:
            for place in record.frames:
                files.setdefault(place.file, _Lines()).eager.update(range(place.line, (place.end_line or place.line) + 1))
    found: list[Region] = []
    for path in sorted(files):
        source = sources(path) if workspace.owns(path) else None
        if source is not None:
            found += _regions(path, source, files[path])
    return tuple(found)


def graphs_of(numbers: frozenset[int], run: Run, causes: Sequence[Cause]) -> tuple[Graph, ...]:
    """The graphs of a mark in the order of their capture, with their operations and the causes that ended them."""
    ended: dict[str, list[str]] = {}
    for cause in causes:
        for record in cause.records:
            ended.setdefault(record.compile_id, []).append(cause.key.id)
    graphs = [graph for graph in run.of(GraphSeen) if graph.mark in numbers]
    return tuple(
        Graph(
            number,
            tuple(Operation(str(name), str(file), int(line) - 1) for name, file, line in graph.ops),
            tuple(dict.fromkeys(ended.get(graph.compile_id, ()))),
        )
        for number, graph in enumerate(graphs, start=1)
    )


def _add_frame(files: dict[str, _Lines], frame: FrameCompiled, graph: int | None) -> None:
    if frame.ops is None:
        files.setdefault(frame.file, _Lines()).lost.append((plain_name(frame.function), frame.first_line))
        return
    for file, line in frame.lines:
        lines = files.setdefault(str(file), _Lines())
        if graph is not None:
            lines.graphs.setdefault(int(line), set()).add(graph)
        else:
            lines.eager.add(int(line))


def _regions(path: str, source: SourceFile, lines: _Lines) -> Iterator[Region]:
    lost = [definition_at(source, name, line - 1) for name, line in lines.lost]
    lost_lines = {node.lineno for node in lost if node is not None}
    touched = set(lines.graphs) | lines.eager | lost_lines
    for function in functions_in(source):
        own = list(_statements(function))
        if function.lineno in lost_lines or any(touched.intersection(range(first, last + 1)) for first, last in own):
            yield from _merged(path, [(first, last, *_state(first, last, lines, function.lineno in lost_lines)) for first, last in own])


def _statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, int]]:
    """The lines of a function's statements, of compound ones their head; inner functions are functions of their own."""
    waiting: list[ast.stmt] = list(reversed(function.body))
    while waiting:
        statement = waiting.pop()
        inner = [part for name in ("body", "handlers", "orelse", "finalbody", "cases") for part in getattr(statement, name, [])]
        if isinstance(statement, (*_Function, ast.ClassDef)):
            yield statement.lineno, statement.lineno
        elif inner:
            yield statement.lineno, max(statement.lineno, inner[0].lineno - 1) if hasattr(inner[0], "lineno") else statement.lineno
            waiting += reversed([deeper for part in inner for deeper in (part.body if not isinstance(part, ast.stmt) else [part])])
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield statement.lineno, statement.end_lineno or statement.lineno


def _state(first: int, last: int, lines: _Lines, lost: bool) -> tuple[str, tuple[int, ...]]:
    span = range(first, last + 1)
    if lines.eager.intersection(span):
        return EAGER, ()
    graphs = sorted({graph for line in span for graph in lines.graphs.get(line, ())})
    if graphs:
        return GRAPH, tuple(graphs)
    return (EAGER if lost else NOT_REACHED), ()


def _merged(path: str, parts: Sequence[tuple[int, int, str, tuple[int, ...]]]) -> Iterator[Region]:
    """Neighbouring statements of one state as one region."""
    current: Region | None = None
    for first, last, state, graphs in sorted(parts):
        if current is not None and (current.state, current.graphs) == (state, graphs):
            current = Region(path, current.start, max(last - 1, current.end), state, graphs)
            continue
        if current is not None:
            yield current
        current = Region(path, first - 1, last - 1, state, graphs)
    if current is not None:
        yield current
