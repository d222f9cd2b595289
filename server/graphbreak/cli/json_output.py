"""The JSON of `check`, as the contract in the README has it: keys may be added, never changed. Lines and columns from 1."""

from __future__ import annotations

import json
from typing import Any, TextIO

from ..core.findings import CompiledFrame, Cost, Diagnostic, Fix, FunctionResult, InputSet, Region, Related, StackFrame
from ..core.fixall import Applied
from ..core.source import Span
from .check import Result
from .paths import shown_path


def print_json(result: Result, out: TextIO) -> None:
    """Write the result as one JSON document."""
    json.dump(as_json(result), out, indent=1, ensure_ascii=False)
    out.write("\n")


def as_json(result: Result) -> dict[str, Any]:
    """The document as plain values."""
    environment = result.environment
    return {
        "version": 1,
        "environment": {
            "python": environment.python,
            "torch": environment.torch,
            "device": environment.device,
            "sandbox": list(environment.sandbox),
            "notes": list(environment.notes),
        },
        "functions": [_function(function) for function in result.functions],
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in result.diagnostics],
        "problems": list(result.problems),
        "fixed": [_applied(applied) for applied in result.fixed],
        **({"diff": result.diff} if result.diff else {}),
    }


def _function(function: FunctionResult) -> dict[str, Any]:
    return {
        "path": shown_path(function.path),
        "name": function.name,
        "line": function.line + 1,
        "mark": {"path": shown_path(function.mark_path), "line": function.mark_span.start.line + 1},
        "outcome": function.outcome.value,
        "detail": function.detail,
        "stopped": function.stopped,
        "fullgraph": function.fullgraph,
        "inputs": [_inputs(inputs) for inputs in function.inputs],
        "graphs": function.graphs,
        "ops": function.ops,
        "breaks": function.breaks,
        "skipped": function.skipped,
        "seconds": function.seconds,
        "recompiles": function.recompiles,
        "regions": [_region(region) for region in function.regions],
    }


def _inputs(inputs: InputSet) -> dict[str, Any]:
    through = shown_path(inputs.entry) if inputs.source == "call" else inputs.entry
    plain = {"source": inputs.source, "summary": inputs.summary}
    guess = {"expression": inputs.expression} if inputs.expression else {}
    return {**plain, **({"entry": through} if through else {}), **guess}


def _region(region: Region) -> dict[str, Any]:
    place = {"path": shown_path(region.path), "start": region.start + 1, "end": region.end + 1}
    return {**place, "state": region.state, "graphs": list(region.graphs)}


def _cost(cost: Cost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    around = {"ops_before": cost.ops_before, "ops_after": cost.ops_after, "frames": cost.frames}
    graphs = {"graphs_before": cost.graphs_before, "graphs_after": cost.graphs_after}
    return {"graphs": cost.graphs, "hits": cost.hits, "in_loop": cost.in_loop, **around, **graphs}


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "path": shown_path(diagnostic.path),
        "range": _range(diagnostic.span),
        "severity": diagnostic.severity.value,
        "kind": diagnostic.kind.value,
        "code": diagnostic.code,
        "gb_type": diagnostic.gb_type,
        "message": diagnostic.message,
        "explanation": diagnostic.explanation,
        "hints": list(diagnostic.hints),
        "url": diagnostic.url,
        "functions": list(diagnostic.functions),
        "stack": [_stack_frame(frame) for frame in diagnostic.stack],
        "frames": [_compiled_frame(frame) for frame in diagnostic.frames],
        "related": [_related(place) for place in diagnostic.related],
        "cost": _cost(diagnostic.cost),
        "ignored": diagnostic.ignored,
        "guessed": diagnostic.guessed,
        "baselined": diagnostic.baselined,
        "fixes": [_fix(fix) for fix in diagnostic.fixes],
        "cause": diagnostic.id,
        "caused_by": diagnostic.caused_by or None,
    }


def _range(span: Span) -> dict[str, Any]:
    return {
        "start": {"line": span.start.line + 1, "column": span.start.column + 1},
        "end": {"line": span.end.line + 1, "column": span.end.column + 1},
    }


def _stack_frame(frame: StackFrame) -> dict[str, Any]:
    plain: dict[str, Any] = {"path": shown_path(frame.path), "line": frame.line + 1, "function": frame.function}
    return {**plain, "library": True} if frame.library else plain


def _compiled_frame(frame: CompiledFrame) -> dict[str, Any]:
    return {"function": frame.function, "path": shown_path(frame.path), "line": frame.line + 1, "effect": frame.effect.value}


def _related(place: Related) -> dict[str, Any]:
    return {"path": shown_path(place.path), "line": place.span.start.line + 1, "message": place.message}


def _applied(applied: Applied) -> dict[str, Any]:
    """A fix that was applied, with the place that its break had before any fix."""
    found = applied.diagnostic
    return {"path": shown_path(found.path), "line": applied.line + 1, "code": found.code, **_fix(applied.fix)}


def _fix(fix: Fix) -> dict[str, Any]:
    verdict = fix.verified
    tried = verdict and {
        "breaks_before": verdict.breaks_before,
        "breaks_after": verdict.breaks_after,
        "same_outputs": verdict.same_outputs,
        "accepted": verdict.accepted,
        "removes": verdict.removes,
        "reason": verdict.reason,
    }
    return {"title": fix.title, "safety": fix.safety.label, "verified": tried}
