"""Whether a call can take the place of the expression that broke."""

from __future__ import annotations

import ast
from itertools import pairwise

from ..core.findings import Diagnostic, Kind
from .model import FixContext
from .regions import loses_frames
from .syntax import Place

_STATEMENTS = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.Assert, ast.For)


def can_be_call(place: Place, diagnostic: Diagnostic, context: FixContext) -> bool:
    """Whether a disabled call here splits the frame and no more.

    Not in a loop, a comprehension or an unresumable block, where the whole frame would stay eager; not where the value is
    what Dynamo cannot handle (a context manager, what a loop runs over); not in a generator, coroutine or lambda.
    """
    if not isinstance(place.node, ast.expr) or isinstance(getattr(place.node, "ctx", None), (ast.Store, ast.Del)) or place.in_loop:
        return False
    if loses_frames(place, diagnostic, context) or not _is_value(place):
        return False
    return diagnostic.kind is Kind.BREAK or _was_no_call(place, diagnostic)


def _was_no_call(place: Place, diagnostic: Diagnostic) -> bool:
    """Whether a frame that runs eagerly would only split if a call stood here: Dynamo resumes after calls, outside of blocks."""
    return not place.in_block and (not isinstance(place.node, ast.Call) or diagnostic.code == "GB0033")


def _is_value(place: Place) -> bool:
    """Whether the node is part of what its statement computes."""
    statement = place.statement
    if not isinstance(statement, _STATEMENTS) or isinstance(place.chain[-2], ast.Await):
        return False
    for outer, inner in pairwise(place.inside):
        is_target = inner in (getattr(outer, "target", None), getattr(outer, "annotation", None)) or inner in getattr(outer, "targets", ())
        if is_target or (outer is statement and isinstance(outer, ast.For) and inner is place.node):
            return False
    return True
