"""`graphbreak rule [CODE or NAME]`: our page for a type of graph break, else what the installed torch says of it; without one, the list."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from ..core.explain import escaped
from ..core.registry import RegistryEntry, page_url
from ..rules import Page, normalised, page, page_named, pages
from ..tracer.environment import choose_interpreter
from ..tracer.registry import read_registry

_MANY = 8


@dataclass(frozen=True)
class _Known:
    code: str
    title: str


def rule(options: argparse.Namespace) -> int:
    """Run the command; exit status 0, or 2 when nothing is known by that code or name."""
    console = Console(
        force_terminal={"always": True, "never": False}.get(options.color),
        no_color=options.color == "never",
        highlight=False,
        soft_wrap=True,
    )
    asked = " ".join(options.rule).strip()
    if not asked:
        for known in pages():
            console.print(Text.assemble((known.code, "bold"), f"  {known.title}"))
        return 0
    own = page(asked) or page_named(asked)
    if own is None:
        registry = read_registry(choose_interpreter(options.python, os.getcwd(), os.environ))
        matches = _matches(asked, registry)
        if len(matches) != 1:
            print(f"graphbreak: {_refusal(asked, matches, bool(registry))}", file=sys.stderr)
            return 2
        own = page(matches[0].code)
        if own is None:
            _print_entry(console, registry[matches[0].code])
            return 0
    _print_page(console, own)
    return 0


def _matches(asked: str, registry: dict[str, RegistryEntry]) -> list[_Known]:
    """What the words can mean: a code, else a whole name, else names that contain them."""
    known = {entry.code: _Known(entry.code, entry.gb_type) for entry in registry.values()}
    known |= {found.code: _Known(found.code, found.title) for found in pages()}
    code = normalised(asked)
    if code in known:
        return [known[code]]
    words = asked.rstrip(".").casefold()
    whole = [entry for entry in known.values() if entry.title.rstrip(".").casefold() == words]
    return whole or [entry for _, entry in sorted(known.items()) if words in entry.title.casefold()]


def _refusal(asked: str, matches: list[_Known], registry: bool) -> str:
    if matches:
        names = "; ".join(f"{entry.code} {entry.title}" for entry in matches[:_MANY])
        more = f"; and {len(matches) - _MANY} more" if len(matches) > _MANY else ""
        return f"“{asked}” may be any of {len(matches)}: {names}{more}."
    looked = "" if registry else ", and no torch with a list of its own was found (use --python)"
    return f"no graph break type is known as “{asked}”{looked}."


def _print_page(console: Console, shown: Page) -> None:
    """Our page: laid out on a terminal, else as text with the programs indented."""
    if console.is_terminal:
        body = shown.markdown.partition("\n")[2]
        console.print(Markdown(f"# {shown.code} {escaped(shown.title)}\n{body}", code_theme="ansi_dark"), soft_wrap=False)
    else:
        console.out(_as_text(shown.markdown))
    console.print(Text(f"\nPyTorch's page: {page_url(shown.code)}"))


def _as_text(markdown: str) -> str:
    lines, code = [], False
    for line in markdown.rstrip().splitlines():
        if line.startswith("```"):
            code = not code
        elif code:
            lines.append(f"    {line}".rstrip())
        else:
            lines.append(line.lstrip("#").lstrip() if line.startswith("#") else line)
    return "\n".join(lines)


def _print_entry(console: Console, entry: RegistryEntry) -> None:
    """What the installed torch says of a type that has no page of ours."""
    console.print(Text(f"{entry.code} {entry.gb_type}\n", "bold"))
    console.print(Text(entry.explanation or "PyTorch says why only when it happens."))
    if entry.hints:
        console.print(Text("\nHints\n", "bold"))
        for hint in entry.hints:
            console.print(Text(f"- {hint}"))
    console.print(Text(f"\nPyTorch's page: {page_url(entry.code)}"))
