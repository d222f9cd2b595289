"""The baseline: breaks that were there when it was written, each known by what it is and not by where it stands.

An entry names the file, the function by its qualified name, the reason and the code. It holds when lines move, when code is reformatted,
when PyTorch gives a reason another id or another wording, and when the function or the file gets another name.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from .findings import Diagnostic, Kind
from .ignores import NO_GB_ID
from .nodes import tree_of
from .parsing import parse_module
from .places import node_span
from .source import Position, SourceFile

VERSION = 1
KINDS = frozenset({Kind.BREAK, Kind.SKIPPED, Kind.RAISED, Kind.RECOMPILE, Kind.INTENDED})
"""What a baseline can cover. Callers follow their causes."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LONGEST = 200


class BaselineError(Exception):
    """The text is not a baseline; the message says why, as the end of a sentence."""


@dataclass(frozen=True, order=True)
class Entry:
    """One known diagnostic, or `count` alike. `path` has `/` between its parts; `function` is empty at the top level of a file.

    `expression` is the blamed code, and `statement` what it stands in (empty: the same), which is there for a Python that knows no columns.
    """

    path: str
    function: str
    code: str
    kind: str
    gb_type: str
    expression: str
    statement: str = ""
    count: int = 1

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The expression and the statement in a form to compare: as this Python writes them, without blanks.

        A recompile is a matter of the whole function: which expression PyTorch names for it depends on the torch.
        """
        if self.kind == Kind.RECOMPILE.value:
            return "", ""
        expression = "".join(normalised(self.expression).split())
        return expression, "".join(normalised(self.statement).split()) or expression

    @property
    def kind_class(self) -> str:
        """The kind; whether a break costs the whole function is for PyTorch to decide, and changes from one torch to the next."""
        return Kind.BREAK.value if self.kind == Kind.SKIPPED.value else self.kind

    @property
    def reasons(self) -> tuple[str | None, str | None]:
        """Its two names, either of which is enough: the id, and the type in plain letters."""
        words = " ".join(re.findall(r"[a-z]+", self.gb_type.lower()))
        return self.code.upper() if self.code not in ("", NO_GB_ID) else None, words or None


@dataclass(frozen=True)
class Baseline:
    """What a baseline file says. `torch` is the version (two numbers) that the entries come from, empty if unknown."""

    entries: tuple[Entry, ...] = ()
    torch: str = ""


Now = Callable[[str], "SourceFile | None"]
"""What the file of an entry's path says now; None where there is none."""


def entry_of(diagnostic: Diagnostic, source: SourceFile | None, path: str) -> Entry:
    """The entry that stands for a diagnostic."""
    function, statement = _surroundings(source, diagnostic.span.start)
    expression = _shortened(normalised(source.slice(diagnostic.span) if source is not None else ""))
    statement = _shortened(statement)
    return Entry(
        path,
        function,
        diagnostic.code,
        diagnostic.kind.value,
        diagnostic.gb_type,
        expression,
        statement if statement != expression else "",
    )


def covered(baseline: Baseline, found: Mapping[str, Entry], torch: str, now: Now) -> tuple[set[str], list[Entry]]:
    """Which of the diagnostics in `found` (by id) the baseline covers, and the entries of which not all were found."""
    entries = baseline.entries
    left = [entry.count for entry in entries]
    known: set[str] = set()
    for key_of, is_open in _rounds(now, other_torch=baseline.torch != two_numbers(torch)):
        places: dict[Hashable, list[int]] = {}
        for index, entry in enumerate(entries):
            if left[index] and is_open(entry) and (key := key_of(entry)) is not None:
                places.setdefault(key, []).append(index)
        for name, entry in found.items():
            alike = places.get(key_of(entry), []) if name not in known else []
            for index in [index for index in alike if left[index]][:1]:
                left[index] -= 1
                known.add(name)
    return known, [replace(entry, count=count) for entry, count in zip(entries, left) if count]


_Key = Callable[[Entry], "Hashable | None"]


def _rounds(now: Now, other_torch: bool) -> Iterator[tuple[_Key, Callable[[Entry], bool]]]:
    """From the closest likeness to the loosest: what to compare, and for which entries.

    What is the same but for the name of its function or file counts only where there is no such function or file any more; what breaks for
    another reason at the same place, only where another torch gives the reasons.
    """

    def moved_function(entry: Entry) -> bool:
        source = now(entry.path)
        return source is not None and entry.function not in functions_of(source)

    rounds: list[tuple[Callable[[Entry], tuple[str, ...]], Callable[[Entry], bool]]] = [
        (lambda entry: (entry.path, entry.function, entry.texts[0]), lambda entry: True),
        (lambda entry: (entry.path, entry.function, entry.texts[1]), lambda entry: True),
        (lambda entry: (entry.path, entry.texts[0]), moved_function),
        (lambda entry: (entry.function, entry.texts[0]), lambda entry: now(entry.path) is None),
    ]
    for place_of, is_open in rounds:
        for which in range(2):
            yield _key(place_of, which), is_open
    for place_of, is_open in rounds if other_torch else []:
        yield _key(place_of, None), is_open


def _key(place_of: Callable[[Entry], tuple[str, ...]], which: int | None) -> _Key:
    def key(entry: Entry) -> Hashable | None:
        reason = entry.reasons[which] if which is not None else ""
        return (*place_of(entry), entry.kind_class, reason) if reason is not None else None

    return key


def counted(entries: Iterable[Entry]) -> list[Entry]:
    """Entries that are alike as one, in their order."""
    return [replace(entry, count=count) for entry, count in sorted(Counter(entries).items())]


def two_numbers(version: str) -> str:
    """The part of a version that says which torch it is: `2.13` of `2.13.0+cpu`."""
    return ".".join(version.split(".")[:2])


def baseline_text(baseline: Baseline) -> str:
    """The baseline as it is written: a line for each entry, so that a review shows what came and went."""
    lines = [json.dumps(_written(entry), ensure_ascii=False) for entry in baseline.entries]
    body = "".join(f"\n  {line}," for line in lines).removesuffix(",")
    end = "\n ]" if lines else "]"
    return f'{{\n "version": {VERSION},\n "torch": {json.dumps(baseline.torch)},\n "entries": [{body}{end}\n}}\n'


def _written(entry: Entry) -> dict[str, Any]:
    optional = {"gb_type": "", "statement": "", "count": 1}
    return {key: value for key, value in asdict(entry).items() if key not in optional or value != optional[key]}


def parse_baseline(text: str) -> Baseline:
    """The baseline that a text is. Raises BaselineError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"it is not valid JSON ({error})") from error
    version = document.get("version") if isinstance(document, dict) else None
    if version is None or not isinstance(document.get("entries"), list):
        raise BaselineError("it is no baseline that graphbreak wrote")
    if version != VERSION:
        raise BaselineError(f"it has version {version!r}, and this graphbreak reads version {VERSION}")
    entries = tuple(_read(raw, number) for number, raw in enumerate(document["entries"], start=1))
    return Baseline(entries, str(document.get("torch", "")))


def _read(raw: object, number: int) -> Entry:
    types = {"path": str, "function": str, "code": str, "kind": str, "gb_type": str, "expression": str, "statement": str, "count": int}
    values = {"gb_type": "", **raw} if isinstance(raw, dict) else {}
    known = {key: values[key] for key in types if key in values}
    if any(type(value) is not types[key] for key, value in known.items()) or known.get("count", 1) < 1:
        raise BaselineError(f"its entry {number} has a value of a wrong type")
    try:
        return Entry(**known)
    except TypeError:
        raise BaselineError(f"its entry {number} is incomplete") from None


def normalised(text: str) -> str:
    """Code as Python writes it, whatever its line breaks, quotes and parentheses; what is no code by itself with single blanks."""
    for attempt in (f"({text}\n)", text.strip()) if text else ():
        try:
            return ast.unparse(parse_module(attempt))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return " ".join(text.split())


def _shortened(text: str) -> str:
    """Text that a reviewer can read; long ones are cut, and told apart by a digest."""
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST - 20] + "…" + hashlib.sha1(text.encode("utf-8", "replace")).hexdigest()[:12]


@lru_cache(maxsize=64)
def functions_of(source: SourceFile) -> frozenset[str]:
    """The qualified names, without `<locals>`, of what a file defines; the empty name is its top level."""
    names = {""}
    waiting: list[tuple[ast.AST, str]] = [(tree, "")] if (tree := tree_of(source)) is not None else []
    while waiting:
        node, prefix = waiting.pop()
        for child in ast.iter_child_nodes(node):
            name = f"{prefix}{child.name}" if isinstance(child, _DEFINITIONS) else ""
            names.add(name)
            waiting.append((child, f"{name}." if name else prefix))
    return frozenset(names)


def _surroundings(source: SourceFile | None, place: Position) -> tuple[str, str]:
    """The qualified name of the innermost definition at a place, and the statement there (of a compound one its head)."""
    tree = tree_of(source) if source is not None else None
    if tree is None or source is None:
        return "", ""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    holding = [node for node in statements if _start(source, node) <= place < node_span(source, node).end]
    holding.sort(key=lambda node: _start(source, node))
    function = ".".join(node.name for node in holding if isinstance(node, _DEFINITIONS))
    return function, _head(holding[-1]) if holding else ""


def _start(source: SourceFile, node: ast.stmt) -> Position:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(node_span(source, part).start for part in (node, *decorators))


def _head(node: ast.stmt) -> str:
    if isinstance(node, _DEFINITIONS):
        return f"def {node.name}"
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return ", ".join(ast.unparse(item) for item in node.items)
    head = getattr(node, "test", None) or getattr(node, "iter", None) or getattr(node, "subject", None)
    if head is not None and hasattr(node, "body" if not isinstance(node, ast.Match) else "cases"):
        return ast.unparse(head)
    return ast.unparse(node) if not hasattr(node, "body") else ""
