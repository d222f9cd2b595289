"""The `# graphbreak: ...` comments of a file: example calls for a function, and breaks that are not to be shown."""

from __future__ import annotations

import re
import tokenize
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .parsing import parse_expression
from .recovery import TOO_DEEP, cleaned, recovered_tree
from .source import Position, SourceFile, Span

WORD = "graphbreak:"
"""What every such comment has in it."""

_PRAGMA = re.compile(r"#+\s*graphbreak:\s*")
_COMMENT = re.compile(r"#[^\n]*")
_IGNORE = re.compile(r"ignore(?P<file>-file)?(?:\s*\[(?P<codes>[^\]]*)\])?(?:[\s:,;]+(?P<reason>.*))?$")
_CODE = re.compile(r"[^\s,](?:[^,]*[^\s,])?")
_NEXT_PRAGMA = re.compile(r"\s+#+\s*(?=[a-zA-Z])")
_MOST_HASHES = 8


@dataclass(frozen=True)
class Directive:
    """An example call. `span` is the expression in the comment; `error` says why it is none.

    `target_line` is the line that the comment speaks of: the one right below the block of comments, whatever stands
    there, or the comment's own line where it follows code. `file` is where it is written, if that is another file (the project's), and
    `utf8` its column there in bytes; `recorded` is a call that was recorded, in place of an expression.
    """

    expression: str
    span: Span
    target_line: int
    error: str = ""
    file: str = ""
    utf8: int = 0
    recorded: str = ""


@dataclass(frozen=True)
class Ignore:
    """Breaks that are not to be shown: those with one of `codes` (all, where there are none) on `line` (None: in the whole file).

    `span` is the comment from its `#`, `code_spans` are the codes in it, each where it is written.
    """

    codes: tuple[str, ...]
    reason: str
    span: Span
    line: int | None
    code_spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Comments:
    """What the comments of one file say, in their order."""

    directives: tuple[Directive, ...] = ()
    ignores: tuple[Ignore, ...] = ()


def read_comments(source: SourceFile) -> Comments:
    """The `# graphbreak:` comments of a file; text in strings is none. Never raises."""
    if WORD not in source.text:
        return Comments()
    source = cleaned(source)
    below_comments = _next_lines(source.lines, _is_comment)
    next_code = _next_lines(source.lines, lambda line: not line.strip() or _is_comment(line))
    directives: list[Directive] = []
    ignores: list[Ignore] = []
    for start, comment in _comments(source):
        alone = not source.line(start.line)[: start.column].strip()
        if ignore := _ignore(comment, start, next_code[start.line + 1] if alone else start.line):
            ignores.append(ignore)
        elif pragma := _PRAGMA.match(comment):
            target = below_comments[start.line + 1] if alone else start.line
            directives.append(_directive(comment[pragma.end() :], Position(start.line, start.column + pragma.end()), target))
    return Comments(tuple(directives), tuple(ignores))


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _next_lines(lines: Sequence[str], passed_over: Callable[[str], bool]) -> list[int]:
    """For each line the first one from there on that is not passed over (the number of lines where there is none)."""
    result = [len(lines)] * (len(lines) + 1)
    for number in range(len(lines) - 1, -1, -1):
        result[number] = result[number + 1] if passed_over(lines[number]) else number
    return result


def _comments(source: SourceFile) -> list[tuple[Position, str]]:
    """Where the comments that speak to us begin, and their texts."""
    try:
        lines = iter([line + "\n" for line in source.lines])
        tokens = list(tokenize.generate_tokens(lambda: next(lines, "")))
    except (tokenize.TokenError, SyntaxError):
        return list(_recovered_comments(source))
    return [(Position(t.start[0] - 1, t.start[1]), t.string) for t in tokens if t.type == tokenize.COMMENT and WORD in t.string]


def _recovered_comments(source: SourceFile) -> Iterator[tuple[Position, str]]:
    """The same for a file that Python's tokenizer gives up on: parso keeps the comments before each leaf in its prefix."""
    offset = 0
    stack: list[Any] = [recovered_tree(source.text)]
    while stack:
        node = stack.pop()
        if hasattr(node, "children"):
            stack.extend(reversed(node.children))
            continue
        if WORD in node.prefix:
            for comment in _COMMENT.finditer(node.prefix):
                if WORD in comment.group():
                    yield source.position(offset + comment.start()), comment.group()
        offset += len(node.prefix) + len(node.value)


def _ignore(comment: str, start: Position, line: int) -> Ignore | None:
    """What is to be ignored, if the comment, or a later part of it as in `# noqa  # graphbreak: ignore`, says so."""
    for pragma in _PRAGMA.finditer(comment):
        if pragma.start() and not comment[pragma.start() - 1].isspace():
            continue
        text = _NEXT_PRAGMA.split(comment[pragma.end() :], maxsplit=1)[0].rstrip()
        if match := _IGNORE.match(text):
            begin = start.column + pragma.end()
            codes = list(_CODE.finditer(text, match.start("codes"), match.end("codes"))) if match["codes"] else []
            return Ignore(
                tuple(code.group() for code in codes),
                (match["reason"] or "").strip(),
                Span.at(start.line, start.column + pragma.start(), start.line, begin + len(text)),
                None if match["file"] else line,
                tuple(Span.at(start.line, begin + code.start(), start.line, begin + code.end()) for code in codes),
            )
    return None


def _directive(text: str, start: Position, target_line: int) -> Directive:
    expression, error = _expression(text.rstrip())
    span = Span.at(start.line, start.column, start.line, start.column + len(expression))
    return Directive(expression, span, target_line, error)


def _expression(text: str) -> tuple[str, str]:
    """The expression that a comment begins with, without a further comment behind it, and what is wrong with it."""
    if not text:
        return "", f"An example call is missing after `{WORD}`."
    hashes = [match.start() for match in re.finditer("#", text)]
    for end in [*hashes[:_MOST_HASHES], len(text)]:
        expression = text[:end].rstrip()
        error = expression_error(expression)
        if not error:
            break
    return expression, error


def expression_error(text: str) -> str:
    """Why a text is no Python expression; empty where it is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parse_expression(text)
    except SyntaxError as error:
        return f"This is not a Python expression: {error.msg.rstrip('.')}."
    except TOO_DEEP:
        return "This expression is nested too deeply for Python."
    return ""
