"""Keep what is written, after the graph: tell Dynamo that the function may be called once the graph has run.

Before:

    @torch.compile
    def f(x):
        y = x * 2
        print("mid", y.shape)
        logger.info("step %d", 3)
        return y + 1

After (one fix each):

    torch._dynamo.config.reorderable_logging_functions.add(print)


    def _info(*args):
        logger.info(*args)


    torch._dynamo.config.reorderable_logging_functions.add(_info)


    @torch.compile
    def f(x):
        y = x * 2
        print("mid", f"{y.shape}")
        _info("step %d", 3)
        return y + 1

The setting holds for the whole process. Dynamo takes tensors, constants and formatted strings as arguments, and no
keywords; so a shape is passed as text, and what is written with keywords, by a logger or as another warning than the plain one
goes through a small function of the module. A log record names that function as its own.

When it is not safe: a tensor that is shown itself (`x`, not `x.mean()`) may change in place before the graph has ended, and would be
shown as it is then. Where the function changes something in place the fix is not offered, and where it calls what may, such as a module
(`self.norm(x)`), the fix says that it changes behaviour. So it does in a helper, or in a module within the compiled one: Dynamo takes it
into the caller's graph, and torch 2.13 then writes nothing at all, which the fix's trial sees. It is not offered either where keywords
or the logger come from the function itself.
"""

from __future__ import annotations

import ast
from itertools import takewhile

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from .edits import block_start, definition_above, finished, imports_end, indent_unit, line_below, torch_name
from .imports import is_local
from .model import FixContext
from .names import fresh, is_rebound, module_binders, numbered
from .output import Output, output_at
from .syntax import dotted, last_line
from .waiting import shown_in, waits, writes_itself

_DIRECT = frozenset({"print", "warnings.warn"})


def reorder_output(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Register the function that writes, or a helper that calls it."""
    output = output_at(diagnostic, context)
    torch = torch_name(output.place.source, block_start(output.place.source, output.place.top)) if output is not None else None
    safety = _can_wait(output) if output is not None else None
    if output is None or torch is None or safety is None:
        return None
    edits = _registered(output, torch[0]) if _is_direct(output) else _through_helper(output, torch[0])
    if edits is None:
        return None
    title = f"Write the {output.noun} after the graph (reorderable_logging_functions, for the whole process)"
    safety = safety if writes_itself(output.place, diagnostic) else Safety.CHANGES_BEHAVIOUR
    return finished(title, output.place.source, (*torch[1], *edits), safety)


def _is_direct(output: Output) -> bool:
    """Whether the function itself can be registered: no keywords, and for a warning no category."""
    return output.target in _DIRECT and not output.call.keywords and (output.kind != "warning" or len(output.call.args) == 1)


def _registered(output: Output, torch: str) -> tuple[Edit, ...]:
    source, module = output.place.source, output.place.module
    bound = [binder for name in (torch, output.callee.split(".")[0]) for binder in module_binders(module, name)[:1]]
    line = max([imports_end(source, module), *(last_line(binder) + 1 for binder in bound)])
    text = f"{torch}._dynamo.config.reorderable_logging_functions.add({output.callee})"
    setting = () if text in source.text else (line_below(source, line, text, 1),)
    return (*setting, *(edit for arg in output.call.args for edit in _as_text(output, arg)))


def _through_helper(output: Output, torch: str) -> tuple[Edit, ...] | None:
    """A function of the module that writes, registered, and the call of it in place of the original."""
    source, call, top = output.place.source, output.call, output.place.top
    if not is_writer_of_module(output):
        return None
    passed, kept = _split_arguments(output)
    if kept is None:
        return None
    body = f"{indent_unit(top, source)}{output.callee}({', '.join(['*args', *kept])})"
    blank = source.newline * 3

    def definition(name: str) -> str:
        return f"def {name}(*args):{source.newline}{body}{blank}{torch}._dynamo.config.reorderable_logging_functions.add({name})"

    wish = "_" + output.callee.rpartition(".")[2].strip("_")
    new = fresh(source, wish)
    name = next((other for other in takewhile(lambda other: other != new, numbered(wish)) if definition(other) in source.text), new)
    edits = (definition_above(source, top, definition(name)),) if name == new else ()
    shown = [edit for arg in passed for edit in _as_text(output, arg)]
    return (*edits, Edit(node_span(source, call.func), name), *shown, *_cut(output, passed))


def is_writer_of_module(output: Output) -> bool:
    """Whether a function above the statement's own can call what writes: a name of the module that is bound once, above it."""
    source, root = output.place.source, output.callee.split(".")[0]
    binders = module_binders(output.place.module, root)
    if is_local(output.place, root) or is_rebound(source, root) or len(binders) > 1:
        return False
    return all(last_line(binder) < output.place.top.lineno - 1 for binder in binders)


def _cut(output: Output, passed: list[ast.expr]) -> list[Edit]:
    """The edit that takes out the arguments behind those that are passed."""
    call, source = output.call, output.place.source
    if len(passed) == len(call.args) and not call.keywords:
        return []
    end = node_span(source, call).end
    start = node_span(source, passed[-1]).end if passed else node_span(source, call.func).end
    return [Edit(Span(start, Position(end.line, end.column)), ")" if passed else "()")]


def _split_arguments(output: Output) -> tuple[list[ast.expr], list[str] | None]:
    """What is passed to the helper, and the texts of what it adds itself; None where that belongs to the function."""
    call, source = output.call, output.place.source
    passed, fixed = list(call.args), []
    if output.kind == "warning":
        passed, fixed = passed[:1], [("", arg) for arg in passed[1:]]
    fixed += [(f"{keyword.arg}=" if keyword.arg else "**", keyword.value) for keyword in call.keywords]
    kept = []
    for prefix, value in fixed:
        if any(isinstance(node, ast.Name) and is_local(output.place, node.id) for node in ast.walk(value)):
            return passed, None
        if prefix == "stacklevel=":
            if not isinstance(value, ast.Constant) or not isinstance(value.value, int):
                return passed, None
            kept.append(f"stacklevel={value.value + 1}")
        else:
            kept.append(prefix + source.slice(node_span(source, value)))
    return passed, kept


def _as_text(output: Output, argument: ast.expr) -> list[Edit]:
    """A whole shape among the arguments, as a formatted string of it."""
    span = node_span(output.place.source, argument)
    text = output.place.source.slice(span)
    method = isinstance(argument, ast.Call) and not argument.args and dotted(argument.func).endswith(".size")
    if not (method or dotted(argument).endswith(".shape")) or not text.isprintable():
        return []
    return [Edit(Span(span.start, span.start), 'f"{'), Edit(Span(span.end, span.end), '}"')]


def _can_wait(output: Output) -> Safety | None:
    """How safe it is to show later what is to be shown now."""
    if any(isinstance(arg, ast.Starred) for arg in output.call.args) or any(
        isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for node in ast.walk(output.call)
    ):
        return None
    return waits(output.place, output.statement, [node for arg in output.call.args for node in shown_in(arg)])
