"""Rewrites that nobody needs but may want: a clean function held to one graph, and a function split at a break that has to stay.

They are pure functions from the text and what was traced to a `Fix`, like the fixes, but answer no diagnostic by themselves and are not
tried: the first only states what the trace showed, the second makes other functions of one.
"""

from __future__ import annotations

from .extract_compiled import extract_compiled
from .fullgraph import fullgraph

__all__ = ["extract_compiled", "fullgraph"]
