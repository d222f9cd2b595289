"""Who imports whom in a workspace, guessed from the texts: what a trace then really read is known better.

Imports are found by their words and not by a parser, so that thousands of files are quick to look through. One in a string does no harm.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>[.\t ]*)(?P<module>[\w.]*)[ \t]*import\b[ \t]*(?P<names>\([^)]*\)|(?:[^\n;#\\]|\\\r?\n)*)"
    r"|import[ \t]+(?P<modules>(?:[^\n;#\\]|\\\r?\n)*))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")
_ALIAS = re.compile(r"\s+as\s+\w+")
_NAME = re.compile(r"[\w.]+")


@dataclass(frozen=True)
class Import:
    """One module that is imported, `level` folders up if it is relative, and the names that are taken from it."""

    module: str
    level: int = 0
    names: tuple[str, ...] = ()


def imports_in(text: str) -> tuple[Import, ...]:
    """The imports of a file, wherever they stand in it, each once."""
    found: dict[Import, None] = {}
    for match in _IMPORT.finditer(text):
        if match["modules"] is not None:
            found.update(dict.fromkeys(Import(name) for name in _names(match["modules"])))
        else:
            found[Import(match["module"], match["dots"].count("."), tuple(_names(match["names"])))] = None
    return tuple(found)


def _names(text: str) -> list[str]:
    return _NAME.findall(_ALIAS.sub("", _COMMENT.sub("", text)))


class ImportGraph:
    """The files of a workspace by their paths (with `/` between the parts), each with its imports. `roots` are the workspace folders.

    A name can stand for several files, since programs are run from many folders: the one nearest to the file that imports it is meant.
    """

    def __init__(self, files: Mapping[str, Sequence[Import]], roots: Sequence[str]) -> None:
        self._files = files
        self._roots = [root.rstrip("/") for root in roots]
        self._imported: dict[str, frozenset[str]] = {}

    def imported_by(self, path: str) -> frozenset[str]:
        """The files that a file imports itself."""
        if path not in self._imported:
            found = {target for one in self._files.get(path, ()) for target in self._targets(path, one)}
            self._imported[path] = frozenset(found - {path})
        return self._imported[path]

    def reached_from(self, path: str) -> dict[str, int]:
        """The files that are imported when a file runs, itself included, each with the number of imports in between."""
        return _distances(path, self.imported_by)

    def reaching(self, path: str) -> dict[str, int]:
        """The files that import a file, by others or themselves, itself included, each with the number of imports in between."""
        return _distances(path, lambda target: self._importers.get(target, ()))

    def importers_of(self, path: str) -> list[str]:
        """The files that import a file themselves."""
        return self._importers.get(path, [])

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        importers: dict[str, list[str]] = {}
        for path in self._files:
            for target in self.imported_by(path):
                importers.setdefault(target, []).append(path)
        return importers

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The files that each dotted name may stand for."""
        names: dict[str, list[str]] = {}
        for path in self._files:
            for name in self._names_of(path):
                names.setdefault(name, []).append(path)
        return names

    @cached_property
    def _packages(self) -> frozenset[str]:
        """The names that an import of something in the workspace can begin with."""
        return frozenset(name.partition(".")[0] for name in self._by_name)

    def _names_of(self, path: str) -> set[str]:
        """The names under which a file can be imported: from a workspace folder or its `src`, from its package's folder, from its own."""
        folder, file = posixpath.split(path)
        bases = {base for root in self._roots for base in (root, f"{root}/src") if path.startswith(base + "/")}
        own = folder if file != "__init__.py" else posixpath.dirname(folder)
        bases.add(own)
        while f"{own}/__init__.py" in self._files and posixpath.dirname(own) != own:
            own = posixpath.dirname(own)
            bases.add(own)
        module = posixpath.dirname(path) if file == "__init__.py" else path.removesuffix(".py")
        return {module[len(base) :].strip("/").replace("/", ".") for base in bases if module.startswith(base.rstrip("/") + "/")}

    def _targets(self, path: str, one: Import) -> Iterator[str]:
        """The files that an import runs: the packages on the way, the module, and those of the names that are modules themselves."""
        if one.level:
            yield from self._relative(path, one)
            return
        parts = one.module.split(".")
        if parts[0] not in self._packages:
            return
        dotted = [".".join(parts[: number + 1]) for number in range(len(parts))]
        for name in (*dotted, *(f"{one.module}.{name}" for name in one.names)):
            if candidates := self._by_name.get(name):
                yield _nearest(path, candidates)

    def _relative(self, path: str, one: Import) -> Iterator[str]:
        folder = posixpath.dirname(path)
        for _ in range(one.level - 1):
            folder = posixpath.dirname(folder)
        base = posixpath.join(folder, *one.module.split(".")) if one.module else folder
        for module in (base, *(f"{base}/{name}" for name in one.names)):
            yield from (file for file in (f"{module}.py", f"{module}/__init__.py") if file in self._files)


def _nearest(path: str, candidates: list[str]) -> str:
    """The file that shares most of its path with another one."""
    if len(candidates) == 1:
        return candidates[0]
    parts = path.split("/")

    def shared(other: str) -> int:
        return next((number for number, (one, two) in enumerate(zip(parts, other.split("/"))) if one != two), len(parts))

    return min(candidates, key=lambda other: (-shared(other), other.count("/"), other))


def _distances(start: str, neighbours: Callable[[str], Iterable[str]]) -> dict[str, int]:
    found = {start: 0}
    border: list[str] = [start]
    while border:
        further = dict.fromkeys(other for path in border for other in neighbours(path) if other not in found)
        found.update((path, found[border[0]] + 1) for path in further)
        border = list(further)
    return found
