"""Example calls that a project's pyproject.toml has for functions: `"models/net.py::Net.forward" = "Net(32)(torch.randn(4, 32))"`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .comments import expression_error
from .entries import Entry, EntryError, below, read_entry
from .source import SourceFile, Span


@dataclass(frozen=True)
class Example:
    """An example call for the function `name` of the file `path`. `span` is where it is written in `file`, the pyproject.toml, and `utf8`
    the column of that in bytes. `key` is the function as it is named there, `error` why the call is none.
    `recorded` is the call as it was recorded (see `recorded`), where it is not an expression."""

    key: str
    path: str
    name: str
    expression: str
    file: str
    span: Span
    utf8: int = 0
    error: str = ""
    recorded: str = ""


@dataclass(frozen=True)
class Surroundings:
    """Where settings are written: the pyproject.toml with its text, and whether a path is that of a file."""

    source: SourceFile
    exists: Callable[[str], bool]

    @property
    def folder(self) -> str:
        """The folder that paths are relative to, with `/` between the parts."""
        return self.source.path.replace("\\", "/").rpartition("/")[0]


def read_examples(value: object, problems: list[str], where: Surroundings) -> tuple[Example, ...]:
    """The examples in a table; a sentence for each that is none goes to `problems`. Raises TypeError where it is no table."""
    if not isinstance(value, Mapping):
        raise TypeError('expected a table such as {"net.py::Net.forward" = "Net()(torch.randn(4))"}')
    found: list[Example] = []
    for key, calls in value.items():
        name = f'tool.graphbreak.examples."{key}"'
        path, _, function = str(key).partition("::")
        texts = [calls] if isinstance(calls, str) else calls
        if not path.endswith(".py") or not function:
            problems.append(f"{name} is ignored: expected a file and a function in it, such as net.py::Net.forward")
        elif not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            problems.append(f"{name} is ignored: expected an example call, or a list of them")
        elif not where.exists(absolute := below(where.folder, path)):
            problems.append(f"{name} is ignored: there is no {absolute}")
        else:
            found += _examples(str(key), absolute, function, texts, where.source)
    return tuple(found)


def _examples(key: str, path: str, function: str, texts: list[str], source: SourceFile) -> Iterator[Example]:
    for text, (start, end) in zip(texts, _places(source.text, key, texts)):
        span = Span(source.position(start), source.position(end))
        utf8 = len(source.line(span.start.line)[: span.start.column].encode("utf-8", "surrogatepass"))
        yield Example(key, path, function, text.strip(), source.path, span, utf8, expression_error(text.strip()))


def _places(text: str, key: str, values: list[str]) -> Iterator[tuple[int, int]]:
    """Where each value is written behind its key; the key itself for one that is written otherwise than it reads (with escapes)."""
    written = re.search(rf"""(["']){re.escape(key)}\1\s*=""", text)
    start, at = (written.start() + 1, written.end()) if written else (0, 0)
    for value in values:
        found = text.find(value.strip(), at)
        if written and found >= 0:
            at = found + len(value.strip())
            yield found, at
        else:
            yield start, start + len(key) if written else 0


def read_entries(value: object, problems: list[str], where: Surroundings) -> tuple[Entry, ...]:
    """The entries in a list; a sentence for each that is none goes to `problems`. Raises TypeError where it is no list of texts."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError('expected a list such as ["train.py --epochs 1", "tests/test_net.py::test_forward", "pkg.mod:main"]')
    found: list[Entry] = []
    for text in value:
        try:
            found.append(read_entry(text, where.folder, where.exists))
        except EntryError as error:
            problems.append(f"tool.graphbreak.entries: `{text}` {error}")
    return tuple(dict.fromkeys(found))
