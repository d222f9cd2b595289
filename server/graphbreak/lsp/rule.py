"""graphbreak/rule: what a type of graph break means: our page, else what the user's own torch says of it."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from ..core.explain import escaped
from ..core.registry import RegistryEntry, page_url
from ..rules import normalised, page, page_named
from ..tracer.environment import choose_interpreter
from ..tracer.registry import read_registry
from .connection import GraphbreakServer
from .folders import folder_uris


async def rule(ls: GraphbreakServer, params: Any) -> dict[str, str]:
    """The page for a code or a name, as Markdown. Nothing of the user's is run for it where the workspace is not trusted."""
    code = str(getattr(params, "code", "") or "").strip()
    own = page(code) or page_named(code)
    if own is not None:
        return {"markdown": f"{own.markdown}\n{_link(own.code)}"}
    entry = await _registered(ls, normalised(code))
    return {"markdown": _entry_markdown(entry) if entry is not None else f"Nothing is known of a graph break type `{code}`.\n"}


async def _registered(ls: GraphbreakServer, code: str) -> RegistryEntry | None:
    folder = next(iter(folder_uris(ls.workspace)), os.getcwd())
    settings = ls.session.configuration.of(folder)
    if not settings.trusted:
        return None

    def read() -> RegistryEntry | None:
        return read_registry(choose_interpreter(settings.interpreter, folder, os.environ)).get(code)

    return await asyncio.to_thread(read)


def _entry_markdown(entry: RegistryEntry) -> str:
    parts = [f"# {entry.code} {escaped(entry.gb_type)}", escaped(entry.explanation) or "PyTorch says why only when it happens."]
    if entry.hints:
        parts += ["## Hints", "\n".join(f"- {escaped(hint)}" for hint in entry.hints)]
    return "\n\n".join([*parts, _link(entry.code)])


def _link(code: str) -> str:
    return f"[PyTorch's page]({page_url(code)})\n"
