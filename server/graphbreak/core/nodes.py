"""The syntax tree of a file, walked once: what stands on a line, and what is defined under a name."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

from .parsing import parse_module
from .source import SourceFile

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef
_WIDE = 64
"""Nodes of more lines than this are not noted at each of them."""


_MOST_FILES, _MOST_TEXT = 64, 1_000_000
"""How many trees are kept, and of how many characters together: a tree is a hundred times as large as its text."""


def tree_of(source: SourceFile) -> ast.Module | None:
    """The syntax tree of a file, or None where it does not parse."""
    return _nodes_of(source).tree


def parses(source: SourceFile) -> bool:
    """Whether a file parses, for a text that is asked about just once."""
    return _parsed(source) is not None


def _parsed(source: SourceFile) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the user's strings are not our output
            return parse_module(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Nodes:
    """The expressions and statements of a tree, and its definitions by name, in the order of `ast.walk`."""

    def __init__(self, tree: ast.Module | None) -> None:
        self.tree = tree
        self._nodes: list[ast.expr | ast.stmt] = []
        self._at: dict[int, list[int]] = {}
        self._wide: list[int] = []
        self.definitions: dict[str, list[Definition]] = {}
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.expr, ast.stmt)):
                self._add(node)

    def _add(self, node: ast.expr | ast.stmt) -> None:
        number, lines = len(self._nodes), _lines(node)
        self._nodes.append(node)
        if len(lines) > _WIDE:
            self._wide.append(number)
        else:
            for line in lines:
                self._at.setdefault(line, []).append(number)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.definitions.setdefault(node.name, []).append(node)

    def on(self, line: int) -> Iterator[ast.expr | ast.stmt]:
        """Those that have a part on a 0-based line."""
        wide = [number for number in self._wide if line in _lines(self._nodes[number])]
        return (self._nodes[number] for number in sorted(self._at.get(line, []) + wide))

    @property
    def functions(self) -> Iterator[Function]:
        """All functions, those inside others behind them."""
        return (node for node in self._nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _lines(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno - 1, node.end_lineno or node.lineno)


_KNOWN: dict[tuple[str, str], _Nodes] = {}


def _nodes_of(source: SourceFile) -> _Nodes:
    """The same object each time as long as it is kept, whichever thread asks: nodes are told apart by identity."""
    key = (source.path, source.text)
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN.setdefault(key, _Nodes(_parsed(source)))
        for old in list(_KNOWN)[:-1]:
            if len(_KNOWN) <= _MOST_FILES and sum(len(text) for _, text in list(_KNOWN)) <= _MOST_TEXT:
                break
            _KNOWN.pop(old, None)
    return found


def nodes_on(source: SourceFile, line: int) -> Iterator[ast.expr | ast.stmt]:
    """The expressions and statements that have a part on a 0-based line."""
    return _nodes_of(source).on(line)


def functions_in(source: SourceFile) -> Iterator[Function]:
    """The functions of a file."""
    return _nodes_of(source).functions


def definitions_of(source: SourceFile, name: str) -> Sequence[Definition]:
    """The functions and classes of a file that have a name."""
    return _nodes_of(source).definitions.get(name, ())
