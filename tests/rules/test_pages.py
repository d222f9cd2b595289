"""The pages: their form, and that each "before" reports the page's type while its "after" does not and gives the same result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import graphbreak.rules as rules
from graphbreak.core.explain import hover_markdown
from graphbreak.core.findings import Diagnostic, Kind, Severity
from graphbreak.core.source import Span
from graphbreak.lsp.hover import plain

PROCESSES = 2
FOLDER = Path(rules.__file__).parent
DISABLED = ["GB0098", "GB0099"]
"""What an "after" may report: the program says `torch.compiler.disable`, and means it."""
needs_torch_2_13 = pytest.mark.skipif(not metadata.version("torch").startswith("2.13."), reason="types and ids differ between versions")


@cache
def outcomes() -> dict[str, Any]:
    """All programs, run once, in a few processes."""
    pages = [rules.page(code) for code in rules.codes()]
    programs = [(page.code, page.before, page.after) for page in pages if page is not None]
    with ThreadPoolExecutor(PROCESSES) as pool:
        found = [outcome for batch in pool.map(run, [programs[start::PROCESSES] for start in range(PROCESSES)]) for outcome in batch]
    return {outcome["code"]: outcome for outcome in found}


def run(programs: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    command = [sys.executable, str(Path(__file__).with_name("run_programs.py"))]
    done = subprocess.run(
        command, input=json.dumps(programs), capture_output=True, text=True, encoding="utf-8", env=variables, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    result: list[dict[str, Any]] = json.loads(done.stdout)
    return result


def text_of(code: str) -> str:
    return (FOLDER / f"{code.lower()}.md").read_text(encoding="utf-8")


def test_sixty_types_have_a_page() -> None:
    assert len(rules.codes()) == 60
    assert len({page.title for page in rules.pages()}) == 60
    assert {f"{code.lower()}.md" for code in rules.codes()} == {path.name for path in FOLDER.glob("*.md")}


@pytest.mark.parametrize("code", rules.codes())
def test_a_page_has_its_parts(code: str) -> None:
    page = rules.page(code)
    assert page is not None
    assert page.code == code
    assert all((page.title, page.summary, page.why, page.advice, page.before.strip(), page.after.strip()))
    assert page.advice.startswith("- ")
    assert max(map(len, text_of(code).splitlines())) <= 140
    assert "@torch.compile" in page.before


def test_pages_are_found_in_the_ways_a_type_is_named() -> None:
    page = rules.page("GB0170")
    assert page is not None
    assert page == rules.page("gb170") == rules.page("170") == rules.page(" gb0170 ")
    assert page == rules.page_named("Data-dependent branching") == rules.page_named("data-dependent branching.")
    assert rules.page("GB99999") is rules.page("") is rules.page("raised") is rules.page("../gb0170") is rules.page_named("") is None


def test_text_in_another_form_is_no_page() -> None:
    with pytest.raises(ValueError, match="not a page"):
        rules.parse_page("# GB0001 A type\n\nNothing else.\n")


@needs_torch_2_13
def test_titles_are_the_names_that_torch_uses() -> None:
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    registry = json.loads((Path(spec.origin).parent / "_dynamo" / "graph_break_registry.json").read_text(encoding="utf-8"))
    assert {page.code: page.title for page in rules.pages()} == {code: registry[code][0]["Gb_type"] for code in rules.codes()}


@needs_torch_2_13
@pytest.mark.parametrize("code", rules.codes())
def test_the_programs_show_what_the_page_says(code: str) -> None:
    outcome = outcomes()[code]
    page = rules.page(code)
    assert page is not None
    assert outcome["error"] == ""
    assert code in outcome["before"]
    allowed = DISABLED if "torch.compiler.disable" in page.after and code not in DISABLED else []
    assert not set(outcome["after"]) - set(allowed)
    assert outcome["graphs"] > 0, "nothing is compiled any more"
    if "<!-- result differs:" not in text_of(code):
        assert outcome["same"], "the results differ"


def test_a_hover_shows_a_page_in_short() -> None:
    page = rules.page("GB0170")
    assert page is not None
    diagnostic = Diagnostic("id", "/w/a.py", Span.at(0, 0, 0, 1), Severity.WARNING, Kind.BREAK, "GB0170", "Graph break")
    shown = hover_markdown(diagnostic, page.in_short)
    assert "**What to do about `GB0170`**" in shown
    assert page.summary in shown
    assert page.advice in shown
    assert "What to do about GB0170" in plain(shown)
    assert "What to do about" not in hover_markdown(diagnostic)
