"""`graphbreak rule`: our pages, the installed torch's own words for other types, and what it says when it knows nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import graphbreak.rules as rules
from graphbreak.cli import main
from graphbreak.core.registry import RegistryEntry, page_url, parse_registry
from graphbreak.tracer.registry import read_registry

Printed = pytest.CaptureFixture[str]
REGISTRY = {
    "GB9001": [{"Gb_type": "strange [loop]", "Context": "", "Explanation": "It is *strange* with `a_b`.", "Hints": ["Do  not."]}],
    "GB9002": [{"Gb_type": "computed loop", "Context": "", "Explanation": "msg +   + rest", "Hints": []}],
    "GB0170": [{"Gb_type": "Data-dependent branching", "Context": "", "Explanation": "x", "Hints": []}],
}


@pytest.fixture
def interpreter(tmp_path: Path) -> str:
    """A Python that cannot run, in an environment with a torch that cannot be imported."""
    dynamo = tmp_path / "lib" / "python3.11" / "site-packages" / "torch" / "_dynamo"
    dynamo.mkdir(parents=True)
    (dynamo.parent / "__init__.py").write_text("raise RuntimeError\n", encoding="utf-8")
    (dynamo / "graph_break_registry.json").write_text(json.dumps(REGISTRY), encoding="utf-8")
    return str(tmp_path / "bin" / "python")


@pytest.mark.parametrize("asked", [["GB0170"], ["gb170"], ["170"], ["Data-dependent branching"], ["data-dependent", "branching"]])
def test_a_page_is_found_by_code_and_by_name(asked: list[str], capsys: Printed) -> None:
    assert main(["rule", *asked]) == 0
    out = capsys.readouterr().out
    assert out.startswith("GB0170 Data-dependent branching\n")
    assert "\nWhat to do\n" in out
    assert "\n    @torch.compile\n" in out
    assert out.endswith(f"\nPyTorch's page: {page_url('GB0170')}\n")
    assert "```" not in out


def test_on_a_terminal_it_is_laid_out(capsys: Printed) -> None:
    assert main(["rule", "GB8977", "--color", "always"]) == 0
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert "__build_class__" in out
    assert "```" not in out


def test_without_an_argument_it_lists_the_pages(capsys: Printed) -> None:
    assert main(["rule"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(rules.codes())


@pytest.mark.parametrize("asked", ["gb9001", "9001", "Strange [Loop]", "strange"])
def test_other_types_are_looked_up_in_the_torch_that_would_be_used(asked: str, interpreter: str, capsys: Printed) -> None:
    assert main(["rule", asked, "--python", interpreter]) == 0
    assert capsys.readouterr().out == (
        f"GB9001 strange [loop]\n\nIt is *strange* with `a_b`.\n\nHints\n\n- Do not.\n\nPyTorch's page: {page_url('GB9001')}\n"
    )


def test_a_part_of_the_name_leads_to_our_page(interpreter: str, capsys: Printed) -> None:
    assert main(["rule", "dependent branch", "--python", interpreter]) == 0
    assert capsys.readouterr().out.startswith("GB0170 Data-dependent branching\n")


def test_an_unknown_type_is_one_sentence(interpreter: str, capsys: Printed) -> None:
    assert main(["rule", "GB12345", "--python", interpreter]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "graphbreak: no graph break type is known as “GB12345”.\n"


def test_an_ambiguous_name_lists_what_it_may_be(interpreter: str, capsys: Printed) -> None:
    assert main(["rule", "loop", "--python", interpreter]) == 2
    error = capsys.readouterr().err
    assert all(name in error for name in ("GB7000 graph break in loop", "GB9001 strange [loop]", "GB9002 computed loop"))


def test_without_a_torch_it_says_so(tmp_path: Path, capsys: Printed) -> None:
    assert main(["rule", "GB9001", "--python", str(tmp_path / "bin" / "python")]) == 2
    assert "no torch" in capsys.readouterr().err


def test_the_installed_torch_has_a_list() -> None:
    registry = read_registry(sys.executable)
    assert registry["GB0170"].gb_type == "Data-dependent branching"
    assert registry["GB0170"].explanation.startswith("Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo")
    assert registry["GB0170"].hints[0] == "Use `torch.cond` to express dynamic control flow."


def test_an_explanation_that_is_source_code_is_not_shown() -> None:
    assert parse_registry(json.dumps(REGISTRY))["GB9002"] == RegistryEntry("GB9002", "computed loop")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"GB1": 3, "GB2": [], "GB3": ["x"]}', "[" * 100_000])
def test_any_text_is_read(text: str) -> None:
    assert parse_registry(text) == {}
