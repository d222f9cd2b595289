"""Patterns for paths: `*` and `?` within a folder or file name, `**` for any number of folders."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache


def matches(path: str, pattern: str) -> bool:
    """Whether a path with `/` between its parts, relative to the place that the pattern is written for, is meant by it.

    A pattern that ends with `/` means everything below that folder.
    """
    wanted = [part for part in (pattern + "**" if pattern.endswith("/") else pattern).split("/") if part not in ("", ".")]
    parts = path.split("/")

    @cache
    def from_here(part: int, want: int) -> bool:
        if want == len(wanted):
            return part == len(parts)
        if wanted[want] == "**":
            if want + 1 == len(wanted):
                return part < len(parts)
            return from_here(part, want + 1) or (part < len(parts) and from_here(part + 1, want))
        return part < len(parts) and fnmatchcase(parts[part], wanted[want]) and from_here(part + 1, want + 1)

    return from_here(0, 0)
