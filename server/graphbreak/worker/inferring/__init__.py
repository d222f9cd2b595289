"""Inputs from nothing: a call for a function or module that nothing calls, found by guessing and trying in eager mode.

`targets` says what is to be called, `building` (with `annotations`, `reading`, `names`, `sizes`) proposes values, `watching` makes one try,
`operations`, `errors` and `conditions` read from its failure what to change (`changes`), and `search` puts them together.
Where tries are dear they are made on fake tensors first; `undoing` takes back what those leave in the program.
"""

from .search import infer

__all__ = ["infer"]
