"""Split a compiled function at a break that has to stay: what comes before and behind it become two functions, each compiled as a whole.

Before:

    @torch.compile
    def step(x, path):
        y = x * 2
        z = y.relu()
        save(z, path)
        return z + y

After:

    @torch.compile
    def _step_before(x):
        y = x * 2
        z = y.relu()
        return y, z

    @torch.compile
    def _step_after(y, z):
        return z + y

    def step(x, path):
        y, z = _step_before(x)
        save(z, path)
        return _step_after(y, z)

When it is not safe: the function itself is no longer compiled, only its parts; who asks for its compiled form (`step.__wrapped__`) finds
another one. It is offered for functions of the module with a decorator, where the break stands in a statement of the body itself and every
name that crosses is bound for certain; not for generators, methods, and functions that ask for their own names (`locals()`, `nonlocal`).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..core.findings import Diagnostic, Fix, Kind, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, SourceFile, Span
from ..fixes.disable_helper import is_plain_function
from ..fixes.edits import finished, indentation
from ..fixes.names import fresh
from ..fixes.splitting import can_be_split, certainly, lines_of, loaded, only_mark, stored
from ..fixes.statements import has_own_lines
from ..fixes.syntax import Place, first_line, last_line, locate


@dataclass(frozen=True)
class _Split:
    """A function's body, cut at the statement that breaks. Each part may be a list of none."""

    function: ast.FunctionDef
    before: list[ast.stmt]
    middle: ast.stmt
    after: list[ast.stmt]


def extract_compiled(source: SourceFile, diagnostic: Diagnostic) -> Fix | None:
    """Split the function that a diagnostic stands in."""
    place = locate(source, diagnostic.span) if diagnostic.kind in (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED) else None
    split = _split(place) if place is not None else None
    decorator = only_mark(split.function) if split is not None else None
    if place is None or split is None or decorator is None or not _can_be_cut(source, split):
        return None
    crossing = _names(split)
    if crossing is None:
        return None
    text = _parts(source, split, decorator, *crossing)
    return finished(f"Compile what is before and behind this in `{split.function.name}`", source, text, Safety.CHANGES_BEHAVIOUR)


def _split(place: Place) -> _Split | None:
    function = place.functions[0] if len(place.functions) == 1 else None
    if not isinstance(function, ast.FunctionDef) or function is not place.top or not is_plain_function(function):
        return None
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    index = next((i for i, statement in enumerate(body) if statement in place.chain), None)
    if (
        index is None
        or not body[index + 1 :]
        or not any(isinstance(node, (ast.Call, ast.BinOp)) for s in body[:index] for node in ast.walk(s))
    ):
        return None
    return _Split(function, body[:index], body[index], body[index + 1 :])


def _can_be_cut(source: SourceFile, split: _Split) -> bool:
    if not can_be_split(split.function):
        return False
    if any(isinstance(node, ast.Return) for statement in split.before for node in ast.walk(statement)):
        return False
    return all(has_own_lines(source, statement) for statement in (split.middle, split.before[-1], split.after[0]))


def _names(split: _Split) -> tuple[list[str], list[str], list[str]] | None:
    """What the first part is given and gives, and what the second one is given; None where a name may not be bound."""
    arguments = [node.arg for node in ast.walk(split.function.args) if isinstance(node, ast.arg)]
    set_before, certain_before = stored(split.before), certainly(split.before)
    set_middle, certain_middle = stored([split.middle]), certainly([split.middle])
    later = loaded([split.middle]) | loaded(split.after)
    given = [name for name in arguments if name in loaded(split.before) | (later & set_before)]
    gives = [name for name in sorted(set_before) if name in later]
    known = dict.fromkeys([*arguments, *sorted(set_before), *sorted(set_middle)])
    behind = [name for name in known if name in loaded(split.after)]
    unsure = [n for n in {*gives, *behind} if n not in arguments and n not in certain_before | certain_middle]
    early = [name for name in gives if name not in certain_before and name not in arguments]
    return None if unsure or early or not gives else (given, gives, behind)


def _parts(
    source: SourceFile, split: _Split, decorator: ast.expr, given: list[str], gives: list[str], behind: list[str]
) -> tuple[Edit, ...]:
    function, newline = split.function, source.newline
    mark, own = f"@{source.slice(node_span(source, decorator))}", indentation(source.line(first_line(split.middle)))
    before, after = fresh(source, f"_{function.name.strip('_')}_before"), fresh(source, f"_{function.name.strip('_')}_after")
    first = [mark, f"def {before}({', '.join(given)}):", lines_of(source, split.before), f"{own}return {', '.join(gives)}"]
    second = [mark, f"def {after}({', '.join(behind)}):", lines_of(source, split.after)]
    above = newline.join([*first, "", "", *second, "", ""]) + newline
    start, end = Position(first_line(split.before[0]), 0), Position(last_line(split.before[-1]) + 1, 0)
    last = last_line(split.after[-1])
    return (
        Edit(Span(Position(first_line(function), 0), Position(function.lineno - 1, 0)), above),
        Edit(Span(start, end), f"{own}{', '.join(gives)} = {before}({', '.join(given)}){newline}"),
        Edit(
            Span(Position(first_line(split.after[0]), 0), Position(last, len(source.line(last)))),
            f"{own}return {after}({', '.join(behind)})",
        ),
    )
