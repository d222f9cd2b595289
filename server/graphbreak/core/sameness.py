"""Whether two texts are one program, alike but for comments, layout and the bodies of functions that never ran, and what is where now.

Lines are 1-based and columns are UTF-8 bytes, as Python counts them.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from .parsing import parse_module

Point = tuple[int, int]
_K = TypeVar("_K")
_V = TypeVar("_V")
_Function = ast.FunctionDef, ast.AsyncFunctionDef


class Moved(Exception):
    """A place of the old text that nobody can find in the new one."""


@dataclass
class Places:
    """Where the places of an old text are in a new one. A place that became several is None."""

    starts: dict[Point, Point | None] = field(default_factory=dict)
    ends: dict[Point, Point | None] = field(default_factory=dict)
    lines: dict[int, int | None] = field(default_factory=dict)
    last_lines: dict[int, int | None] = field(default_factory=dict)
    shifts: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For lines that are not of the program (comments that are run): the line, and by how much its columns moved."""
    changed: bool = True

    def line(self, line: int) -> int:
        """Where what begins on a line begins now; 0 is no line. Raises Moved."""
        return line if line == 0 else _found(self.shifts[line][0] if line in self.shifts else self.lines.get(line))

    def last_line(self, line: int) -> int:
        """Where what ends on a line ends now. Raises Moved."""
        return _found(self.shifts[line][0] if line in self.shifts else self.last_lines.get(line))

    def start(self, line: int, column: int) -> Point:
        """Where what begins at a place begins now. Raises Moved."""
        return self._shifted(line, column) or _found(self.starts.get((line, column)))

    def end(self, line: int, column: int) -> Point:
        """Where what ends at a place ends now. Raises Moved."""
        return self._shifted(line, column) or _found(self.ends.get((line, column)))

    def _shifted(self, line: int, column: int) -> Point | None:
        shift = self.shifts.get(line)
        return None if shift is None else (shift[0], column + shift[1])

    def note(self, old: ast.AST, new: ast.AST) -> None:
        """A node of the old text is this one of the new text."""
        line, last = getattr(old, "lineno", None), getattr(old, "end_lineno", None)
        if line is None or last is None:
            return
        end, new_end = _end(old), _end(new)
        _add(self.lines, line, new.lineno)  # type: ignore[attr-defined]
        _add(self.last_lines, last, new_end[0])
        _add(self.starts, _start(old), _start(new))
        _add(self.ends, end, new_end)
        if isinstance(old, ast.Attribute) and isinstance(new, ast.Attribute):  # from 3.11 on a method is looked up where its name stands
            size = len(old.attr.encode())
            _add(self.starts, (end[0], end[1] - size), (new_end[0], new_end[1] - size))
            _add(self.lines, end[0], new_end[0])


def same_program(old: str, new: str, idle: set[tuple[int, str]]) -> Places | None:
    """The places, where the two texts are the same program; None where they may not be, or cannot be read.

    `idle` are the functions of the old text that never ran, by their first line (that of a decorator, if there is one) and name.
    """
    if old == new:
        return Places(changed=False)
    if _surely_differ(old, new, idle):
        return None
    try:
        before, after = parse_module(old), parse_module(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    known = Counter((_first_line(node), node.name) for node in _outer_functions(before))
    places = Places()
    try:
        same = _Comparison(places, {key for key in idle if known[key] == 1}).same(before, after, True)
    except RecursionError:
        return None
    return places if same else None


def _surely_differ(old: str, new: str, idle: set[tuple[int, str]]) -> bool:
    """Whether two texts differ in a statement of the module that holds no idle function.

    One new text is compared with many old ones, nearly all of which differ so; what was made of a text is remembered.
    """
    before, after = _outline(old), _outline(new)
    if before is None or after is None:
        return False
    return len(before) != len(after) or any(one[0] != other[0] and not one[1] & idle for one, other in zip(before, after))


@lru_cache(maxsize=24)
def _outline(text: str) -> tuple[tuple[int, frozenset[tuple[int, str]]], ...] | None:
    """A hash of each statement of a module, without its places, and the functions in it; None where the text cannot be read."""
    try:
        return tuple(
            (
                hash(ast.dump(statement)),
                frozenset((_first_line(node), node.name) for node in ast.walk(statement) if isinstance(node, _Function)),
            )
            for statement in parse_module(text).body
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Comparison:
    """Walks two trees at once."""

    def __init__(self, places: Places, idle: set[tuple[int, str]]) -> None:
        self._places = places
        self._idle = idle

    def same(self, old: object, new: object, outer: bool) -> bool:
        """Whether two parts of the trees are one program. `outer` says that no function is around them."""
        if type(old) is not type(new):
            return False
        if isinstance(old, list) and isinstance(new, list):
            return len(old) == len(new) and all(self.same(one, other, outer) for one, other in zip(old, new))
        if not isinstance(old, ast.AST) or not isinstance(new, ast.AST):
            return old == new and repr(old) == repr(new)  # 0.0 and -0.0, 1 and True
        self._places.note(old, new)
        if isinstance(old, _Function) and isinstance(new, _Function) and outer and (_first_line(old), old.name) in self._idle:
            return self._same_from_outside(old, new)
        outer = outer and not isinstance(old, (*_Function, ast.Lambda))
        return all(self.same(getattr(old, name, None), getattr(new, name, None), outer) for name in old._fields)

    def _same_from_outside(self, old: ast.AST, new: ast.AST) -> bool:
        """Whether two functions cannot be told apart by who does not call them."""
        heads = all(self.same(getattr(old, name, None), getattr(new, name, None), True) for name in old._fields if name != "body")
        return heads and _nature(old) == _nature(new)


def _nature(function: ast.AST) -> tuple[object, ...]:
    """What of a function's body shows without calling it: its docstring, whether it is a generator, whether it needs its class."""
    assert isinstance(function, _Function)
    inside = [node for statement in function.body for node in ast.walk(statement)]
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    yields = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _own(function))
    return ast.get_docstring(function, clean=False), yields, bool(names & {"super", "__class__"})


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a function that are not in one inside of it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, (*_Function, ast.Lambda, ast.ClassDef)):
            yield from _own(child)


def _outer_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, _Function):
            yield child
        elif not isinstance(child, ast.expr):
            yield from _outer_functions(child)


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _start(node: ast.AST) -> Point:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> Point:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _add(known: dict[_K, _V | None], key: _K, value: _V) -> None:
    known[key] = value if known.get(key, value) == value else None


def _found(place: _V | None) -> _V:
    if place is None:
        raise Moved
    return place
