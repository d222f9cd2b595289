"""PyTorch's own list of graph break types (`graph_break_registry.json` in its wheel, from 2.8 on): its text as entries."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .parsing import literal, parse_expression

_PAGE = "https://meta-pytorch.github.io/compile-graph-break-site/gb/{}.html"


def page_url(code: str) -> str:
    """PyTorch's page for a code."""
    return _PAGE.format(code.lower())


@dataclass(frozen=True)
class RegistryEntry:
    """One type. `explanation` is empty where PyTorch puts it together only when the break happens; words in braces are filled in then."""

    code: str
    gb_type: str
    explanation: str = ""
    hints: tuple[str, ...] = ()


def parse_registry(text: str) -> dict[str, RegistryEntry]:
    """The entries by code. Takes any text; what is not in the known form is left out."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    entries = {}
    for code, versions in document.items() if isinstance(document, dict) else ():
        known = [version for version in versions if isinstance(version, dict)] if isinstance(versions, list) else []
        if known:
            entries[code] = _entry(code, known)
    return entries


def _entry(code: str, versions: list[dict[str, object]]) -> RegistryEntry:
    """Of the several places that report one type, the newest that say anything."""
    explanations = [_spoken(str(version.get("Explanation") or "")) for version in versions]
    hints = [found for version in versions if isinstance(found := version.get("Hints"), list) and found]
    return RegistryEntry(
        code,
        str(versions[0].get("Gb_type") or ""),
        next((text for text in explanations if text), ""),
        tuple(" ".join(str(hint).split()) for hint in hints[0]) if hints else (),
    )


def _spoken(text: str) -> str:
    """The text, if it is one: some are the source of an expression, and of these only string constants say something."""
    try:
        found = literal(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = "" if _is_expression(text) else text
    return " ".join(found.split()) if isinstance(found, str) else ""


def _is_expression(text: str) -> bool:
    try:
        parse_expression(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return " + " in text and not text.rstrip().endswith(".")
    return True
