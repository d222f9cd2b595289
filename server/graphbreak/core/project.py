"""The settings of a project: what `[tool.graphbreak]` in its pyproject.toml says. Wrong values are left out and named, never raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .asking import Wish, read_wish
from .entries import Entry
from .examples import Example, Surroundings, read_entries, read_examples
from .findings import Report
from .globs import matches
from .ignores import is_code, no_code
from .source import SourceFile

FILE_NAME = "pyproject.toml"

ALL = "*"
"""In place of a code: whatever it is."""

NOT_YET = frozenset({"severity"})
"""Keys that are spoken for and that this version does not read."""


@dataclass(frozen=True)
class ProjectSettings:
    """What one pyproject.toml sets. `folder` is where it lies, with `/` between the parts; `problems` are sentences about it.

    A further key is a field here and a row in `_READERS`.
    """

    file: str = ""
    folder: str = ""
    ignore: tuple[str, ...] = ()
    """Codes, in upper case."""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Patterns for paths below `folder`, each with its codes."""
    problems: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    entries: tuple[Entry, ...] = ()
    wish: Wish = field(default_factory=Wish)

    def examples_of(self, path: str) -> list[Example]:
        """The example calls for functions of a file."""
        return [example for example in self.examples if example.path == _plain(path)]

    def entries_of(self, path: str) -> list[Entry]:
        """The ways to run a file."""
        return [entry for entry in self.entries if entry.path == _plain(path)]

    def hides(self, path: str, code: str) -> bool:
        """Whether diagnostics of a code are to be ignored in a file."""
        wanted = {code.upper(), ALL}
        if wanted.intersection(self.ignore):
            return True
        below = self.folder.rstrip("/") + "/"
        plain = _plain(path)
        return plain.startswith(below) and any(
            wanted.intersection(codes) and matches(plain[len(below) :], pattern) for pattern, codes in self.per_file_ignores
        )


Projects = Callable[[str], ProjectSettings]
"""The settings that count for a file, by its path."""


def no_project(path: str) -> ProjectSettings:
    """For a file that belongs to no project."""
    return ProjectSettings()


def with_project(report: Report, projects: Projects) -> Report:
    """The report with what is to be said of the settings of its files."""
    settings = dict.fromkeys(projects(path) for path in report.sources)
    problems = tuple(sentence for one in settings for sentence in one.problems)
    return replace(report, problems=(*report.problems, *problems), settings_problems=problems)


def read_project(file: str, table: object, text: str = "", exists: Callable[[str], bool] = lambda path: True) -> ProjectSettings:
    """The settings in the `[tool.graphbreak]` table of a file: `text` is all of it. `exists` says whether there is a file at a path."""
    folder = _plain(file).rpartition("/")[0]
    where = Surroundings(SourceFile(file, text), exists)
    if not isinstance(table, Mapping):
        return ProjectSettings(file, folder, problems=(f"{file}: tool.graphbreak must be a table.",))
    known: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in table.items():
        if key in _READERS or key in _PLACED_READERS:
            try:
                if key in _READERS:
                    name, read = _READERS[key]
                    known[name] = read(value, problems)
                else:
                    known[_FIELDS.get(str(key), str(key))] = _PLACED_READERS[key](value, problems, where)
            except TypeError as error:
                problems.append(f"tool.graphbreak.{key} is ignored: {error}")
        elif key not in NOT_YET:
            problems.append(f"tool.graphbreak has no setting `{key}`; it is ignored")
    return ProjectSettings(file, folder, problems=tuple(f"{file}: {problem}." for problem in problems), **known)


def _plain(path: str) -> str:
    return path.replace("\\", "/")


def _read_codes(value: object, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise TypeError('expected a list of codes, such as ["GB0059"]')
    codes = [code.strip() for code in value]
    problems += [f"tool.graphbreak: {no_code(code)}" for code in codes if code != ALL and not is_code(code)]
    return tuple(code.upper() for code in codes)


def _read_per_file(value: object, problems: list[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise TypeError("expected a table of patterns, each with a list of codes")
    found = []
    for pattern, codes in value.items():
        try:
            found.append((str(pattern), _read_codes(codes, problems)))
        except TypeError as error:
            problems.append(f'tool.graphbreak.per-file-ignores."{pattern}" is ignored: {error}')
    return tuple(found)


_READERS: dict[str, tuple[str, Callable[[object, list[str]], Any]]] = {
    "ignore": ("ignore", _read_codes),
    "per-file-ignores": ("per_file_ignores", _read_per_file),
}
"""For each key its field and its reader, which gets a list for sentences about parts of the value."""

_PLACED_READERS: dict[str, Callable[[object, list[str], Surroundings], Any]] = {
    "examples": read_examples,
    "entries": read_entries,
    "sandbox": lambda value, problems, where: read_wish(value, where.folder),
}
_FIELDS = {"sandbox": "wish"}
"""The same for those that need to know where they are written; the field has the key's name."""
