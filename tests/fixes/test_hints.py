"""`docs/hints.md` against the list of graph break types of the installed torch."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import defaultdict
from pathlib import Path

from graphbreak.fixes import FIXERS
from versions import at_home

PAGE = Path(__file__).parent.parent.parent / "docs" / "hints.md"
_ROW = re.compile(r"^\| (?P<hint>.+?) \| (?P<types>GB\d+(?:, GB\d+)*) \|(?: (?P<fixes>.+) \|)?$")
_NAMES_NO_ACTION = re.compile(
    r"It may be possible to write Dynamo tracing rules|Your code may result in an error when running in eager|"
    r"This is likely to be a Dynamo bug|This graph break is fundamental|This graph break may be difficult to debug|"
    r"may have been caused by an earlier graph break|[Rr]eport (an|a bug)|(open|[Ff]ile|submit) an issue"
)


def rows() -> list[re.Match[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [found for line in lines if line.startswith("| ") and (found := _ROW.match(line))]


def whole(hints: list[str]) -> list[str]:
    """Hints that PyTorch writes over several strings, put together."""
    found: list[str] = []
    for hint in (" ".join(one.split()) for one in hints):
        if found and not re.search(r"[.!:)`]$", found[-1]):
            found[-1] += " " + hint
        else:
            found.append(hint)
    return found


def hints_of_torch() -> dict[str, set[str]]:
    """Every hint that names an action, and the types that have it."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    registry = json.loads((Path(spec.origin).parent / "_dynamo" / "graph_break_registry.json").read_text(encoding="utf-8"))
    found = defaultdict(set)
    for code, versions in registry.items():
        for hint in (hint for version in versions for hint in whole(version.get("Hints") or [])):
            if not _NAMES_NO_ACTION.search(hint):
                found[hint].add(code)
    return found


def test_every_hint_of_the_installed_torch_is_listed() -> None:
    listed = {row["hint"].replace("\\|", "|"): set(row["types"].split(", ")) for row in rows()}
    wanted = hints_of_torch()
    assert len(wanted) > 100
    if at_home():
        assert {hint: types for hint, types in wanted.items() if listed.get(hint) != types} == {}
        assert set(listed) <= set(wanted)


def test_every_fix_that_is_named_exists() -> None:
    known = {row.fixer.__module__.rpartition(".")[2]: row for row in FIXERS}
    named = [(row["types"].split(", "), fix) for row in rows() if row["fixes"] for fix in re.findall(r"`(\w+)`", row["fixes"])]
    assert len(named) > 50
    assert {fix for _, fix in named} <= set(known)
    for types, fix in named:
        assert not known[fix].codes or known[fix].codes & {*types, "GB0036", "GB0124"}, f"{fix} is never tried for {types}"


def test_every_other_hint_has_a_reason() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Without one")[2]
    parts = [part.strip() for part in re.split(r"(?m)^\| hint \| types \|$", text)]
    assert len(parts) > 5
    for part in parts[:-1]:
        assert re.search(r"^[A-Z].+\.$", part.splitlines()[-1]), part[-80:]
