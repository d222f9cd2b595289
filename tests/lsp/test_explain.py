"""graphbreak/explain and graphbreak/rule."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from graphbreak.core.registry import RegistryEntry
from graphbreak.lsp import rule
from graphbreak.rules import page

from .editor import MARK, Editor, until

CLEAN = MARK + "def f(x):\n    return x\n"


async def test_explain_answers_with_the_report_and_what_was_asked_for(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    path.write_text(CLEAN)
    answer = await editor.request("graphbreak/explain", uri=path.as_uri(), name="f", details=["graphs", "guards"])
    assert answer == {
        "report": "Graph Count: 2 in f",
        "artifacts": [{"name": name, "compileId": "0/0", "text": "code"} for name in ("graphs", "guards")],
        "problem": "",
    }
    assert editor.analyser.explained == [(str(path), "f", ["graphs", "guards"])]


async def test_explain_does_not_block_and_can_be_cancelled(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"run": "manual"})
    path = tmp_path / "a.py"
    editor.open(path, "# SLOW\n" + CLEAN)
    asked = asyncio.create_task(editor.request("graphbreak/explain", uri=path.as_uri(), name="f", details=[]))
    await until(lambda: bool(editor.analyser.explained))
    assert await editor.hover(path, 0, 0) is None
    await editor.command("graphbreak.cancel", path.as_uri())
    assert (await asked)["problem"] == "It was cancelled."
    assert editor.analyser.cancelled == 1


async def test_what_cannot_be_explained_says_why(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"run": "manual"})
    path = tmp_path / "a.py"
    editor.open(path, "# BUG\n" + CLEAN)
    uri = path.as_uri()
    for params, said in (
        ({"uri": uri, "name": "f"}, "a bug in the engine"),
        ({"uri": uri, "name": "f", "details": ["poems"]}, "poems"),
        ({"uri": (tmp_path / "none.py").as_uri(), "name": "f"}, "cannot be read"),
        ({"uri": uri}, "only explain a function"),
        ({"name": "f"}, "only explain a function"),
    ):
        assert said in (await editor.request("graphbreak/explain", **params))["problem"]


async def test_nothing_is_explained_where_nothing_may_run(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"trusted": False})
    path = tmp_path / "a.py"
    editor.open(path, CLEAN)
    answer = await editor.request("graphbreak/explain", uri=path.as_uri(), name="f", details=[])
    assert "not trusted" in answer["problem"]
    assert not editor.analyser.explained


async def test_a_rule_is_our_page_even_where_nothing_is_trusted(editor: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "read_registry", lambda interpreter: pytest.fail("it asked the interpreter"))
    await editor.connect(tmp_path, options={"trusted": False})
    own = page("GB0059")
    assert own is not None
    for code in ("GB0059", "gb59", own.title):
        markdown = (await editor.request("graphbreak/rule", code=code))["markdown"]
        assert markdown.startswith(own.markdown)
        assert "gb0059.html" in markdown
    assert "Nothing is known" in (await editor.request("graphbreak/rule", code="GB9999"))["markdown"]
    assert "Nothing is known" in (await editor.request("graphbreak/rule"))["markdown"]


async def test_a_rule_without_a_page_is_told_in_torchs_words(editor: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = RegistryEntry("GB9999", "Some *type*", "Something happens.", ("Do this.",))
    asked: list[str] = []

    def registry(interpreter: str) -> dict[str, RegistryEntry]:
        asked.append(interpreter)
        return {entry.code: entry}

    monkeypatch.setattr(rule, "read_registry", registry)
    await editor.connect(tmp_path, options={"interpreter": "/some/python"})
    markdown = (await editor.request("graphbreak/rule", code="gb9999"))["markdown"]
    for part in ("# GB9999 Some \\*type\\*", "Something happens.", "- Do this.", "gb9999.html"):
        assert part in markdown
    assert asked == ["/some/python"]
