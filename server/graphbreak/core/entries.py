"""Entries: other ways to run a file than as a program without arguments, as a project or a user names them.

`train.py --epochs 1` is a script with its arguments, `tests/test_net.py::test_forward` a test, `pkg.mod:function` a function to call.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

_FUNCTION = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_TEST = re.compile(r"(?P<path>[^:]+\.py)::(?P<id>.+)", re.DOTALL)


class EntryKind(str, Enum):
    """What an entry names."""

    SCRIPT = "script"
    TEST = "test"
    FUNCTION = "function"


@dataclass(frozen=True)
class Entry:
    """One way to run a file. `text` is as it was written; `path` is absolute once the file was found.

    `arguments` are those of a script, or the ids of tests in the file (none: all of them); `function` is the qualified name of the function
    to call. `source` is whose word it is: the project's, or with `call` the user's or nobody's.
    """

    text: str
    kind: EntryKind
    path: str
    arguments: tuple[str, ...] = ()
    function: str = ""
    source: str = "project"

    @property
    def tests(self) -> list[str]:
        """The tests as pytest wants them named."""
        return [f"{self.path}::{test}" for test in self.arguments] or [self.path]

    def has_test(self, name: str) -> bool:
        """Whether a test of the file is among those named: by itself, with parameters, or by its class."""
        return not self.arguments or any(_same_test(name, asked.partition("[")[0]) for asked in self.arguments)


def _same_test(name: str, asked: str) -> bool:
    return name == asked or name.startswith(asked + "::")


class EntryError(Exception):
    """What is wrong with an entry, as the end of a sentence about it."""


def read_entry(text: str, folder: str, exists: Callable[[str], bool]) -> Entry:
    """The entry that a text in a project's file names; paths are relative to its folder. Raises EntryError."""
    text = text.strip()
    if test := _TEST.fullmatch(text):
        entry = Entry(text, EntryKind.TEST, "", (test["id"],))
        return _found(entry, [below(folder, test["path"])], exists)
    if function := _FUNCTION.fullmatch(text):
        module = function["module"].replace(".", "/")
        places = [below(folder, f"{start}{module}{end}") for start in ("", "src/") for end in (".py", "/__init__.py")]
        return _found(Entry(text, EntryKind.FUNCTION, "", function=function["name"]), places, exists)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise EntryError(f"cannot be split into words: {error}") from error
    if not words or not words[0].endswith(".py"):
        raise EntryError(
            "is neither a script (train.py --epochs 1), a test (tests/test_net.py::test_forward) nor a function (pkg.mod:main)"
        )
    return _found(Entry(text, EntryKind.SCRIPT, "", tuple(words[1:])), [below(folder, words[0])], exists)


def _found(entry: Entry, places: list[str], exists: Callable[[str], bool]) -> Entry:
    for place in places:
        if exists(place):
            return replace(entry, path=place)
    raise EntryError(f"names a file that does not exist: {places[0]}")


def below(folder: str, path: str) -> str:
    """A path that is written relative to a folder, absolute and with `/` between the parts."""
    return posixpath.normpath(posixpath.join(folder, path.replace("\\", "/")))
