"""Take out a statement that only writes something for people to read.

Before:

    y = x * 2
    print("mid", y.shape)
    return y + 1

After:

    y = x * 2
    return y + 1

A progress bar around what a loop runs over goes, and what it ran over stays: `for x in tqdm(xs)` becomes `for x in xs`.

When it is not safe: it changes what the program prints, logs or warns of, which the fix says. It is not offered where an
argument does something beside being computed (an assignment, a method that works in place).
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit
from .edits import finished
from .imports import resolved
from .model import FixContext
from .output import output_at
from .regions import compiled_place
from .statements import removed
from .syntax import Place, dotted, names_a_write

_BARS = {"tqdm.tqdm": "", "tqdm.trange": "range", "tqdm.auto.tqdm": "", "tqdm.auto.trange": "range", "tqdm.std.tqdm": "", "track": ""}
_BARS |= {"rich.progress.track": "", "tqdm.notebook.tqdm": "", "tqdm.rich.tqdm": ""}


def remove_output(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Remove the statement, or the progress bar, that broke."""
    output = output_at(diagnostic, context)
    if output is None:
        return _without_bar(diagnostic, context)
    if any(_acts(node) for node in ast.walk(output.call)):
        return None
    edit = removed(output.place, output.statement)
    return finished(f"Remove the {output.noun}", output.place.source, (edit,), Safety.CHANGES_BEHAVIOUR)


def _without_bar(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    found = bar_at(diagnostic, context)
    if found is None:
        return None
    place, bar, text = found
    edit = Edit(node_span(place.source, bar), text)
    return finished("Remove the progress bar", place.source, (edit,), Safety.CHANGES_BEHAVIOUR)


def bar_at(diagnostic: Diagnostic, context: FixContext) -> tuple[Place, ast.Call, str] | None:
    """The progress bar that broke, and the text of what it goes over."""
    place = compiled_place(diagnostic, context)
    calls = [node for node in place.chain if isinstance(node, ast.Call)] if place is not None else []
    calls += [node.iter for node in place.chain[-1:] if isinstance(node, ast.For) and isinstance(node.iter, ast.Call)] if place else []
    bar = next((call for call in reversed(calls) if place is not None and resolved(place, dotted(call.func)) in _BARS), None)
    if place is None or bar is None or not bar.args or any(isinstance(arg, ast.Starred) for arg in bar.args):
        return None
    source, builtin = place.source, _BARS[resolved(place, dotted(bar.func))]
    taken = bar.args if builtin else bar.args[:1]
    text = ", ".join(source.slice(node_span(source, arg)) for arg in taken)
    return place, bar, f"{builtin}({text})" if builtin else text


def _acts(node: ast.AST) -> bool:
    """Whether evaluating a node does more than compute a value."""
    if isinstance(node, ast.Call):
        name = dotted(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
        return names_a_write(name) or name in ("pop", "append", "update", "extend", "next", "send", "step")
    return isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
