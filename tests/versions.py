"""Which Python and torch the workers have, and what of the expectations written down holds with others than those they were written for."""

from __future__ import annotations

from harness import worker_versions

HOME = ((3, 11), (2, 13))
"""The Python and the torch that codes, kinds and recorded truths in the tests were written for. With any other the programs are compared
with that torch's own trace (`parity`), and ranges wherever that torch breaks at the same expression."""


def at_home() -> bool:
    """Whether the workers have the Python and the torch that expectations were written for."""
    return worker_versions() == HOME


def has_columns() -> bool:
    """Whether the workers' Python knows columns."""
    return worker_versions()[0] >= (3, 11)


def label() -> str:
    """The workers' versions in words."""
    python, torch = (".".join(map(str, version)) for version in worker_versions())
    return f"torch {torch} on Python {python}"
