"""Sources with marks in them: `«...»` is the break, `§` at the end of a line says that its operations are in a graph, `†` that its function is marked."""

from __future__ import annotations

from graphbreak.core.findings import CompiledFrame, Diagnostic, Effect, Kind, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.model import FixContext

PATH = "/work/net.py"


def read(text: str, newline: str = "\n") -> tuple[SourceFile, Span, FixContext]:
    """The source without its marks, the span of the break, and the context that the marks describe."""
    lines = text.split("\n")
    captured = frozenset(i for i, line in enumerate(lines) if "§" in line)
    marked = frozenset(i for i, line in enumerate(lines) if "†" in line)
    bare = newline.join(line.replace("§", "").replace("†", "") for line in lines)
    start = bare.index("«")
    end = bare.index("»") - 1
    source = SourceFile(PATH, bare.replace("«", "").replace("»", ""))
    span = Span(source.position(start), source.position(end))
    return source, span, FixContext({PATH: source}, {PATH: marked}, {PATH: captured})


def diagnostic(
    span: Span,
    code: str = "GB0059",
    kind: Kind = Kind.BREAK,
    gb_type: str = "",
    severity: Severity = Severity.WARNING,
    stack: tuple[StackFrame, ...] = (),
    eager: tuple[int, ...] = (),
    ignored: bool = False,
) -> Diagnostic:
    """A diagnostic in the one file; `eager` are the `def` lines of the frames that run eagerly."""
    frames = tuple(CompiledFrame("f", PATH, line, Effect.EAGER) for line in eager)
    return Diagnostic("1", PATH, span, severity, kind, code, "", gb_type=gb_type, stack=stack, frames=frames, ignored=ignored)


def library(path: str) -> StackFrame:
    """A frame of a library."""
    return StackFrame(path, 10, "g", library=True)


def own(line: int) -> StackFrame:
    """A frame of the one file."""
    return StackFrame(PATH, line, "f")
