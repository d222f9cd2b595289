"""The text edits that fixes share: adding `import torch`, putting definitions in, and finishing a fix."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..core.findings import Fix, Safety
from ..core.nodes import parses, tree_of
from ..core.source import Edit, Position, SourceFile, Span
from .names import module_binders
from .syntax import first_line, last_line


def insertion(line: int, text: str) -> Edit:
    """Put text in at the start of a line."""
    return Edit(Span(Position(line, 0), Position(line, 0)), text)


def torch_name(source: SourceFile, before: int) -> tuple[str, tuple[Edit, ...]] | None:
    """What `torch` is called at the top level before a line, with the edit that imports it if it is missing.

    None where it cannot be said: another thing has the name, or the import is optional or comes later.
    """
    return module_name(source, "torch", before)


def module_name(source: SourceFile, wanted: str, before: int) -> tuple[str, tuple[Edit, ...]] | None:
    """The same for any top-level module."""
    module = tree_of(source)
    if module is None:
        return None
    for statement in module.body:
        for alias in statement.names if isinstance(statement, ast.Import) and first_line(statement) < before else ():
            if alias.name == wanted or (alias.name.startswith(wanted + ".") and alias.asname is None):
                return alias.asname or wanted, ()
    if module_binders(module, wanted):
        return None
    first = next((statement for statement in module.body if isinstance(statement, ast.Import)), None)
    if (
        wanted != "torch"
        and first is not None
        and first_line(first) < before
        and not source.line(first_line(first))[: first.col_offset].strip()
    ):
        return wanted, (insertion(first_line(first), f"import {wanted}{source.newline}"),)  # the standard library comes first
    line = imports_end(source, module)
    return (wanted, (insertion(line, _import_text(source, module, line, wanted)),)) if line <= before else None


def imports_end(source: SourceFile, module: ast.Module) -> int:
    """The line after the imports that the file begins with; without any, after its docstring; else its first line of code."""
    last = -1
    for index, statement in enumerate(module.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or (index == 0 and _is_string(statement)):
            last = last_line(statement)
        else:
            break
    if last >= 0:
        return last + 1
    return block_start(source, module.body[0]) if module.body else 0


def block_start(source: SourceFile, statement: ast.stmt) -> int:
    """The line where a statement begins for its reader: the comments right above it belong to it."""
    line = first_line(statement)
    while line > 0 and source.line(line - 1).startswith("#") and not source.line(line - 1).startswith("#!"):
        line -= 1
    return line


def definition_above(source: SourceFile, statement: ast.stmt, text: str) -> Edit:
    """Put a definition above a statement of the module, two blank lines around it."""
    line, newline = block_start(source, statement), source.newline
    blank = 0
    while blank < line and not source.line(line - 1 - blank).strip():
        blank += 1
    above = newline * (2 - min(blank, 2)) if blank < line else ""
    return insertion(line, above + text + newline * 3)


def line_below(source: SourceFile, line: int, text: str, blank: int) -> Edit:
    """Put a line of code in before a line of the module, with blank lines around it: two before a definition."""
    newline = source.newline
    opening = newline if line >= len(source.lines) else ""
    following = next((number for number in range(line, len(source.lines)) if source.line(number).strip()), None)
    if following is None:
        return insertion(line, opening + newline * blank + text + newline)
    wanted = 2 if source.line(following).startswith(("@", "def ", "class ", "async def ")) else blank
    return insertion(line, newline * blank + text + newline + newline * (wanted - min(wanted, following - line)))


def line_after(source: SourceFile, statement: ast.stmt, text: str) -> Edit:
    """Put a line of code in behind a statement."""
    line = last_line(statement) + 1
    return insertion(line, (source.newline if line >= len(source.lines) else "") + text + source.newline)


def indent_unit(top: ast.AST, source: SourceFile) -> str:
    """One level of indentation as a statement of the module uses it."""
    body = getattr(top, "body", None)
    if isinstance(body, list) and body and body[0].lineno > top.lineno:  # type: ignore[attr-defined]
        line = source.line(first_line(body[0]))
        return line[: len(line) - len(line.lstrip())] or "    "
    return "    "


def indentation(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def finished(title: str, source: SourceFile, edits: tuple[Edit, ...], safety: Safety = Safety.SAFE) -> Fix | None:
    """The fix, its insertions at one place joined in their order; None if the file would not parse after it."""
    joined: dict[Span, str] = {}
    for edit in edits:
        joined[edit.span] = joined.get(edit.span, "") + edit.text
    merged = tuple(Edit(span, text) for span, text in sorted(joined.items()))
    return Fix(title, safety, {source.path: merged}) if parses_after(source, merged) else None


def parses_after(source: SourceFile, edits: Sequence[Edit]) -> bool:
    """Whether a file that parses still does after some edits. Only the statements of its top level that they touch are parsed again."""
    tree = tree_of(source)
    if tree is None:
        return parses(source.apply(edits))
    parts = [range(first_line(statement), last_line(statement) + 1) for statement in tree.body]
    regions: list[tuple[int, int, list[Edit]]] = []
    for edit in sorted(edits, key=lambda edit: edit.span):
        first, last = _widened(edit.span.start.line, edit.span.end.line, parts)
        if regions and first <= regions[-1][1]:
            begin, end, joined = regions.pop()
            first, last = _widened(min(first, begin), max(last, end), parts)
            regions.append((first, last, [*joined, edit]))
        else:
            regions.append((first, last, [edit]))
    return all(_region_parses(source, *region) for region in regions)


def _widened(first: int, last: int, parts: Sequence[range]) -> tuple[int, int]:
    """The lines with all of the statements that have a part on them."""
    for part in (*parts, *reversed(parts)):  # the later ones may share a line with earlier ones
        if part.start <= last and first <= part.stop - 1:
            first, last = min(first, part.start), max(last, part.stop - 1)
    return first, last


def _region_parses(source: SourceFile, first: int, last: int, edits: Sequence[Edit]) -> bool:
    text = "\n".join(source.lines[first : last + 1])
    moved = [
        Edit(Span.at(e.span.start.line - first, e.span.start.column, e.span.end.line - first, e.span.end.column), e.text) for e in edits
    ]
    return parses(SourceFile(source.path, text).apply(moved))


def shortened(text: str, limit: int = 40) -> str:
    """Code on one line, cut to what a title can hold."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _import_text(source: SourceFile, module: ast.Module, line: int, wanted: str) -> str:
    newline = source.newline
    after_import = line > 0 and any(isinstance(s, (ast.Import, ast.ImportFrom)) and last_line(s) == line - 1 for s in module.body)
    future = after_import and any(
        isinstance(s, ast.ImportFrom) and s.module == "__future__" and last_line(s) == line - 1 for s in module.body
    )
    opening = newline if (line >= len(source.lines)) else ""
    above = "" if line == 0 or (after_import and not future) else newline
    below = newline if source.line(line).strip() else ""
    return opening + above + f"import {wanted}" + newline + below


def _is_string(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
