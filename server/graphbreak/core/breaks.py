"""Causes -> diagnostics: the kind and severity of each, its message, and one linked diagnostic at every caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..worker.protocol import Failure, Place
from .causes import Cause
from .comments import Directive
from .cost import cost_of, is_consequence
from .explain import break_message, caller_message
from .findings import Diagnostic, Kind, Outcome, Related, Severity, StackFrame
from .functions import Traced, failure_text, mark_span
from .merging import not_analysed_id
from .places import Sources, in_loop, span_of
from .registry import page_url
from .source import Span
from .tracing import Run
from .workspace import Workspace

_USER_BREAKS = ("Call to `torch._dynamo.graph_break()`",)


DISABLED_HERE = "disabled here"
"""How the place where a callee was disabled is called."""

REACHED = "reached in library code here"
"""How the related line is called that is the deepest of a library other than torch."""


def break_diagnostics(
    causes: Sequence[Cause], rows: Sequence[Traced], run: Run, workspace: Workspace, sources: Sources
) -> list[Diagnostic]:
    """The diagnostics of all causes that reach one of the rows: each cause's own, then those of its callers."""
    found: list[Diagnostic] = []
    earlier: list[Diagnostic] = []
    for cause in causes:
        reached = [row for row in rows if row.numbers.intersection(cause.marks)]
        if reached:
            main = _with_earlier(_cause_diagnostic(cause, reached, run, workspace, sources), earlier)
            earlier.append(main)
            found.append(main)
            found += [_caller_diagnostic(cause, main, path, span) for path, span in cause.callers]
    return found


def kind_of(cause: Cause, workspace: Workspace) -> Kind:
    """What a cause is: an error, a lost frame, the user's own wish, or a plain break."""
    if cause.error:
        return Kind.BREAK
    if cause.eager:
        return Kind.SKIPPED
    return Kind.INTENDED if _intended(cause, workspace) else Kind.BREAK


def _intended(cause: Cause, workspace: Workspace) -> bool:
    """Whether the `disable` or the `graph_break()` call behind it is written in the workspace."""
    if cause.reason.gb_type in _USER_BREAKS:
        return workspace.owns(cause.key.inner_path)
    return cause.intent is not None and workspace.owns(cause.intent.file)


def _with_earlier(diagnostic: Diagnostic, earlier: Sequence[Diagnostic]) -> Diagnostic:
    """Linked to the break that it follows from: the nearest earlier one of the same function, where PyTorch says that there is one."""
    if not is_consequence(diagnostic):
        return diagnostic
    same = [other for other in earlier if set(other.functions) & set(diagnostic.functions) and other.kind is not Kind.INTENDED]
    near = [other for other in same if other.path == diagnostic.path] or same
    if not near:
        return diagnostic
    cause = near[-1]
    link = Related(cause.path, cause.span, f"may be caused by this earlier break: {cause.gb_type}")
    return replace(diagnostic, caused_by=cause.caused_by or cause.id, related=(*diagnostic.related, link))


def _cause_diagnostic(cause: Cause, reached: Sequence[Traced], run: Run, workspace: Workspace, sources: Sources) -> Diagnostic:
    kind = kind_of(cause, workspace)
    severity = {Kind.INTENDED: Severity.INFORMATION}.get(kind, Severity.WARNING)
    key, reason = cause.key, cause.reason
    loop = reason.in_loop or in_loop(sources(key.path), key.span)
    graphs, ops = sum(row.result.graphs for row in reached), sum(row.result.ops for row in reached)
    return Diagnostic(
        id=key.id,
        path=key.path,
        span=key.span,
        severity=Severity.ERROR if cause.error else severity,
        kind=kind,
        code=reason.code or "graph-break",
        message=break_message(cause, kind),
        gb_type=reason.gb_type,
        explanation=reason.explanation,
        hints=reason.hints,
        url=reason.url or (page_url(reason.code) if reason.code else ""),
        functions=tuple(dict.fromkeys(row.result.name for row in reached)),
        stack=cause.stack,
        frames=tuple(cause.frames),
        related=tuple(_related(cause, workspace)),
        cost=cost_of(cause.records, cause.marks, run, graphs, ops, loop),
        context=reason.context,
    )


def _related(cause: Cause, workspace: Workspace) -> list[Related]:
    """The library lines under the blamed one (the deepest outside torch, and the innermost), where it was disabled, the other chains."""
    places = []
    below = [frame for frame in cause.stack if frame.library]
    outside_torch = [frame for frame in below if not workspace.in_torch(frame.path)]
    for frame, what in ((outside_torch[-1:], REACHED), (below[-1:], "breaks here")):
        places += [_line(frame.path, frame.line, f"{what}, in `{frame.function}`") for frame in frame]
    if len(places) == 2 and places[0].path == places[1].path and places[0].span == places[1].span:
        del places[0]
    if cause.intent is not None and workspace.owns(cause.intent.file):
        places.append(_line(cause.intent.file, cause.intent.line - 1, DISABLED_HERE))
    places += [
        _chain(stack) for stack in cause.stacks if stack != cause.stack and not any(_ends_with(other, stack) for other in cause.stacks)
    ]
    return list(dict.fromkeys(places))


def _ends_with(longer: tuple[StackFrame, ...], stack: tuple[StackFrame, ...]) -> bool:
    """Whether a chain is only the inner part of another."""
    return len(longer) > len(stack) and longer[-len(stack) :] == stack


def _chain(stack: tuple[StackFrame, ...]) -> Related:
    first = stack[0]
    names = " → ".join(f"`{frame.function}`" for frame in stack)
    return Related(first.path, first.span or _line_span(first.line), f"also reached by {names}")


def _line(path: str, line: int, message: str) -> Related:
    return Related(path, _line_span(line), message)


def _line_span(line: int) -> Span:
    return Span.at(line, 0, line, 0)


def _caller_diagnostic(cause: Cause, main: Diagnostic, path: str, span: Span) -> Diagnostic:
    frames = cause.callers[path, span]
    return replace(
        main,
        path=path,
        span=span,
        kind=Kind.CALLER,
        severity=Severity.INFORMATION,
        message=caller_message(cause, frames),
        frames=tuple(frames),
        related=(Related(main.path, main.span, f"breaks here: {main.gb_type}"),),
    )


def raised_diagnostic(failure: Failure, rows: Sequence[Traced], workspace: Workspace, sources: Sources) -> Diagnostic | None:
    """The failure of the user's program at the deepest workspace line that raised it; None when no workspace line is on its stack."""
    own = [place for place in failure.frames if workspace.owns(place.file)]
    if not own:
        return None
    place = own[-1]
    span = span_of(sources(place.file), place)
    stack = tuple(
        StackFrame(frame.file, frame.line - 1, frame.function, not workspace.owns(frame.file)) for frame in _readable(failure, workspace)
    )
    frames = {(frame.file, frame.function) for frame in failure.frames}
    reached = [row.result.name for row in rows if (row.result.path, row.result.name.rpartition(".")[2]) in frames]
    return Diagnostic(
        id=f"raised:{failure.type}:{place.file}:{place.line}",
        path=place.file,
        span=span,
        severity=Severity.ERROR,
        kind=Kind.RAISED,
        code="raised",
        message=_raised_message(failure),
        functions=tuple(reached),
        stack=stack,
    )


def _raised_message(failure: Failure) -> str:
    """Whether it fails because it is compiled, and how. Dynamo's own error only wraps that of eager mode, which says more."""
    text = failure_text(failure)
    verdict, _, eager = failure.eager.partition(": ")
    eager = eager.strip().partition("\n")[0]
    if verdict == "raises":
        return f"Fails in eager mode too: {eager if failure.compiler else text}"
    if verdict == "returns":
        return f"Fails only when compiled: {text}"
    if verdict == "differs":
        return f"Fails otherwise when compiled: {text}; in eager mode: {eager}"
    return ("Fails when compiled: " if failure.compiler else "Raised: ") + text


def _readable(failure: Failure, workspace: Workspace) -> list[Place]:
    first = next((index for index, place in enumerate(failure.frames) if workspace.owns(place.file)), 0)
    frames = failure.frames[first:]
    return [place for index, place in enumerate(frames) if index == len(frames) - 1 or not workspace.in_torch(place.file)]


OUTCOME_WORDS: dict[Outcome, str] = {
    Outcome.RAISED: "Not analysed",
    Outcome.TIMED_OUT: "Not analysed to the end",
    Outcome.WORKER_DIED: "Not analysed",
    Outcome.NO_INPUTS: "Not analysed",
    Outcome.NOT_REACHED: "Not analysed",
    Outcome.SYNTAX_ERROR: "Not analysed",
    Outcome.NO_ENVIRONMENT: "Not analysed",
    Outcome.CANCELLED: "Not analysed",
    Outcome.REFUSED: "Not analysed",
}


def not_analysed_diagnostic(row: Traced) -> Diagnostic | None:
    """Says, at a marked function that nothing is known of, that it was not looked at, and why."""
    result = row.result
    if result.outcome is Outcome.TRACED:
        return None
    advice = ""
    unknown = (Outcome.NOT_REACHED, Outcome.NO_INPUTS, Outcome.TIMED_OUT)
    if result.outcome in unknown and not (row.mark is not None and row.mark.directives):
        parts = result.name.split(".")
        called = "(...).".join(parts) if all(part.isidentifier() for part in parts) else "f"
        example = f"write an example call above it: `# graphbreak: {called}(...)`"
        advice = f" To trace it, {example}, or name a script or a test that calls it: `entries` of `[tool.graphbreak]` in pyproject.toml."
        if result.outcome is Outcome.TIMED_OUT:
            advice = f" To trace it, allow it more time (the setting `timeout`), or {example}."
    return Diagnostic(
        id=not_analysed_id(result),
        path=result.mark_path,
        span=mark_span(row),
        severity=Severity.HINT,
        kind=Kind.NOT_ANALYSED,
        code="not-analysed",
        message=f"{OUTCOME_WORDS[result.outcome]}: `{result.name}`: {(result.detail or result.outcome.value).rstrip('.')}.{advice}",
        functions=(result.name,),
    )


def directive_diagnostic(path: str, directive: Directive) -> Diagnostic:
    """Says, at an example call that no run can use, what is wrong with it."""
    wrong = bool(directive.error)
    return Diagnostic(
        id=f"directive:{directive.file or path}:{directive.span.start.line}",
        path=directive.file or path,
        span=directive.span,
        severity=Severity.ERROR if wrong else Severity.HINT,
        kind=Kind.RAISED if wrong else Kind.NOT_ANALYSED,
        code="raised" if wrong else "not-analysed",
        message=directive.error or "Not analysed: this example call stands above nothing that can be compiled.",
    )
