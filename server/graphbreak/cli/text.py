"""What `check` prints for people: each break with a code frame, the reason, the callers and the fixes, then a line per function."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..core.explain import cost_words
from ..core.findings import Diagnostic, FunctionResult, Kind, Outcome, Severity
from ..core.fixall import Applied
from ..core.lens import origin
from ..core.source import SourceFile
from .check import Result
from .paths import shown_path

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFORMATION: "bold blue", Severity.HINT: "bold cyan"}
_MARGIN = 7


def print_text(result: Result, out: TextIO, color: str = "auto", diff: bool = False) -> None:
    """Write the result; colours only on a terminal, unless asked for. `diff` writes what the fixes would change in its place."""
    if diff:
        _print_diff(result, out)
        return
    console = Console(
        file=out, force_terminal={"always": True, "never": False}.get(color), no_color=color == "never", highlight=False, soft_wrap=True
    )
    for text in _lines(result):
        console.print(text)


def _print_diff(result: Result, out: TextIO) -> None:
    """The diff alone, for `patch` to read; what it does, and what would remain, go to standard error."""
    out.write(result.diff)
    for text in (*map(_applied, result.fixed), *map(Text, result.problems), _summary(result)):
        print(text.plain, file=sys.stderr)


def _applied(applied: Applied) -> Text:
    found, fix = applied.diagnostic, applied.fix
    place = f"{shown_path(found.path)}:{applied.line + 1}"
    return Text.assemble(
        ("fixed: ", "bold green"), f"{place} {found.code}: {fix.title} ({fix.safety.label}): ", fix.verified.summary if fix.verified else ""
    )


def _lines(result: Result) -> Iterator[Text]:
    shown = [diagnostic for diagnostic in result.diagnostics if diagnostic.is_shown]
    for applied in result.fixed:
        yield _applied(applied)
    for diagnostic in shown:
        if diagnostic.kind is not Kind.CALLER:
            callers = [other for other in shown if other.kind is Kind.CALLER and other.id == diagnostic.id]
            yield from _entry(diagnostic, callers, result.sources)
            yield Text()
    for function in result.functions:
        yield _function_line(function)
    for sentence in (*result.problems, *result.environment.notes):
        yield Text("note: ", "bold") + Text(sentence)
    yield _summary(result)


def _entry(diagnostic: Diagnostic, callers: list[Diagnostic], sources: dict[str, SourceFile]) -> Iterator[Text]:
    start = diagnostic.span.start
    place = f"{shown_path(diagnostic.path)}:{start.line + 1}:{start.column + 1}"
    title = Text.assemble(
        (place, "bold"),
        " ",
        (diagnostic.severity.value, _STYLES[diagnostic.severity]),
        " ",
        (diagnostic.code, "bold"),
        f" ({diagnostic.kind.value}) ",
    )
    yield title + Text(diagnostic.message)
    source = sources.get(diagnostic.path)
    if source is not None:
        yield from code_frame(source, diagnostic)
    if diagnostic.explanation:
        yield _field("why", diagnostic.explanation)
    for hint in diagnostic.hints:
        yield _field("hint", hint)
    if diagnostic.stack:
        chain = " → ".join(f"{frame.function} ({shown_path(frame.path)}:{frame.line + 1})" for frame in diagnostic.stack)
        yield _field("stack", chain)
    if diagnostic.cost is not None and diagnostic.kind in (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED):
        yield _field("cost", cost_words(diagnostic))
    for caller in callers:
        where = f"{shown_path(caller.path)}:{caller.span.start.line + 1}:{caller.span.start.column + 1}"
        code = sources[caller.path].slice(caller.span).partition("\n")[0] if caller.path in sources else ""
        yield _field("caller", f"{where} `{code}`: {caller.message}")
    for other in diagnostic.related:
        if other.path != diagnostic.path or other.span.start.line != start.line:
            yield _field("see", f"{shown_path(other.path)}:{other.span.start.line + 1} {other.message}")
    for fix in diagnostic.fixes:
        tried = f"({fix.safety.label}): {fix.verified.summary}" if fix.verified is not None else f"({fix.safety.label}, not tried)"
        yield _field("fix", f"{fix.title} {tried}")
    if diagnostic.url:
        yield _field("more", diagnostic.url)


def code_frame(source: SourceFile, diagnostic: Diagnostic) -> Iterator[Text]:
    """The line before, the lines of the span with carets under them, and the line after. Tabs are shown as four columns."""
    span = diagnostic.span
    last = min(span.end.line, span.start.line + 4)
    for number in range(max(span.start.line - 1, 0), min(last + 2, len(source.lines))):
        line = source.line(number)
        inside = span.start.line <= number <= last
        if not inside and not line.strip():
            continue
        yield Text.assemble((f"{number + 1:>{_MARGIN - 2}} │ ", "blue"), line.replace("\t", "    "))
        if inside:
            begin = span.start.column if number == span.start.line else len(line) - len(line.lstrip())
            end = span.end.column if number == span.end.line else len(line.rstrip())
            before, under = (cell_len(piece.replace("\t", "    ")) for piece in (line[:begin], line[begin:end]))
            yield Text.assemble((f"{'':>{_MARGIN - 2}} │ ", "blue"), " " * before, ("^" * max(under, 1), _STYLES[diagnostic.severity]))


def _field(name: str, text: str) -> Text:
    return Text.assemble((f"{name:>{_MARGIN}}: ", "bold"), text)


def _function_line(function: FunctionResult) -> Text:
    head = Text.assemble((function.name, "bold"), f" ({shown_path(function.path)}:{function.line + 1}) ")
    if function.outcome is not Outcome.TRACED:
        return head + Text(f"{function.outcome.value}: {function.detail}", "yellow")
    counts = [_count(function.graphs, "graph"), _count(function.ops, "op"), _count(function.breaks, "break")]
    counts += [f"{function.skipped} skipped"] if function.skipped else []
    inputs = "; ".join(f"{inputs.summary or 'no arguments'} ({origin(inputs, shown_path, in_full=True)})" for inputs in function.inputs)
    text = ", ".join(counts) + (f" with {inputs}" if inputs else "") + (f" ({function.detail})" if function.detail else "")
    stopped = f"; stopped early: {function.stopped}" if function.stopped else ""
    return head + Text(text + stopped)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _summary(result: Result) -> Text:
    kinds = [diagnostic.kind for diagnostic in result.diagnostics if diagnostic.is_shown]
    causes = [diagnostic for diagnostic in result.diagnostics if diagnostic.kind is not Kind.CALLER]
    ignored = sum(diagnostic.ignored for diagnostic in causes)
    baselined = sum(diagnostic.baselined and not diagnostic.ignored for diagnostic in causes)
    unknown = sum(function.outcome is not Outcome.TRACED for function in result.functions)
    if not result.functions:
        return Text("No function is marked for torch.compile in what was checked." if not result.troubled else "Nothing was analysed.")
    words = [_count(kinds.count(Kind.BREAK) + kinds.count(Kind.SKIPPED), "graph break")]
    words += [f"{kinds.count(Kind.SKIPPED)} of them leaving a whole function eager"] if Kind.SKIPPED in kinds else []
    words += [f"{kinds.count(Kind.INTENDED)} intended"] if Kind.INTENDED in kinds else []
    words += [f"{kinds.count(Kind.RAISED)} raised"] if Kind.RAISED in kinds else []
    words += [f"{ignored} ignored"] if ignored else []
    words += [f"{baselined} in the baseline"] if baselined else []
    words += [_count(kinds.count(Kind.UNUSED_IGNORE), "unused ignore")] if Kind.UNUSED_IGNORE in kinds else []
    functions = _count(len(result.functions), "compiled function")
    tail = f"; {unknown} not analysed" if unknown else ""
    torch = f" (torch {result.environment.torch}, Python {result.environment.python})" if result.environment.torch else ""
    return Text(f"{', '.join(words)} in {functions}{tail}{torch}", "bold")
