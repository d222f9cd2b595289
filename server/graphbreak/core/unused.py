"""Ignore comments that do nothing: they hid no diagnostic of code that was traced, or name what is no code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .comments import Ignore
from .findings import Diagnostic, FunctionResult, Kind, Outcome, Severity
from .ignores import covers, is_code, no_code
from .marks import Marks
from .reach import Reach
from .source import SourceFile, Span


@dataclass(frozen=True)
class Wish:
    """One thing that a comment asks to ignore: a code, or with `word` empty everything. `span` is what is written for it.

    `id` is the same in the reports of all files whose runs come by, so that a comment that one of them needs is no unused one.
    """

    id: str
    path: str
    word: str
    span: Span
    ignore: Ignore

    def is_granted_by(self, diagnostics: Iterable[Diagnostic], source: SourceFile) -> bool:
        """Whether it hides one of them."""
        return any(found.path == self.path and covers(self.ignore, found, source) for found in diagnostics)


def check_ignores(
    files: Iterable[tuple[SourceFile, Marks]],
    diagnostics: Sequence[Diagnostic],
    rows: Sequence[FunctionResult],
    reach: Reach,
) -> tuple[list[Diagnostic], frozenset[str]]:
    """The comments in some files that do nothing, and the ids of the wishes that did something."""
    found: list[Diagnostic] = []
    used: set[str] = set()
    for source, marks in files:
        for wish in wishes(source, marks.ignores):
            if wish.word and not is_code(wish.word):
                found.append(_diagnostic(wish, f"{no_code(wish.word)}."))
            elif wish.is_granted_by(diagnostics, source):
                used.add(wish.id)
            elif reach.whole and _was_looked_at(wish, source, marks, rows, reach):
                found.append(_diagnostic(wish, _unused_message(wish)))
    return found, frozenset(used)


def wishes(source: SourceFile, ignores: Sequence[Ignore]) -> Iterator[Wish]:
    """What the comments of one file ask for, a code written twice in one comment once."""
    seen: dict[str, int] = {}
    for ignore in ignores:
        text = source.line(ignore.span.start.line).strip()
        number = seen[text] = seen.get(text, 0) + 1
        words = dict(zip(reversed(ignore.codes), reversed(ignore.code_spans))) or {"": ignore.span}
        for word, span in sorted(words.items(), key=lambda item: item[1]):
            own = replace(ignore, codes=(word,) if word else ())
            yield Wish(_id(source.path, text, number, word), source.path, word, span if len(words) > 1 else ignore.span, own)


def still_unused(diagnostics: Iterable[Diagnostic], used: Iterable[frozenset[str]]) -> Iterator[Diagnostic]:
    """Of what several reports say, all but the comments that one of them calls unused and another needs (`used`, by report)."""
    needed = frozenset[str]().union(*used)
    return (found for found in diagnostics if found.kind is not Kind.UNUSED_IGNORE or found.id not in needed)


def _id(path: str, text: str, number: int, word: str) -> str:
    key = repr((path, text, number, word.upper()))
    return "unused-ignore:" + hashlib.sha1(key.encode("utf-8", "replace")).hexdigest()[:12]


def _was_looked_at(wish: Wish, source: SourceFile, marks: Marks, rows: Sequence[FunctionResult], reach: Reach) -> bool:
    """Whether what it speaks of was traced; of a file all that is marked in it, or without any mark every function."""
    line = wish.ignore.line
    if line is not None:
        return reach.passed(source, line)
    marked = {mark.span.start.line for mark in marks.marks if not mark.options.disabled}
    traced = {row.mark_span.start.line for row in rows if row.mark_path == source.path and row.outcome is Outcome.TRACED}
    return marked <= traced if marked else reach.all_entered(source)


def _unused_message(wish: Wish) -> str:
    where = "in this file" if wish.ignore.line is None else "here"
    if wish.word:
        return f"Unused ignore: `{wish.word}` did not occur {where} when the code was traced."
    return f"Unused ignore: there was nothing to ignore {where} when the code was traced."


def _diagnostic(wish: Wish, message: str) -> Diagnostic:
    return Diagnostic(
        id=wish.id,
        path=wish.path,
        span=wish.span,
        severity=Severity.HINT,
        kind=Kind.UNUSED_IGNORE,
        code=Kind.UNUSED_IGNORE.value,
        message=message,
    )
