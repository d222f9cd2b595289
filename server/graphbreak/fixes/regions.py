"""What a break says about the compiled frames around it, so that no fix takes operations out of a graph.

Lines of diagnostics and contexts are 0-based, those of `ast` begin at 1.
"""

from __future__ import annotations

import ast
import re

from ..core.findings import Diagnostic, Effect, Kind, Severity, StackFrame
from ..core.nodes import tree_of
from .model import FixContext
from .syntax import DEFINITIONS, Function, Place, dotted, first_line, last_line, locate

DISABLED_ALREADY = frozenset({"GB0098", "GB0099"})
_BRANCH = re.compile(r"data.dependent (branch|assert)", re.IGNORECASE)
_WITHOUT_TENSORS = re.compile(
    r"[\\/]lib(64)?[\\/](python3\.\d+t?[\\/])?(codecs|datetime|genericpath|getpass|inspect|io|json|linecache|locale|logging|ntpath|os|pathlib|"
    r"platform|posixpath|queue|random|re|selectors|shutil|socket|string|subprocess|tempfile|textwrap|threading|traceback|uuid|warnings)(\.py$|[\\/])",
    re.IGNORECASE,
)
"""Files of the standard library that neither compute with tensors nor call anything that does."""


def broken_place(diagnostic: Diagnostic, context: FixContext) -> Place | None:
    """Where the break stands, if running it outside the graph can help.

    It cannot where the code is disabled already, where `fullgraph=True` forbids every break, and where the line is
    not compiled itself but only calls the compiled library code that broke.
    """
    right_kind = diagnostic.severity is not Severity.ERROR and diagnostic.code.startswith("GB")
    return compiled_place(diagnostic, context) if right_kind else None


def compiled_place(diagnostic: Diagnostic, context: FixContext) -> Place | None:
    """Where the break stands, if a rewrite there can help: in code that is compiled itself. Errors of `fullgraph=True` included."""
    source = context.sources.get(diagnostic.path)
    if source is None or diagnostic.kind not in (Kind.BREAK, Kind.SKIPPED) or diagnostic.code in DISABLED_ALREADY:
        return None
    place = locate(source, diagnostic.span)
    if place is None or place.function is None or not _is_compiled(place.function, diagnostic, context):
        return None
    return place


def is_branch(diagnostic: Diagnostic) -> bool:
    """Whether the break is the decision that a condition takes, rather than its computation."""
    return diagnostic.code in ("GB0170", "GB0034", "GB0035") or bool(_BRANCH.match(diagnostic.gb_type))


def is_marked(function: ast.AST, path: str, context: FixContext) -> bool:
    """Whether a function is marked for compile."""
    lines = range(first_line(function), getattr(function, "lineno", 1))
    return not context.marked.get(path, frozenset()).isdisjoint(lines)


def is_entry(function: Function, diagnostic: Diagnostic) -> bool:
    """Whether the compiled region begins with this function, marked or not."""
    return bool(diagnostic.stack) and _is_in(diagnostic.stack[0], function, diagnostic.path)


def loses_frames(place: Place, diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether, because of the break, other frames than that of its own function run eagerly: nothing done inside it gets them back."""
    if diagnostic.kind is not Kind.SKIPPED:
        return False
    eager = [frame for frame in diagnostic.frames if frame.effect is Effect.EAGER and frame.path in context.sources]
    own = place.functions[-1]
    lines = range(first_line(own), own.lineno)
    return not eager or any(frame.path != diagnostic.path or frame.line not in lines for frame in eager)


def captures(path: str, node: ast.AST, context: FixContext) -> bool:
    """Whether operations on the lines of a node went into a graph."""
    lines = range(getattr(node, "lineno", 1) - 1, last_line(node) + 1)
    return not context.captured.get(path, frozenset()).isdisjoint(lines)


def calls_captured(place: Place, function: ast.AST, context: FixContext) -> bool:
    """Whether a function may call code that was captured in a frame of its own, or that is unknown because it was handed in."""
    names = _captured_names(context)
    own = _methods(place)
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        callee = dotted(call.func)
        head, _, tail = callee.rpartition(".")
        if tail in names or (head in ("self", "cls") and tail not in own) or (not head and tail in _handed_in(place)):
            return True
    return False


def callee_may_capture(diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether the call that broke led into library code whose operations may be in a graph."""
    frames = diagnostic.stack
    own = next((i for i in range(len(frames) - 1, -1, -1) if not frames[i].library), -1)
    entered = frames[own + 1 :] if own >= 0 else ()
    lines = range(diagnostic.span.start.line, diagnostic.span.end.line + 1)
    on_graph = not context.captured.get(diagnostic.path, frozenset()).isdisjoint(lines)
    return on_graph and not all(_WITHOUT_TENSORS.search(frame.path) for frame in entered)


def surrounding_lines(place: Place, function: ast.AST) -> range:
    """The lines of the functions around one function; empty for one that stands in none."""
    around = [outer for outer in place.functions if outer is not function]
    return range(first_line(around[0]), last_line(around[0]) + 1) if around else range(0)


def runs_compiled(lines: range, function: ast.AST, diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether code on some lines, outside a function that stands in them, was part of a compiled frame."""
    outside = set(lines) - set(range(first_line(function), last_line(function) + 1))
    stack = {frame.line for frame in diagnostic.stack if frame.path == diagnostic.path}
    return not outside.isdisjoint(context.captured.get(diagnostic.path, frozenset()) | stack)


def _is_compiled(function: Function, diagnostic: Diagnostic, context: FixContext) -> bool:
    """False for the caller of a compiled library function: it stands first in the stack and is no compiled frame itself."""
    if not is_entry(function, diagnostic) or is_marked(function, diagnostic.path, context) or not diagnostic.frames:
        return True
    lines = range(first_line(function), function.lineno)
    return any(frame.path == diagnostic.path and frame.line in lines for frame in diagnostic.frames)


def _is_in(frame: StackFrame, function: ast.AST, path: str) -> bool:
    return frame.path == path and first_line(function) <= frame.line <= last_line(function)


def _captured_names(context: FixContext) -> set[str]:
    """The names of all functions of the workspace that are marked or have operations in a graph."""
    names = set()
    for path, source in context.sources.items():
        for node in ast.walk(tree_of(source) or ast.Module([], [])):
            if isinstance(node, DEFINITIONS) and (captures(path, node, context) or is_marked(node, path, context)):
                names.add(node.name)
    return names


def _methods(place: Place) -> set[str]:
    classes = [node for node in place.chain if isinstance(node, ast.ClassDef)]
    return {node.name for node in classes[-1].body if isinstance(node, DEFINITIONS)} if classes else set()


def _handed_in(place: Place) -> set[str]:
    """The parameters of the functions around the place: calling one runs code that nobody can name."""
    return {node.arg for function in place.functions for node in ast.walk(function.args) if isinstance(node, ast.arg)}
