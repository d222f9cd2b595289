"""Reads the cases in `tests/cases/*.md`: code with carets under what is to be found, and the text that a fix must give.

A fix is fenced as `fix TITLE`, or as `fix TITLE · CLAIM`. It is tried, and must be accepted as a safe one, or as what it claims:

    ```fix Move `print("mid")` into a disabled helper                       safe, and accepted
    ```fix Remove the `print` · changes behaviour                           of that safety, and accepted
    ```fix Keep the tensor · refused: lays bare 1 further break             not accepted, for a reason with these words
    ```fix Remove the `print` · changes behaviour · refused: lays bare      both
    ```fix Ignore GB0059 on this line · untried                             a comment is all that it changes, and nothing is shown after it
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
_FENCE = re.compile(r"^```(\w+) ?(.*)$")
_CARETS = re.compile(r"^(\s*)#(\s*)(\^+) (\S+) (\S+)\s*$")


@dataclass(frozen=True, order=True)
class Mark:
    """What carets mark: 0-based line and columns, code, kind."""

    line: int
    start: int
    end: int
    code: str
    kind: str


@dataclass
class Case:
    """One heading of a file: its code, what is found in it, and its fixes as (head, text afterwards from its first change on)."""

    name: str
    code: str = ""
    marks: list[Mark] = field(default_factory=list)
    fixes: list[tuple[str, str]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """What the head of a fix says: its title, its safety by its label, words of the reason why it is refused (`""`: it is not), and whether
    it is one that is never tried."""

    title: str
    safety: str = "safe"
    refused: str = ""
    untried: bool = False


def claim_of(head: str) -> Claim:
    """What stands behind `fix` on the line that opens it."""
    title, *claims = head.split(" · ")
    refused = next((claim.removeprefix("refused:").strip() for claim in claims if claim.startswith("refused:")), "")
    safety = next((claim for claim in claims if not claim.startswith("refused:") and claim != "untried"), "safe")
    return Claim(title, safety, refused, "untried" in claims)


def all_cases() -> list[Case]:
    """Every case of every file, in order."""
    return [case for path in sorted(FOLDER.glob("*.md")) for case in read(path.read_text(encoding="utf-8"), path.stem)]


def read(text: str, stem: str) -> list[Case]:
    """The cases of one file. Headings inside fenced blocks are comments of the code, not headings."""
    cases: list[Case] = []
    block: list[str] | None = None
    language = title = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if block is None and fence:
            block, language, title = [], fence.group(1), fence.group(2)
        elif block is not None and line == "```":
            _close(cases[-1], language, title, block)
            block = None
        elif block is not None:
            block.append(line)
        elif line.startswith("#"):
            cases.append(Case(f"{stem}: {line.lstrip('# ')}"))
    return [case for case in cases if case.code]


def _close(case: Case, language: str, title: str, block: list[str]) -> None:
    if language == "py":
        case.code, case.marks = unmark(block)
    elif language == "fix":
        case.fixes.append((title, "\n".join(block) + "\n"))


def unmark(lines: list[str]) -> tuple[str, list[Mark]]:
    """Code without its caret lines, and what they mark in the line above them."""
    code: list[str] = []
    marks: list[Mark] = []
    for line in lines:
        found = _CARETS.match(line)
        if found:
            start = found.start(3)
            marks.append(Mark(len(code) - 1, start, start + len(found.group(3)), found.group(4), found.group(5)))
        else:
            code.append(line)
    return "\n".join(code) + "\n", marks


def mark(code: str, marks: list[Mark]) -> str:
    """Code with caret lines, as a case has it: what a failing test shows, and what belongs into the file when it is right."""
    lines = []
    for number, line in enumerate(code.splitlines()):
        lines.append(line)
        for found in sorted(one for one in marks if one.line == number):
            lines.append("#" + " " * (found.start - 1) + "^" * (found.end - found.start) + f" {found.code} {found.kind}")
    return "\n".join(lines) + "\n"
