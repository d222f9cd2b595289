"""What can be written at a place in a `# graphbreak:` comment: the call of the function below, names of the module, the reserved words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from .arguments import UNKNOWN
from .comments import read_comments
from .marks import Mark, Marks, find_marks
from .nodes import tree_of
from .parsing import parse_expression
from .recovery import parse
from .source import Edit, Position, SourceFile, Span
from .suggest import suggest

_BEFORE = re.compile(r"#+\s*graphbreak:")
_WORD = re.compile(r"[\w.]*$")
_TORCH = (
    *("randn", "rand", "ones", "zeros", "full", "empty", "arange", "linspace", "eye", "randint", "tensor", "randn_like"),
    *("float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "device"),
)
_RESERVED = {
    "ignore": "no diagnostic on this line",
    "ignore[GB0059]": "none of these codes on this line",
    "ignore-file": "no diagnostic in this file",
}


class CompletionKind(str, Enum):
    """What is offered."""

    CALL = "call"
    NAME = "name"
    WORD = "word"


@dataclass(frozen=True)
class Completion:
    """`text` in place of `span`. `holes` are the parts of it (from, to) that the user is expected to change."""

    label: str
    text: str
    span: Span
    kind: CompletionKind
    detail: str = ""
    holes: tuple[tuple[int, int], ...] = ()


KnownCall = Callable[[Mark], str]
"""An example call for a mark, or the summary of its inputs, as far as a trace has shown one; empty where none is known."""


def completions(source: SourceFile, at: Position, inputs: KnownCall, guess: KnownCall) -> list[Completion]:
    """What can be written at a place: nothing outside of our comments. `inputs` are summaries, `guess` are calls found by guessing."""
    line = source.line(at.line)
    comment = next((match for match in _BEFORE.finditer(line) if match.end() <= at.column), None)
    if comment is None or not _is_comment(source, at.line):
        return []
    written = line[comment.end() : at.column].lstrip()
    if written and not re.fullmatch(r"[\w.\-\[]*", written):
        return list(_names(source, at, written))
    whole = Span.at(at.line, at.column - len(written), at.line, max(len(line.rstrip()), at.column))
    found = [*_calls(source, whole, inputs, guess), *_names(source, at, written), *_words(whole, written)]
    return [_behind_space(one) for one in found] if line[at.column - len(written) - 1] == ":" else found


def _behind_space(found: Completion) -> Completion:
    """The same for a place right behind the colon."""
    return replace(found, text=" " + found.text, holes=tuple((start + 1, end + 1) for start, end in found.holes))


def _is_comment(source: SourceFile, line: int) -> bool:
    """Whether there is a comment of ours on a line, and not only a text that looks like one."""
    comments = read_comments(source)
    spans = [*(directive.span for directive in comments.directives), *(ignore.span for ignore in comments.ignores)]
    return any(span.start.line == line for span in spans)


def _calls(source: SourceFile, span: Span, inputs: KnownCall, guess: KnownCall) -> Iterator[Completion]:
    """The calls of what stands below, which is marked by the comment at the latest: as it was traced, and with something filled in."""
    with_call = source.apply([Edit(span, UNKNOWN)])
    marks = find_marks(with_call)
    mark = next((mark for mark in marks.marks if any(one.span.start.line == span.start.line for one in mark.directives)), None)
    if mark is None:
        return
    seen: set[str] = set()
    for text, detail in _texts(with_call, marks, mark, inputs(mark), guess(mark)):
        if text not in seen and text != UNKNOWN:
            seen.add(text)
            yield Completion(text, text, span, CompletionKind.CALL, detail, _holes(text))


def _texts(source: SourceFile, marks: Marks, mark: Mark, inputs: str, guess: str) -> Iterator[tuple[str, str]]:
    def call(summary: str, fill: bool) -> str:
        return suggest(source, marks, mark, summary, fill).text.partition(": ")[2]

    if inputs:
        yield call(inputs, True), "as it was called when it was traced"
    if guess:
        yield guess, "as it was called by a guess"
    yield call("", True), "with arguments to change"


def _holes(text: str) -> tuple[tuple[int, int], ...]:
    """The arguments of a call and of the constructor in it, keyword arguments by their values."""
    try:
        node = parse_expression(text).body
    except SyntaxError:
        return ()
    found: list[tuple[int, int]] = []
    while isinstance(node, (ast.Call, ast.Attribute)):
        if isinstance(node, ast.Call):
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            found += [(_characters(text, one.col_offset), _characters(text, one.end_col_offset or 0)) for one in values]
        node = node.func if isinstance(node, ast.Call) else node.value
    return tuple(sorted(found))


def _characters(text: str, utf8: int) -> int:
    return len(text.encode()[:utf8].decode(errors="ignore"))


def _names(source: SourceFile, at: Position, written: str) -> Iterator[Completion]:
    """The names of the module that go on with the word before the place; behind `torch.` what makes tensors."""
    match = _WORD.search(written)
    word = match.group() if match is not None else ""
    owner, dot, start = word.rpartition(".")
    span = Span.at(at.line, at.column - len(start), at.line, at.column)
    if dot:
        names = list(_TORCH) if owner == "torch" else []
    else:
        names = _module_names(source)
    for name in dict.fromkeys(names):
        if name.startswith(start):
            yield Completion(name, name, span, CompletionKind.NAME, "torch" if dot else "in this module")


def _module_names(source: SourceFile) -> list[str]:
    """What the top level of a file binds, in its order."""
    tree = tree_of(source) or parse(source).tree
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [(alias.asname or alias.name).partition(".")[0] for alias in node.names if alias.name != "*"]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return names


def _words(span: Span, written: str) -> Iterator[Completion]:
    for word, detail in _RESERVED.items():
        if word.startswith(written):
            holes = ((7, len(word) - 1),) if word.endswith("]") else ()
            yield Completion(word, word, span, CompletionKind.WORD, detail, holes)
