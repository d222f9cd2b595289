"""Where the user is, as far as an editor tells: what was last done in which document decides what is traced first."""

from __future__ import annotations


class Attention:
    """The documents in the order in which something was done in them."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._count = 0
        self._here = ""
        self._lines: dict[str, int] = {}

    def opened(self, path: str) -> None:
        """A document was opened. An editor opens many at once when it starts, so that the user is in none of them yet."""
        self._count += 1
        self._last[path] = self._count

    def at(self, path: str, line: int | None = None) -> None:
        """The user types, hovers, selects or saves in a document, or went to it, at a line (0-based) where that is known."""
        self.opened(path)
        self._here = path
        if line is not None:
            self._lines[path] = line

    def line(self, path: str) -> int | None:
        """Where in a document something was last done."""
        return self._lines.get(path)

    def is_at(self, path: str) -> bool:
        """Whether this is the document that the user is in."""
        return path == self._here

    def rank(self, path: str) -> int:
        """A number that is the lower the later something was done in a document."""
        return -self._last.get(path, 0)
