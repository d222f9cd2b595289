"""What a worker said of a text, as it would say it of the same program laid out anew."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..worker.protocol import (
    BreakSeen,
    CallSeen,
    DeviceSeen,
    Ended,
    ExampleCall,
    FrameCompiled,
    GraphSeen,
    Guess,
    Inferred,
    Job,
    KnownMark,
    LimitHit,
    MarkSeen,
    Message,
    Place,
    Recompiled,
)
from .events import traceback_start
from .sameness import Moved, Places

MOVABLE = (MarkSeen, CallSeen, Inferred, BreakSeen, FrameCompiled, GraphSeen, Recompiled, LimitHit, DeviceSeen, Ended)
"""The messages whose every place is known here."""

_OWN_RULES = frozenset({"file", "files", "first_line", "function", "text", "compile_id"})
_REFERENCE = re.compile(
    r"""
    (?:(torch_dynamo_resume_in_[\w<>]*?_at_)(\d+)\ \()?    # the part of a function behind a break, which is named for a line
    ([^\s"'(]+\.py)(",\ line\ |:|\ line\ )(\d+)
    (?:(,\ in\ torch_dynamo_resume_in_[\w<>]*?_at_)(\d+))?
    """,
    re.VERBOSE,
)
_RESUMED = re.compile(r"(torch_dynamo_resume_in_[\w<>]*?_at_)(\d+)")


def same_question(old: Job, new: Job, places: Mapping[str, Places]) -> bool:
    """Whether two jobs ask the same of the same program. What the example calls of one are in the other is noted in `places`.

    Raises Moved.
    """
    for one, other in zip(old.calls, new.calls):
        path = one.file or old.path
        if path in places:
            places[path].shifts[one.line] = (other.line, other.column - one.column)
    return relocated_job(old, new, places) == new


def relocated_job(job: Job, new: Job, places: Mapping[str, Places]) -> Job:
    """The job with the texts of another one, and its places where they are there. Raises Moved."""
    move = _Move(places)
    return dataclasses.replace(
        job,
        text=new.text,
        overlay=new.overlay,
        calls=[move.call(call, job.path) for call in job.calls],
        guesses=[move.guess(guess) for guess in job.guesses],
        marks=[move.mark(mark) for mark in job.marks],
    )


SameLine = Callable[[str, int, int], bool]


def relocated(messages: Sequence[Message], output: str, places: Mapping[str, Places], same_line: SameLine) -> tuple[list[Message], str]:
    """Messages, and what was printed, with their places moved. `same_line` says whether a line of a file says what another one does now.

    Raises Moved where a place is not found again, or where a text would say something else.
    """
    if not all(isinstance(message, MOVABLE) for message in messages):
        raise Moved
    move = _Move(places, same_line)
    return [move.message(message) for message in messages], move.text(output)


class _Move:
    """Moves what is said of files whose text is another one now."""

    def __init__(self, places: Mapping[str, Places], same_line: SameLine = lambda path, old, new: True) -> None:
        self._places = {path: known for path, known in places.items() if known.changed}
        self._same_line = same_line
        names = {path.rpartition("/")[2] for path in self._places}
        self._mentions = re.compile("|".join(sorted(map(re.escape, names))) or r"(?!)")

    def line(self, path: str, line: int) -> int:
        return self._places[path].line(line) if path in self._places else line

    def place(self, place: Place) -> Place:
        known = self._places.get(place.file)
        if known is None:
            return place
        if place.function == "<module>" and place.column is None and place.line <= 1:
            return place
        first_line = place.first_line if place.function == "<module>" else known.line(place.first_line)
        if place.column is None and place.end_column is None:
            return dataclasses.replace(place, line=known.line(place.line), first_line=first_line)
        if place.column is None or place.end_column is None:
            raise Moved
        line, column = known.start(place.line, place.column)
        end_line, end_column = known.end(place.end_line or place.line, place.end_column)
        return dataclasses.replace(
            place,
            line=line,
            column=column,
            end_line=None if place.end_line is None else end_line,
            end_column=end_column,
            first_line=first_line,
        )

    def call(self, call: ExampleCall, path: str) -> ExampleCall:
        known = self._places.get(call.file or path)
        if known is None:
            return call
        line, column = known.start(call.line, call.column)
        return dataclasses.replace(call, line=line, column=column)

    def guess(self, guess: Guess) -> Guess:
        return dataclasses.replace(guess, line=self.line(guess.mark.file, guess.line), mark=self.place(guess.mark))

    def mark(self, mark: KnownMark) -> KnownMark:
        known = self._places.get(mark.file)
        if known is None:
            return mark
        return dataclasses.replace(mark, first_line=known.line(mark.first_line), last_line=known.last_line(mark.last_line))

    def message(self, message: Any) -> Any:
        """By the shape of its fields: places, a file with its first line, lists that end with a file and a line, and texts."""
        values = {one.name: getattr(message, one.name) for one in dataclasses.fields(message)}
        changed = {name: self.value(value) for name, value in values.items() if name not in _OWN_RULES}
        if values.get("file") in self._places and "first_line" in values:
            module = "<module>" in (values.get("function"), values.get("name"))
            changed["first_line"] = values["first_line"] if module else self.line(values["file"], values["first_line"])
        if "function" in values and "file" in values:
            changed["function"] = self.resumed(values["function"], values["file"])
        if isinstance(message, BreakSeen):
            changed["text"] = self.reason(message.text)
        return dataclasses.replace(message, **changed)

    def value(self, value: Any) -> Any:
        if isinstance(value, Place):
            return self.place(value)
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, list):
            return value
        if _is_line(value):
            return [*value[:-1], self.line(value[-2], value[-1])]
        moved = [self.value(item) for item in value]
        if value and all(len(item) == 2 and _is_line(item) for item in value if isinstance(item, list)) and isinstance(value[0], list):
            return [list(item) for item in dict.fromkeys(map(tuple, moved))]  # each line is told once
        return moved

    def resumed(self, name: str, path: str) -> str:
        return _RESUMED.sub(lambda found: f"{found[1]}{self.line(path, int(found[2]))}", name)

    def text(self, text: str, strict: bool = True) -> str:
        """A text with the lines that it refers to moved. Raises Moved where it also shows such a line, and that is another one now."""
        if not self._places:
            return text
        if strict and not self._all_are_references(text):
            raise Moved
        return _REFERENCE.sub(lambda found: self._referred(found, strict), text)

    def _all_are_references(self, text: str) -> bool:
        """Whether a text names files, and parts of functions behind a break, only where it is known how to read it."""
        known = list(_REFERENCE.finditer(text))
        resumed = sum((found[1] is not None) + (found[6] is not None) for found in known)
        files = sum(bool(self._paths(found[3])) for found in known)
        return len(_RESUMED.findall(text)) == resumed and len(self._mentions.findall(text)) <= files

    def _paths(self, name: str) -> list[str]:
        """Which of the files a name may be of; PyTorch cuts the front of some paths off, at any character."""
        return [path for path in self._places if path.endswith(name)]

    def _referred(self, found: re.Match[str], strict: bool) -> str:
        paths = self._paths(found[3])
        if not paths:
            return found[0]
        try:
            if len(paths) != 1 or not self._same_line(paths[0], int(found[5]), self.line(paths[0], int(found[5]))):
                raise Moved
            before, line, after = (None if found[at] is None else self.line(paths[0], int(found[at])) for at in (2, 5, 7))
        except Moved:
            if strict:
                raise
            return found[0]
        head, tail = (f"{found[1]}{before} (" if found[1] else ""), (f"{found[6]}{after}" if found[6] else "")
        return f"{head}{found[3]}{found[4]}{line}{tail}"

    def reason(self, text: str) -> str:
        """Of a break's text what stands behind the reason itself (tracebacks) is read by nobody."""
        split = traceback_start(text)
        first, newline, rest = text[:split].partition("\n")
        return self.text(first, strict=False) + newline + self.text(rest) + self.text(text[split:], strict=False)


def _is_line(value: list[Any]) -> bool:
    """Whether a list ends with a file and a line."""
    return len(value) >= 2 and isinstance(value[-1], int) and isinstance(value[-2], str)
