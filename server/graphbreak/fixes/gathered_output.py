"""Gather what is written as tensors and read the numbers after the graph, where the text is made.

Before:

    @torch.compile
    def f(x, step):
        y = x * 2
        print(f"step {step}: mean {y.mean().item():.3f}")
        return y + 1

After:

    @torch.compiler.disable
    def _print_numbers(step, value):
        print(f"step {step}: mean {value.item():.3f}")


    torch._dynamo.config.reorderable_logging_functions.add(_print_numbers)


    @torch.compile
    def f(x, step):
        y = x * 2
        _print_numbers(step, y.mean())
        return y + 1

The new function is not compiled itself, and being registered it makes no break. A number that a statement before reads for the text
alone (`mean = y.mean().item()`) is read there too. What is written, and in which order, stays; the setting holds for the whole process,
and a log record names the new function as its own.

When it is not safe: a tensor that is handed over as it is (`loss`, not `loss.mean()`) is shown as it is when the graph has ended. Where
the function changes something in place the fix is not offered, and where it calls what may, it says that it changes behaviour. So it does
in a helper, or in a module within the compiled one, of which torch 2.13 writes nothing once it is in the caller's graph; the fix's trial
sees that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from ..core.findings import Diagnostic, Fix, Safety
from ..core.parsing import parse_expression
from ..core.places import node_span
from ..core.source import Edit, SourceFile
from .edits import block_start, definition_above, finished, indent_unit, torch_name
from .extraction import Unmovable
from .fields import fields
from .imports import is_local
from .model import FixContext
from .names import identifiers, numbered
from .operations import COUNTED, REDUCED, operation
from .output import Output, written_by
from .regions import compiled_place
from .reorder_output import is_writer_of_module
from .syntax import COMPREHENSIONS, Place, dotted
from .uses import loads_of
from .waiting import DESCRIPTIONS, shown_in, waits, writes_itself

_READ = frozenset({"item", "tolist"})
_NUMBERS = frozenset({"float", "int", "bool"})
_CODES = frozenset({"GB0124", "GB0033", "GB0109"})
_PLAIN_METHODS = frozenset({"size", "dim", "numel", "format", "join"})
_PLAIN_CALLS = _NUMBERS | {"len", "str", "repr", "round", "tuple", "list", "min", "max", "abs"}
_CLOSED = (*COMPREHENSIONS, ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred)


@dataclass(frozen=True)
class _Hole:
    """What of a call's text the new function is given: offsets in the file, the text of the value, and what stands there instead (with
    `{}` for the parameter)."""

    start: int
    end: int
    passed: str
    wish: str
    text: str = "{}"


def gathered_output(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Hand the tensors over to a function that reads the numbers and writes."""
    place = compiled_place(diagnostic, context)
    torch = torch_name(place.source, block_start(place.source, place.top)) if place is not None else None
    if place is None or torch is None:
        return None
    try:
        output, kept, edits = _output(place, diagnostic)
        holes = _holes(output, kept)
    except (Unmovable, SyntaxError):
        return None
    if not holes or not is_writer_of_module(output) or any(keyword.arg == "stacklevel" for keyword in output.call.keywords):
        return None
    passed = [edits[0].text if hole.passed in kept else hole.passed for hole in holes]
    safety = waits(place, place.statement, [node for text in passed for node in shown_in(parse_expression(text).body)])
    if safety is None:
        return None
    safety = safety if writes_itself(place, diagnostic) else Safety.CHANGES_BEHAVIOUR
    title = f"Write the {output.noun} after the graph, its numbers read there (reorderable_logging_functions, for the whole process)"
    edits = (*torch[1], *edits, *_through_helper(output, holes, torch[0]))
    return finished(title, place.source, edits, safety)


def _output(place: Place, diagnostic: Diagnostic) -> tuple[Output, Mapping[str, str], tuple[Edit, ...]]:
    """The statement that writes, which names are tensors there in place of numbers, and the edit that makes them so.

    Raises `Unmovable` where nothing reads a number in order to write it.
    """
    output = written_by(place, place.statement)
    if output is not None and (diagnostic.code in _CODES or any(_is_read(part) for part in ast.walk(output.call))):
        return output, {}, ()
    statement = place.statement
    tensor, text = _number(statement.value) if isinstance(statement, ast.Assign) else (None, "")
    if not isinstance(statement, ast.Assign) or tensor is None or diagnostic.code not in _CODES or len(statement.targets) != 1:
        raise Unmovable
    name = dotted(statement.targets[0])
    loads = loads_of(place.functions[-1], name) or []
    around = {id(outer): outer for chain in loads for outer in chain if isinstance(outer, ast.Expr)}
    output = written_by(place, next(iter(around.values()))) if len(around) == 1 else None
    stores = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(place.functions[-1])) - len(loads)
    if output is None or stores != 1 or not all(output.statement in chain for chain in loads):
        raise Unmovable
    kept = place.source.slice(node_span(place.source, tensor))
    return output, {name: text}, (Edit(node_span(place.source, statement.value), kept),)


def _number(value: ast.expr) -> tuple[ast.expr | None, str]:
    """The tensor that a number is read from, and how it is read from `{}`."""
    if isinstance(value, ast.Call) and _is_read(value) and isinstance(value.func, ast.Attribute):
        return value.func.value, f"{{}}.{value.func.attr}()"
    if isinstance(value, ast.Call) and dotted(value.func) in _NUMBERS and len(value.args) == 1 and not value.keywords:
        return value.args[0], f"{dotted(value.func)}({{}})"
    return None, ""


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READ and not node.args


def _is_reduction(node: ast.AST) -> bool:
    found = operation(node) if isinstance(node, ast.Call) else None
    return found is not None and found[0] in REDUCED | COUNTED and not _is_read(node)


def _holes(output: Output, kept: Mapping[str, str]) -> list[_Hole]:
    """What the call's text takes from its function. Raises `Unmovable` where something of it has to be computed there."""
    source = output.place.source
    spans = [node_span(source, node) for node in (*output.call.args, *(keyword.value for keyword in output.call.keywords))]
    return [hole for span in spans for hole in _holes_in(output.place, kept, source.slice(span), source.offset(span.start))]


def _holes_in(place: Place, kept: Mapping[str, str], text: str, start: int) -> Iterator[_Hole]:
    """The same of an expression's text, which begins at an offset of the file."""
    source = SourceFile("", f"({text})")
    yield from _holes_of(place, kept, source, start - 1, parse_expression(source.text).body)


def _holes_of(place: Place, kept: Mapping[str, str], source: SourceFile, base: int, node: ast.AST) -> Iterator[_Hole]:
    span = node_span(source, node) if isinstance(node, ast.expr) else None
    if isinstance(node, _CLOSED):
        raise Unmovable
    if isinstance(node, ast.JoinedStr) and span is not None:
        for offset, field in fields(source.slice(span), node):
            yield from _holes_in(place, kept, field, base + source.offset(span.start) + offset)
        return
    whole = _handed_over(place, node)
    if whole is not None:
        place_of = node_span(source, whole)
        name = dotted(whole).rpartition(".")[2]
        offsets = base + source.offset(place_of.start), base + source.offset(place_of.end)
        yield _Hole(*offsets, source.slice(place_of), name or "value", kept.get(name, "{}"))
        return
    if isinstance(node, ast.Call) and not _is_plain(node):
        raise Unmovable
    inner = [node.func.value] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else []
    children = (
        (*inner, *node.args, *(keyword.value for keyword in node.keywords)) if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
    )
    for child in children:
        yield from _holes_of(place, kept, source, base, child)


def _handed_over(place: Place, node: ast.AST) -> ast.expr | None:
    """What is handed over of an expression as one value: a tensor that a number is read from, a reduction, a local name or attribute."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_read(node):
        return node.func.value
    if isinstance(node, ast.Call) and _is_reduction(node):
        return node
    name = dotted(node)
    if not name or not is_local(place, name.split(".")[0]) or not isinstance(node, ast.expr):
        return None
    return None if isinstance(node, ast.Attribute) and node.attr in DESCRIPTIONS else node


def _is_plain(call: ast.Call) -> bool:
    """Whether a call only describes what it is given."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _PLAIN_METHODS or _is_read(call)
    return dotted(call.func) in _PLAIN_CALLS


def _through_helper(output: Output, holes: list[_Hole], torch: str) -> tuple[Edit, ...]:
    """A function of the module that writes, registered, and the call of it in place of the original."""
    source, top = output.place.source, output.place.top
    span = node_span(source, output.call)
    start, text = source.offset(span.start), source.slice(span)
    parameters = _parameters(holes, identifiers(_blanked(text, [(hole.start - start, hole.end - start) for hole in holes])))
    for hole in sorted(holes, key=lambda hole: hole.start, reverse=True):
        text = text[: hole.start - start] + hole.text.format(parameters[hole.passed]) + text[hole.end - start :]
    name = _name(output)
    newline = source.newline
    head = f"@{torch}.compiler.disable{newline}def {name}({', '.join(parameters.values())}):{newline}{indent_unit(top, source)}{text}"
    setting = f"{torch}._dynamo.config.reorderable_logging_functions.add({name})"
    return (definition_above(source, top, head + newline * 3 + setting), Edit(span, f"{name}({', '.join(parameters)})"))


def _name(output: Output) -> str:
    """A new name. Two statements of one file get two, so that the fixes for both can be made together."""
    method = output.callee.rpartition(".")[2]
    calls = (
        node for node in ast.walk(output.place.module) if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == method
    )
    earlier = sum((node.lineno, node.col_offset) < (output.call.lineno, output.call.col_offset) for node in calls)
    used = identifiers(output.place.source.text)
    free = (name for name in numbered(f"_{method.strip('_')}_numbers") if name not in used)
    return next(islice(free, earlier, None))


def _parameters(holes: list[_Hole], kept: frozenset[str]) -> dict[str, str]:
    """A name for each value that is passed: its own where it has one, none of those that the text keeps."""
    used = set(kept) | {hole.passed for hole in holes if hole.passed.isidentifier()}
    found: dict[str, str] = {}
    for hole in holes:
        if hole.passed not in found:
            own = hole.passed.isidentifier()
            found[hole.passed] = hole.passed if own else next(name for name in numbered(hole.wish) if name not in used)
            used.add(found[hole.passed])
    return found


def _blanked(text: str, parts: list[tuple[int, int]]) -> str:
    for start, end in parts:
        text = text[:start] + " " * (end - start) + text[end:]
    return text
