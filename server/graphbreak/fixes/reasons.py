"""Why something is kept out of the graph, in the few words that `torch.compiler.disable(reason=...)` takes.

Dynamo repeats them wherever it comes to what is disabled, so they say what breaks and not what the fix did.
"""

from __future__ import annotations

import ast

from ..core.findings import Diagnostic
from .regions import is_branch
from .syntax import dotted

_WORDS = {
    "GB0124": "takes a number out of a tensor",
    "GB0033": "takes a number out of a tensor",
    "GB0036": "the shape of its result depends on data",
}
"""For codes that say it better than the name of what is called."""


def disabled(torch: str, diagnostic: Diagnostic, node: ast.AST, callee: str = "") -> str:
    """`torch.compiler.disable` with a reason: a decorator, or for a callee the whole call."""
    given = f"{callee}, " if callee else ""
    return f'{torch}.compiler.disable({given}reason="{reason(diagnostic, node)}")'


def reason(diagnostic: Diagnostic, node: ast.AST) -> str:
    """What breaks at a node, without quotes, in at most about 60 characters."""
    if is_branch(diagnostic):
        return "branches on data"
    if diagnostic.code in _WORDS:
        return _WORDS[diagnostic.code]
    name = (dotted(node.func) or getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
    return f"Dynamo cannot trace {name}" if 0 < len(name) <= 40 else "Dynamo cannot trace it"
