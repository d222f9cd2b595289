"""Which code Dynamo is known to have come through, so that silence about it means something."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..worker.protocol import BreakSeen, Failure, FrameCompiled, GraphSeen
from .nodes import tree_of
from .source import SourceFile
from .tracing import Finished, Run

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Reach:
    """The 0-based lines that were traced, by absolute path. `whole`: every run came to its end, and nothing in it failed."""

    lines: Mapping[str, frozenset[int]]
    whole: bool

    def passed(self, source: SourceFile, line: int) -> bool:
        """Whether the statement that a line belongs to was traced, from what was traced in it or behind it in its block.

        The head of a function counts as traced when anything in the function was; what stands outside of functions never is.
        """
        found = _statement_at(source, line)
        if found is None:
            return False
        function, rest = found
        if function in rest:
            return self.entered(source, function)
        numbers = self._own_lines(source, function)
        return any(_first_line(rest[0]) <= number + 1 <= _last_line(rest[-1]) for number in numbers)

    def entered(self, source: SourceFile, function: _Function) -> bool:
        """Whether anything in the body of a function was traced."""
        begin, end = _first_line(function.body[0]), _last_line(function)
        return any(begin <= number + 1 <= end for number in self._own_lines(source, function))

    def all_entered(self, source: SourceFile) -> bool:
        """Whether a file has functions, and each was traced."""
        tree = tree_of(source)
        functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)] if tree is not None else []
        return bool(functions) and all(self.entered(source, function) for function in functions)

    def _own_lines(self, source: SourceFile, function: _Function) -> Iterator[int]:
        """The traced lines of a function that are not those of a function inside it."""
        inner = [node for node in ast.walk(function) if isinstance(node, _FUNCTIONS) and node is not function]
        for number in self.lines.get(source.path, ()):
            if not any(node.lineno < number + 1 <= _last_line(node) for node in inner):
                yield number


def reach_of(runs: Sequence[Run]) -> Reach:
    """What some runs came through. The frames above a compiled one do not count: they ran, but Dynamo did not look at them."""
    lines: dict[str, set[int]] = {}
    for run in runs:
        for file, line in _places(run):
            lines.setdefault(file, set()).add(line - 1)
    whole = bool(runs) and all(isinstance(run.end, Finished) and not run.end.ended.status and not run.of(Failure) for run in runs)
    return Reach({path: frozenset(numbers) for path, numbers in lines.items()}, whole)


def _places(run: Run) -> Iterable[tuple[str, int]]:
    for lines in (*(frame.lines for frame in run.of(FrameCompiled)), *(graph.lines for graph in run.of(GraphSeen))):
        yield from ((str(file), int(line)) for file, line in lines)
    for record in run.of(BreakSeen):
        yield from ((place.file, place.line) for place in record.frames)


def _statement_at(source: SourceFile, line: int) -> tuple[_Function, list[ast.stmt]] | None:
    """The innermost statement of a line with those behind it in its block, and the function that it stands in (itself, for the head
    of a function)."""
    function: _Function | None = None
    rest: list[ast.stmt] = []
    blocks: list[list[ast.stmt]] = [tree.body] if (tree := tree_of(source)) is not None else []
    while blocks:
        block = blocks.pop()
        index = next((index for index, node in enumerate(block) if _first_line(node) - 1 <= line <= _last_line(node) - 1), None)
        if index is None:
            continue
        rest, node = block[index:], block[index]
        if isinstance(node, _FUNCTIONS):
            function, rest = node, [node]
        elif isinstance(node, ast.ClassDef):
            function = None
        blocks = list(_blocks(node))
    return (function, rest) if function is not None else None


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks directly inside a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _first_line(node: ast.stmt) -> int:
    """The line on which a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
