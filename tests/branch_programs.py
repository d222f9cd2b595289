"""Reading a function with a break in it, for tests of the fixes of branches and scalars.

`«...»` is the break; the function is marked and its inputs are `x: f32[4]` unless said otherwise.
"""

from __future__ import annotations

from typing import Any

from graphbreak.core.findings import Diagnostic, Fix, Kind, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes import FIXERS, fixes_for
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"
HEAD = "import torch\n\n\n"


def in_function(body: str, parameters: str = "x") -> str:
    """A marked function around some lines."""
    return f"@torch.compile\ndef f({parameters}):\n" + "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))


def fixes_of(
    text: str, family: str, *, code: str = "GB0170", newline: str = "\n", inputs: str = "x: f32[4]", head: str = HEAD, **changes: Any
) -> tuple[SourceFile, list[Fix]]:
    """The source without its marks, and what a family offers for the break in it."""
    whole = (head + text).replace("\n", newline)
    start, end = whole.index("«"), whole.index("»") - 1
    source = SourceFile(PATH, whole.replace("«", "").replace("»", ""))
    span = Span(source.position(start), source.position(end))
    line = next((number for number, line in enumerate(source.lines) if line.lstrip().startswith("def f(")), 0)
    context = FixContext({PATH: source}, {PATH: frozenset({line})}, {}, {(PATH, line): frozenset({inputs})})
    values: dict[str, Any] = {"severity": Severity.WARNING, "kind": Kind.BREAK, "code": code, **changes}
    diagnostic = Diagnostic("1", PATH, span, message="", stack=(StackFrame(PATH, span.start.line, "f"),), **values)
    return source, list(fixes_for(diagnostic, context, [row for row in FIXERS if row.family == family]))


def fixed(text: str, family: str, **changes: Any) -> tuple[str, bool] | None:
    """The text after the fix, without the head, and whether the fix is called safe; None where nothing is offered."""
    source, fixes = fixes_of(text, family, **changes)
    if not fixes:
        return None
    head = changes.get("head", HEAD).replace("\n", changes.get("newline", "\n"))
    after = source.apply(fixes[0].edits[PATH]).text
    return (after[len(head) :] if after.startswith(head) else after), fixes[0].safety.name == "SAFE"
