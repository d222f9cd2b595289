"""Reads `sites.md`: break sites with the exact range of each written into the source, between ⟦ and ⟧."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^## (?P<name>.+)\n\n```py (?P<expected>.+)\n(?P<code>(?:.*\n)*?)```$", re.MULTILINE)
_OPEN, _CLOSE = "⟦", "⟧"


@dataclass(frozen=True, order=True)
class Mark:
    """A range as 0-based offsets of the text, with code and kind."""

    start: int
    end: int
    code: str
    kind: str


@dataclass(frozen=True)
class Site:
    """One block: the whole program and what is to be found in it."""

    name: str
    text: str
    marks: tuple[Mark, ...]

    @property
    def compares_callers(self) -> bool:
        """Whether the callers are part of what is expected."""
        return any(mark.kind == "caller" for mark in self.marks)

    def shown(self, marks: list[Mark]) -> str:
        """The program with these marks written into it, as the file has it: what a failing test shows."""
        points = [(mark.start, 1, _OPEN) for mark in marks] + [(mark.end, 0, _CLOSE) for mark in marks]
        text = self.text
        for offset, _, character in sorted(points, reverse=True):
            text = text[:offset] + character + text[offset:]
        return ", ".join(f"{mark.code} {mark.kind}" for mark in marks) + "\n" + text


def all_sites() -> list[Site]:
    """Every block of the file, in order."""
    text = Path(__file__).with_name("sites.md").read_text(encoding="utf-8")
    return [_site(match["name"], match["expected"], match["code"]) for match in _BLOCK.finditer(text)]


def _site(name: str, expected: str, code: str) -> Site:
    program = "import torch\n\n" + code
    if "torch.compile(" not in code and "@torch.compile\n" not in code:
        program += "\n\ntorch.compile(f)(torch.ones(4))\n"
    text, starts, ranges = "", [], []
    for character in program:
        if character == _OPEN:
            starts.append(len(text))
        elif character == _CLOSE:
            ranges.append((starts.pop(), len(text)))
        else:
            text += character
    kinds = [tuple(entry.split()) for entry in expected.split(", ")]
    assert not starts, name
    assert len(kinds) == len(ranges), name
    return Site(name, text, tuple(Mark(start, end, code, kind) for (start, end), (code, kind) in zip(sorted(ranges), kinds)))
