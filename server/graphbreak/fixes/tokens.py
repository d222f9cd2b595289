"""What only tokens tell: which lines end inside a string, and where the comments are."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass
class LineTokens:
    """`open_strings`: the lines (0-based) whose ends lie inside a string. `comments`: the column and text of a line's comment."""

    open_strings: set[int] = field(default_factory=set)
    comments: dict[int, tuple[int, str]] = field(default_factory=dict)


def line_tokens(lines: list[str]) -> LineTokens | None:
    """The strings and comments of some lines of code; None where they cannot be read as Python."""
    return _line_tokens(tuple(lines))


@lru_cache(maxsize=8)
def _line_tokens(lines: tuple[str, ...]) -> LineTokens | None:
    found = LineTokens()
    opened: list[int] = []
    try:
        for token in _tokens(lines):
            kind, line, end = tokenize.tok_name[token.type], token.start[0] - 1, token.end[0] - 1
            if kind == "COMMENT":
                found.comments[line] = (token.start[1], token.string)
            elif kind == "STRING":
                found.open_strings.update(range(line, end))
            elif kind in ("FSTRING_START", "TSTRING_START"):  # Python 3.12 and 3.14 cut these strings into parts
                opened.append(line)
            elif kind in ("FSTRING_END", "TSTRING_END"):
                found.open_strings.update(range(opened.pop(), end))
    except (tokenize.TokenError, SyntaxError):
        return None
    return found


def _tokens(lines: Sequence[str]) -> Iterator[tokenize.TokenInfo]:
    ended = iter([line + "\n" for line in lines])
    return tokenize.generate_tokens(lambda: next(ended, ""))
