"""Where something stands in a file: the chain of syntax nodes from the module down to the code that a span covers.

All spans here are in code points, as everywhere in the server; `ast` itself counts UTF-8 bytes.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from ..core.nodes import tree_of
from ..core.places import node_span
from ..core.source import Position, SourceFile, Span

_Found = TypeVar("_Found")
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCKS = (ast.With, ast.AsyncWith, ast.Try, *([ast.TryStar] if hasattr(ast, "TryStar") else []))


@dataclass(frozen=True)
class Place:
    """The code under a span: `chain` runs from the module to the smallest node that covers it."""

    source: SourceFile
    chain: tuple[ast.AST, ...]

    @property
    def module(self) -> ast.Module:
        """The whole file."""
        assert isinstance(self.chain[0], ast.Module)
        return self.chain[0]

    @property
    def top(self) -> ast.stmt:
        """The statement of the module that holds it all."""
        assert isinstance(self.chain[1], ast.stmt)
        return self.chain[1]

    @property
    def node(self) -> ast.AST:
        """The smallest node."""
        return self.chain[-1]

    @property
    def statement(self) -> ast.stmt:
        """The innermost statement."""
        return next(node for node in reversed(self.chain) if isinstance(node, ast.stmt))

    @cached_property
    def _bodies(self) -> list[int]:
        return [i for i, (outer, inner) in enumerate(pairwise(self.chain)) if _in_body(outer, inner)]

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The functions whose bodies hold the node, outermost first."""
        found = (self.chain[i] for i in self._bodies)
        return tuple(node for node in found if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    @property
    def function(self) -> Function | None:
        """The innermost function whose body holds the node."""
        return self.functions[-1] if self.functions else None

    @property
    def inside(self) -> tuple[ast.AST, ...]:
        """The chain from the first node in the innermost function's body."""
        return self.chain[self._bodies[-1] + 1 :] if self._bodies else self.chain[1:]

    @property
    def in_loop(self) -> bool:
        """Whether the innermost function runs it again and again: in the body of a loop, or in a comprehension."""
        return any(_repeats(outer, inner) for outer, inner in pairwise(self.inside))

    @property
    def in_block(self) -> bool:
        """Whether it stands in a `with` or `try` of the innermost function, where Dynamo often cannot resume."""
        return any(isinstance(node, _BLOCKS) for node in self.inside)


@functools.lru_cache(maxsize=8)
def locate(source: SourceFile, span: Span) -> Place | None:
    """The place of a span. A span of a whole line, as PyTorch without columns gives it, is the expression its statement computes."""
    module = tree_of(source)
    if module is None:
        return None
    chain = _covering(source, module, span)
    statement = None if isinstance(chain[-1], ast.expr) else _statement_at(source, module, span.start)
    if statement is not None:
        chain = _covering(source, module, node_span(source, statement))
        chain = chain[: chain.index(statement) + 1]
        value = getattr(statement, "value", None) or getattr(statement, "test", None)
        chain += [value] if isinstance(value, ast.expr) else []
    return Place(source, tuple(chain)) if len(chain) > 1 else None


def first_line(node: ast.AST) -> int:
    """The 0-based line where a statement or function begins, its decorators included."""
    parts = (node, *getattr(node, "decorator_list", []))
    return int(min(part.lineno for part in parts)) - 1


def last_line(node: ast.AST) -> int:
    """The 0-based line where a node ends."""
    return int(getattr(node, "end_lineno", 0)) - 1


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes under a function, those of functions and classes inside it left out."""
    return iter(remembered(function, "_graphbreak_own", lambda: tuple(_own_nodes(function))))


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, (*DEFINITIONS, ast.Lambda)):
            yield from _own_nodes(child)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """What `ast.walk` gives, in its order."""
    return iter(remembered(node, "_graphbreak_all", lambda: tuple(ast.walk(node))))


def remembered(node: ast.AST, name: str, made: Callable[[], tuple[_Found, ...]]) -> tuple[_Found, ...]:
    """What was found once under a node, kept with it: each of very many breaks in a function asks for it again."""
    found: tuple[_Found, ...] | None = node.__dict__.get(name)
    if found is None:
        found = node.__dict__[name] = made()
    return found


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text; nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


def names_a_write(method: str) -> bool:
    """Whether a method or function writes to its operand by torch's convention: `add_`, and no `__add__`."""
    return method.endswith("_") and not method.endswith("__")


def _covering(source: SourceFile, module: ast.Module, span: Span) -> list[ast.AST]:
    chain: list[ast.AST] = [module]
    while (inner := _child_covering(source, chain[-1], span)) is not None:
        chain.append(inner)
    while isinstance(chain[-2:][0], ast.expr) and len(chain) > 2 and _extent(source, chain[-2]) == _extent(source, chain[-1]):
        chain.pop()  # Python before 3.12 gives the parts of an f-string the place of the whole
    return chain


def _child_covering(source: SourceFile, node: ast.AST, span: Span) -> ast.AST | None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and not first_line(child) <= span.start.line <= span.end.line <= last_line(child):
            continue  # of the many statements of a file most are told by their lines
        extent = _extent(source, child)
        if extent is not None and extent.contains(span):
            return child
    return None


def _statement_at(source: SourceFile, module: ast.Module, start: Position) -> ast.stmt | None:
    """The statement that begins at a place, if no other one follows it on its line."""
    line = [node for node in walk(module) if isinstance(node, ast.stmt) and node.lineno - 1 == start.line]
    found = next((node for node in line if node_span(source, node).start == start), None)
    if found is None or any(node not in ast.walk(found) for node in line):
        return None
    return found


def _extent(source: SourceFile, node: ast.AST) -> Span | None:
    """The text of a node with its decorators; for one without a place of its own, that of its parts."""
    own = [node_span(source, node)] if hasattr(node, "lineno") else []
    parts = getattr(node, "decorator_list", []) if own else ast.iter_child_nodes(node)
    spans = own + [extent for part in parts if (extent := _extent(source, part)) is not None]
    return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None


def _in_body(outer: ast.AST, inner: ast.AST) -> bool:
    if isinstance(outer, ast.Lambda):
        return inner is outer.body
    return isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner in outer.body


def _repeats(outer: ast.AST, inner: ast.AST) -> bool:
    if isinstance(outer, (ast.For, ast.AsyncFor)):
        return inner is not outer.iter and inner not in outer.orelse
    if isinstance(outer, ast.While):
        return inner not in outer.orelse
    return isinstance(outer, COMPREHENSIONS)
