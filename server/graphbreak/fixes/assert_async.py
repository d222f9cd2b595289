"""Check values in the graph where an `if` only raises: `torch._assert_async`.

Before:

    if labels is not None and labels.max() >= self.vocab_size:
        raise ValueError(f"Label values must be below {self.vocab_size}")

After:

    if labels is not None:
        torch._assert_async(~(labels.max() >= self.vocab_size), f"Label values must be below {self.vocab_size}")

The message stays. An exception that is raised from within a graph is a `RuntimeError`, whatever it was; the title says so.

When it is not safe: code that catches the exception by its type no longer does, and on a GPU the check fails later than it did, so it
always changes behaviour. It is not offered where the message shows values of tensors, which no graph can put into a text.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..core.findings import Diagnostic, Fix, Safety
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from .branches import Branch, branch_at
from .choices import Unfit, asked, comments_in
from .conditions import is_static, opposite, settings_of
from .edits import finished, indentation
from .model import FixContext
from .syntax import dotted, first_line, last_line
from .where_branch import indent_unit_of


def assert_async(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Replace an `if` that does nothing but raise."""
    branch = branch_at(diagnostic, context)
    if branch is None or not isinstance(branch.node, ast.If) or branch.node.orelse or len(branch.node.body) != 1:
        return None
    raised = branch.node.body[0]
    if not isinstance(raised, ast.Raise) or raised.exc is None:
        return None
    try:
        return _checked(branch, branch.node, raised.exc)
    except Unfit:
        return None


def _checked(branch: Branch, node: ast.If, exception: ast.expr) -> Fix | None:
    source, span = branch.place.source, node_span(branch.place.source, node)
    settings = settings_of(source, node.test)
    if settings is None or source.line(span.start.line)[: span.start.column].strip() or source.slice(span)[:4] == "elif":
        raise Unfit
    condition = asked(branch, settings[1])
    name, message = _message(branch, exception)
    check = f"{branch.torch}._assert_async({opposite(condition)}, {message})"
    indent = indentation(source.line(span.start.line))
    inner = indent + indent_unit_of(branch, indent) if settings[0] else indent
    lines = [f"{indent}if {settings[0]}:"] if settings[0] else []
    lines += [*(inner + comment for comment in comments_in(source, node)), inner + check]
    whole = Span(Position(first_line(node), 0), Position(last_line(node), len(source.line(last_line(node)))))
    instead = "" if name == "RuntimeError" else f", not {name}"
    title = f"Check it in the graph ({branch.torch}._assert_async, which raises RuntimeError{instead})"
    edits = (*branch.imports, Edit(whole, source.newline.join(lines)))
    fix = finished(title, source, edits, Safety.CHANGES_BEHAVIOUR)
    return replace(fix, needs=("torch._assert_async",)) if fix is not None else None


def _message(branch: Branch, exception: ast.expr) -> tuple[str, str]:
    """The name of the exception, and its message as the text of an expression."""
    source = branch.place.source
    if not isinstance(exception, ast.Call):
        return dotted(exception), f'"{dotted(exception)}"'
    name = dotted(exception.func)
    if not exception.args and not exception.keywords:
        return name, f'"{name}"'
    if not name or len(exception.args) != 1 or exception.keywords or not _is_known(branch, exception.args[0]):
        raise Unfit
    return name, source.slice(node_span(source, exception.args[0]))


def _is_known(branch: Branch, message: ast.expr) -> bool:
    """Whether a message is a string of which nothing depends on data."""
    if isinstance(message, ast.Constant):
        return isinstance(message.value, str)
    if not isinstance(message, ast.JoinedStr):
        return False
    shown = [part.value for part in message.values if isinstance(part, ast.FormattedValue)]
    return all(is_static(value) or (_is_setting(value) and dotted(value) not in branch.facts.tensors) for value in shown)


def _is_setting(node: ast.expr) -> bool:
    """`self.a.b`, `config.a` or a constant of the module."""
    name = dotted(node)
    return "." in name or name.isupper()
