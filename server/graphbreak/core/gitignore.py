"""What a `.gitignore` leaves out: its lines as git reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FILE_NAME = ".gitignore"


@dataclass(frozen=True)
class Rule:
    """One line: which paths it is about, relative to its folder, and whether it takes them back in, or is for folders alone."""

    pattern: re.Pattern[str]
    back_in: bool
    folders_only: bool


@dataclass(frozen=True)
class Rules:
    """The lines of one file, for the folder that it lies in (with `/` between the parts of its path)."""

    folder: str
    rules: tuple[Rule, ...]

    def says(self, path: str, is_folder: bool) -> bool | None:
        """Whether a path is left out; None where no line is about it. The last one that is counts."""
        relative = path[len(self.folder.rstrip("/")) + 1 :]
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(relative):
                return not rule.back_in
        return None


def is_left_out(path: str, is_folder: bool, rules: Sequence[Rules]) -> bool:
    """Whether a file or folder is left out by the rules of the folders above it, the outermost first: the innermost that speaks counts."""
    answers = (one.says(path, is_folder) for one in reversed(rules))
    return next((answer for answer in answers if answer is not None), False)


def read_rules(folder: str, text: str) -> Rules:
    """The rules in the text of a `.gitignore`; what is no rule is left out."""
    return Rules(folder, tuple(rule for line in text.splitlines() if (rule := _rule(line)) is not None))


def _rule(line: str) -> Rule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    back_in = line.startswith("!")
    pattern = line[1:] if back_in else line
    folders_only, pattern = pattern.endswith("/"), pattern.rstrip("/")
    if not pattern or "[" in _PART.findall(pattern):  # one that is never closed matches nothing
        return None
    anywhere = "/" not in pattern
    try:
        return Rule(re.compile(("(?:.*/)?" if anywhere else "") + _expression(pattern.lstrip("/")), re.DOTALL), back_in, folders_only)
    except re.error:
        return None


_PART = re.compile(r"^\*\*/|/\*\*/|/\*\*$|\*+|\?|\[!?\]?[^\]]*\]|\\.|.", re.DOTALL)


def _expression(pattern: str) -> str:
    return "".join(map(_translated, _PART.findall(pattern)))


def _translated(part: str) -> str:
    known = {"**/": "(?:.*/)?", "/**/": "/(?:.*/)?", "/**": "/.+", "?": "[^/]"}
    if part in known:
        return known[part]
    if part.startswith("*"):
        return "[^/]*"
    if part.startswith("[") and len(part) > 1:
        inner = part[1:-1].replace("\\", "\\\\")
        return f"(?!/)[{'^' + inner[1:] if inner.startswith('!') else inner}]"
    return re.escape(part[1:] if part.startswith("\\") and len(part) > 1 else part)
