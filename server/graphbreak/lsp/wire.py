"""Reports as plain objects for the extension: lines from 0, ranges as LSP has them, names in camelCase, paths as URIs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime

from ..core.cost import by_cost
from ..core.findings import Cost, Diagnostic, FunctionResult, Graph, Operation
from .convert import Converter
from .session import Session
from .telling import environment_object

Object = dict[str, object]


def report_object(session: Session, entry: str) -> Object:
    """What the trace of one entry document says, as of the texts that are open now."""
    report, converter = session.results.shown[entry], session.converter
    document = session.documents.get(entry)
    edited = document is not None and report.version is not None and document.version != report.version
    return {
        "uri": converter.uri(entry),
        "version": report.version,
        "stale": report.stale or edited,
        "provisional": report.provisional,
        "made": datetime.fromtimestamp(report.made).astimezone().isoformat(timespec="seconds"),
        "environment": environment_object(report.environment),
        "problems": list(report.problems),
        "functions": [_function(function, converter) for function in report.functions],
        "diagnostics": [_found(diagnostic, converter) for diagnostic in by_cost(session.results.told_by(entry))],
    }


def _function(function: FunctionResult, converter: Converter) -> Object:
    return {
        "name": function.name,
        "uri": converter.uri(function.path),
        "line": function.line,
        "markUri": converter.uri(function.mark_path),
        "markRange": converter.to_range(function.mark_path, function.mark_span),
        "outcome": function.outcome.value,
        "detail": function.detail,
        "stopped": function.stopped,
        "fullgraph": function.fullgraph,
        "inputs": [asdict(inputs) for inputs in function.inputs],
        "graphs": function.graphs,
        "ops": function.ops,
        "breaks": function.breaks,
        "skipped": function.skipped,
        "recompiles": function.recompiles,
        "provisional": function.provisional,
        "regions": [
            {
                "uri": converter.uri(region.path),
                "start": region.start,
                "end": region.end,
                "state": region.state,
                "graphs": list(region.graphs),
            }
            for region in function.regions
        ],
        "graphList": [_graph(graph, converter.uri) for graph in function.graph_list],
    }


def _graph(graph: Graph, uri: Callable[[str], str]) -> Object:
    return {"number": graph.number, "ops": [_operation(operation, uri) for operation in graph.ops], "endedBy": list(graph.ended_by)}


def _operation(operation: Operation, uri: Callable[[str], str]) -> Object:
    return {"name": operation.name, "uri": uri(operation.path) if operation.path else None, "line": operation.line}


def _found(diagnostic: Diagnostic, converter: Converter) -> Object:
    return {
        "id": diagnostic.id,
        "uri": converter.uri(diagnostic.path),
        "range": converter.to_range(diagnostic.path, diagnostic.span),
        "severity": diagnostic.severity.value,
        "kind": diagnostic.kind.value,
        "code": diagnostic.code,
        "gbType": diagnostic.gb_type,
        "message": diagnostic.message,
        "functions": list(diagnostic.functions),
        "causedBy": diagnostic.caused_by or None,
        "ignored": not diagnostic.is_shown,
        "cost": None if diagnostic.cost is None else _cost(diagnostic.cost),
        "stack": [
            {"uri": converter.uri(frame.path), "line": frame.line, "function": frame.function, "library": frame.library}
            for frame in diagnostic.stack
        ],
    }


def _cost(cost: Cost) -> Object:
    return {
        "graphs": cost.graphs,
        "hits": cost.hits,
        "inLoop": cost.in_loop,
        "opsBefore": cost.ops_before,
        "opsAfter": cost.ops_after,
        "frames": cost.frames,
    }
