"""Random edits of a program that change nothing of what it does: comments, empty lines, layout, and functions that it never enters."""

from __future__ import annotations

import ast
import io
import random
import tokenize

IDLE = """

def never_entered(x, scale=2):
    if x is None:
        return [part * scale for part in range(3)]
    return x


class NeverMade:
    def never_entered_either(self):
        while True:
            print("no")
"""
"""Functions that nothing calls, to be put behind a program."""

_COMMENTS = ("# a remark", "#", "#:  über  ", "# print('x')", "# TODO: x = 1")
_BODIES = ("pass", "x_ = 1", "import os", "y_ = [i for i in range(3)]", "raise RuntimeError('no')", "print('other')", "return 5")


def with_edits(text: str, seed: int, idle: set[str]) -> str:
    """The text after one to six of them. `idle` are the names of functions that were never entered."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 6)):
        edited = chance.choice(_EDITS)(text, chance, idle)
        if edited != text and _is_alike(text, edited, idle):
            text = edited
    return text


def _is_alike(old: str, new: str, idle: set[str]) -> bool:
    """Whether an edit did what it is for: no text in strings was hit. Told by another way than the product's."""
    try:
        before, after = _Blanked(idle).visit(ast.parse(old)), _Blanked(idle).visit(ast.parse(new))
    except SyntaxError:
        return False
    return ast.dump(before) == ast.dump(after)


class _Blanked(ast.NodeTransformer):
    def __init__(self, idle: set[str]) -> None:
        self._idle = idle

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name in self._idle:
            node.body = [ast.Pass()]
        return self.generic_visit(node)


def _comment_line(text: str, chance: random.Random, idle: set[str]) -> str:
    lines = text.splitlines(keepends=True)
    at = chance.randint(0, len(lines))
    indent = " " * chance.choice((0, 2, 4, 7))
    lines.insert(at, f"{indent}{chance.choice(_COMMENTS)}\n")
    return "".join(lines)


def _empty_lines(text: str, chance: random.Random, idle: set[str]) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(chance.randint(0, len(lines)), chance.choice(("\n", "\n\n\n", "    \n", "\f\n")))
    return "".join(lines)


def _without_empty_line(text: str, chance: random.Random, idle: set[str]) -> str:
    lines = text.splitlines(keepends=True)
    empty = [number for number, line in enumerate(lines) if not line.strip()]
    if empty:
        del lines[chance.choice(empty)]
    return "".join(lines)


def _comment_behind(text: str, chance: random.Random, idle: set[str]) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    lines[at] += "  " + chance.choice(_COMMENTS)
    return "\n".join(lines)


def _layout(text: str, chance: random.Random, idle: set[str]) -> str:
    """Put spaces, or a line end, behind a comma, an opening bracket or an operator."""
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.OP]
    if not tokens:
        return text
    row, column = chance.choice(tokens).end
    lines = text.splitlines(keepends=True)
    line = lines[row - 1]
    lines[row - 1] = line[:column] + chance.choice(("  ", "   ", "\n        ", " # why\n      ")) + line[column:]
    return "".join(lines)


def _brackets(text: str, chance: random.Random, idle: set[str]) -> str:
    """Brackets around what is returned, or another kind of quotes."""
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines)) if lines else 0
    head, word, tail = lines[at].rstrip("\n").partition("return ") if lines else ("", "", "")
    if word:
        lines[at] = f"{head}return ({tail})\n"
    elif lines and lines[at].count('"') == 2 and "'" not in lines[at] and "\\" not in lines[at]:
        lines[at] = lines[at].replace('"', "'")
    return "".join(lines)


def _idle_body(text: str, chance: random.Random, idle: set[str]) -> str:
    """Another statement at the start of a function that was never entered."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name in idle]
    if not functions:
        return text
    first = chance.choice(functions).body[0]
    lines = text.splitlines(keepends=True)
    lines.insert(first.lineno - 1, " " * first.col_offset + chance.choice(_BODIES) + "\n")
    return "".join(lines)


_EDITS = (_comment_line, _empty_lines, _without_empty_line, _comment_behind, _layout, _brackets, _idle_body)
