"""The syntax tree of a file as far as one can be had: what does not parse is taken out, and every other line keeps its place."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import parso

from .parsing import parse_module
from .source import Position, SourceFile, Span

TOO_DEEP = (RecursionError, MemoryError)
"""What Python's parser raises for code that is nested too deeply for it."""

_PARSED_CHARACTERS = 2_000_000
_MOST_ROUNDS = 12
_ROUNDS_IN_PIECES = 2_000
_MOST_FOR_PARSO = 500_000
"""In characters: parso takes some seconds for as many."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_DEFINITION = re.compile(r"\s*(?:(?:async\s+)?def|class)\s+\w+")
_HEADER = re.compile(r"(\s*)(?:async\s+)?(if|elif|else|for|while|with|try|except|finally)\b")
_CULPRIT = re.compile(r"(?:expected an indented block|does not match opening parenthesis) .*on line (\d+)")
_STATEMENT = re.compile(r"@[\w.]+\s*(?:[(\[#]|$)|(?:async|def|class|import|from|if|for|while|with|try)\b|[\w.]+\s*[=(:\[]")
_STAND_INS = {"elif": "elif 1:", "else": "else:", "try": "try:", "except": "except Exception:", "finally": "finally:"}


@dataclass(frozen=True)
class SyntaxProblem:
    """Why a file, or a part of it, could not be read, in one sentence, and where."""

    message: str
    span: Span


@dataclass(frozen=True)
class Parsed:
    """The tree of a file. Its positions are those of `source`, whose lines and columns are those of the file itself."""

    tree: ast.Module
    source: SourceFile
    problem: SyntaxProblem | None = None


def cleaned(source: SourceFile) -> SourceFile:
    """The file without the characters that no parser takes, each replaced so that every line and column stays the same."""
    text = "\n".join(source.lines).replace("\0", " ")
    if text.startswith("\ufeff"):
        text = "\f" + text[1:]  # a form feed is the one blank that does not indent the line
    # The replacement character has as many bytes as a surrogate, so byte columns stay right too.
    return SourceFile(source.path, text if text.isascii() else _SURROGATE.sub("\ufffd", text))


def parse(source: SourceFile) -> Parsed:
    """The tree of the whole file, or of the parts that parse together with the first problem. Never raises."""
    clean = cleaned(source)
    try:
        return Parsed(syntax_tree(clean.text), clean, _null_byte(source))
    except TOO_DEEP:
        lines, pieces = clean.lines, _margin_pieces(clean.lines)
        left = _repaired_pieces(lines, pieces)
        deep = next((first for first, last in pieces if left[first:last] != list(lines[first:last])), 0)
        sentence = "Python cannot read this file: it is nested too deeply."
        return Parsed(_tree_of(left), clean, SyntaxProblem(sentence, clean.statement_span(deep)))
    except SyntaxError as error:
        return Parsed(_tree_of(_recovered(clean)), clean, _null_byte(source) or _problem(error, clean))


def syntax_tree(text: str) -> ast.Module:
    """`ast.parse` that warns about nothing: an odd escape in the user's text is not for the server's own log, and never an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_module(text)


def recovered_tree(text: str) -> Any:
    """parso's tree of any text; leaf by leaf, prefixes included, it is the text."""
    return parso.parse(text)  # type: ignore[no-untyped-call]


def _nothing() -> ast.Module:
    return ast.Module(body=[], type_ignores=[])


def _tree_of(lines: Sequence[str]) -> ast.Module:
    try:
        return syntax_tree("\n".join(lines))
    except (SyntaxError, *TOO_DEEP):
        return _nothing()


def _recovered(source: SourceFile) -> list[str]:
    """The lines of a file with as few as possible taken out."""
    lines = source.lines
    # Behind an odd triple quote, strings and code have changed places; only the left margin still tells where code begins.
    inside_out = any(source.text.count(quotes) % 2 for quotes in ('"""', "'''"))
    repaired = None if inside_out else _repaired(lines, _rounds(len(source.text)))
    by_margin = inside_out or len(source.text) > _MOST_FOR_PARSO
    return repaired or _repaired_pieces(lines, _margin_pieces(lines) if by_margin else _pieces(lines))


def _rounds(characters: int) -> int:
    return max(3, min(_MOST_ROUNDS, _PARSED_CHARACTERS // (characters + 1)))


def _repaired(lines: Sequence[str], rounds: int) -> list[str] | None:
    """The lines with those that Python complains about taken out one by one; None when they still do not parse after some rounds."""
    result = list(lines)
    for _ in range(rounds):
        try:
            syntax_tree("\n".join(result))
            return result
        except SyntaxError as error:
            if not _take_out(result, error):
                return None
        except TOO_DEEP:
            return None
    return None


def _take_out(lines: list[str], error: SyntaxError) -> bool:
    number = _line_to_blame(lines, error)
    choices = _stand_ins(lines, number)
    tried = choices.index(lines[number]) + 1 if lines[number] in choices else 0
    if tried == len(choices):
        above = _code_above(lines, number)
        if above is None:
            return False
        number, choices, tried = above, [""], 0
    if not choices[tried]:
        _empty_continuation(lines, number)
    lines[number] = choices[tried]
    return True


def _empty_continuation(lines: list[str], number: int) -> None:
    """Empty what belongs to a statement without a body: the lines below that are indented more, and the brackets that close it."""
    indent = _indent(lines[number])
    for below in range(number + 1, len(lines)):
        text = lines[below].lstrip()
        closes = text[:1] in (")", "]", "}") and _indent(lines[below]) == indent
        if text and _indent(lines[below]) <= indent and not closes:
            break
        lines[below] = ""


def _line_to_blame(lines: Sequence[str], error: SyntaxError) -> int:
    if culprit := _CULPRIT.search(error.msg):
        return int(culprit[1]) - 1
    number = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    above = _code_above(lines, number)
    # A decorator with nothing to decorate is reported at the line that follows.
    dangling = above is not None and lines[above].lstrip().startswith("@") and not _DEFINITION.match(lines[number])
    return above if dangling and above is not None else number


def _code_above(lines: Sequence[str], number: int) -> int | None:
    return next((n for n in range(number - 1, -1, -1) if _is_code(lines[n])), None)


def _is_code(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#")


def _stand_ins(lines: Sequence[str], number: int) -> list[str]:
    """What to try for a broken line, in order: headers that keep its body and, for a definition, its name; at last nothing."""
    line = lines[number]
    headers: list[str] = []
    if definition := _DEFINITION.match(line):
        headers = [definition.group() + "():"]
    elif other := _HEADER.match(line):
        headers = [other[1] + header for header in dict.fromkeys([_STAND_INS.get(other[2], "if 1:"), "if 1:"])]
    below = next((text for text in lines[number + 1 :] if _is_code(text)), "")
    has_body = _indent(below) > _indent(line)
    return [*(header if has_body else header + " pass" for header in headers), ""]


def _indent(line: str) -> int:
    text = line.expandtabs()
    return len(text) - len(text.lstrip())


def _repaired_pieces(lines: Sequence[str], pieces: Sequence[tuple[int, int]]) -> list[str]:
    """The lines of the pieces that parse, or can be repaired, each by itself; the other lines are left empty."""
    result = [""] * len(lines)
    rounds = _ROUNDS_IN_PIECES
    for first, last in pieces:
        piece = list(lines[first:last])
        repaired = _repaired(piece, 1) or _repaired(piece, min(rounds, _MOST_ROUNDS))
        if repaired != piece:
            rounds -= min(rounds, _MOST_ROUNDS)
        result[first:last] = repaired or [""] * len(piece)
    return result


def _pieces(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The lines of each top-level statement, from the first up to, not including, the last."""
    try:
        ranges = [(child.start_pos[0] - 1, *child.end_pos) for child in recovered_tree("\n".join(lines)).children]
    except TOO_DEEP:
        return []
    pieces: list[tuple[int, int]] = []
    for first, last_line, column in ranges:
        last = last_line if column else last_line - 1
        if pieces and first < pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(last, pieces[-1][1]))
        elif last > first:
            pieces.append((first, last))
    return pieces


def _margin_pieces(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The same by the look of the lines alone: a statement begins where one is written without indentation."""
    starts = [0]
    decorated = False
    for number, line in enumerate(lines):
        if _STATEMENT.match(line):
            if not decorated:
                starts.append(number)
            decorated = line.startswith("@") or (decorated and not _DEFINITION.match(line))
    return list(zip(starts, [*starts[1:], len(lines)]))


def _null_byte(source: SourceFile) -> SyntaxProblem | None:
    offset = source.text.find("\0")
    if offset < 0:
        return None
    sentence = "Python cannot read this file: it contains a null byte."
    return SyntaxProblem(sentence, Span(source.position(offset), source.position(offset + 1)))


def _problem(error: SyntaxError, source: SourceFile) -> SyntaxProblem:
    message = error.msg.rstrip(".").replace("\n", " ")
    line = min(max((error.lineno or 1) - 1, 0), len(source.lines) - 1)
    start = Position(line, min(max((error.offset or 1) - 1, 0), len(source.line(line))))
    end = Position((error.end_lineno or 0) - 1, (error.end_offset or 0) - 1)
    if not start < end <= Position(len(source.lines) - 1, len(source.lines[-1])) or end.column > len(source.line(end.line)):
        end = Position(line, len(source.line(line).rstrip()))
    span = Span(start, end) if start < end else source.statement_span(line)
    return SyntaxProblem(f"Python cannot read this file: {message}.", span)
