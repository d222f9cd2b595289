"""Results follow the text: through edits at once, through edits made while a trace runs, and never to a wrong place."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from graphbreak.core.findings import Diagnostic, FunctionResult, Kind, Outcome, Region, Related, Report, Severity, StackFrame
from graphbreak.core.source import Edit, SourceFile, Span
from graphbreak.lsp import moving
from graphbreak.lsp.moving import difference, moved_report, trimmed

from .editor import MARK, Editor, replacing, span, until

TEXT = MARK + "def f(x):\n    print(x)\n    return x\n"


async def test_hover_and_actions_answer_in_the_moved_place_at_once(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "3:4-3:12", version=1)
    editor.insert(path, 0, 0, "import os\n")
    hover = await editor.hover(path, 4, 6)
    assert hover is not None
    assert str(hover.range) == "4:4-4:12"
    assert await editor.hover(path, 3, 6) is None
    (action,) = await editor.actions(path, span(4, 5, 4, 5))
    assert action.edit is not None
    assert str(action.edit).count("4:4-4:12") == 1
    latest = editor.latest(path)
    assert latest is not None
    assert latest.version == 1
    await editor.shows(path, "4:4-4:12", version=2)
    await editor.analysed(1)


async def test_a_change_inside_a_break_takes_it_away_and_one_beside_it_does_not(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, MARK + "def f(x):\n    print(1); print(2)\n")
    await editor.shows(path, "3:4-3:12", "3:14-3:22")
    editor.insert(path, 3, 10, "x")
    await editor.shows(path, "3:15-3:23", version=2)
    assert len(await editor.actions(path, span(3, 0, 3, 30))) == 1


@pytest.mark.parametrize("whole", [True, False])
async def test_a_change_of_the_whole_text_moves_only_what_changed(editor: Editor, tmp_path: Path, whole: bool) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "3:4-3:12")
    text = "# one\n# two\n" + TEXT
    editor.change(path, types.TextDocumentContentChangeWholeDocument(text) if whole else replacing(0, 0, 9, 0, text))
    await editor.shows(path, "5:4-5:12", version=2)


async def test_a_report_for_an_older_text_is_moved_through_the_edits_since(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, "SLOW = 1\n" + MARK + "def f(x):\n    print(1)\n    print(2)\n")
    await editor.analysed(1)
    editor.insert(path, 0, 0, "# first\n")
    editor.insert(path, 5, 10, "0")
    editor.insert(path, 0, 0, "# second\n")
    editor.analyser.release.set()
    await editor.shows(path, "7:4-7:12", version=4)


async def test_a_helper_opened_with_another_text_than_on_disk_shows_the_right_place(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def log(x):\n    print(x)\n")
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n")
    await editor.shows(tmp_path / "helper.py", "1:4-1:12")
    editor.open(tmp_path / "helper.py", "# not saved\ndef log(x):\n    print(x)\n")
    await editor.shows(tmp_path / "helper.py", "2:4-2:12", version=1)


async def test_related_places_move_with_a_file_that_is_changed(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def log(x):\n    print(x)\n")
    await editor.connect(tmp_path)
    editor.open(tmp_path / "a.py", "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n")
    editor.open(tmp_path / "helper.py", "def log(x):\n    print(x)\n")
    await editor.shows(tmp_path / "helper.py", "1:4-1:12", version=1)
    editor.insert(tmp_path / "helper.py", 0, 0, "\n")
    await until(lambda: "2:4-2:12" in str(editor.latest(tmp_path / "a.py")))


texts = st.text(st.sampled_from("ab\r\n\f😀"), max_size=8)


@settings(database=None, deadline=None)
@given(before=texts, text=texts, start=st.integers(0, 8), end=st.integers(0, 8))
def test_trimming_an_edit_does_not_change_what_it_does(before: str, text: str, start: int, end: int) -> None:
    source = SourceFile("a.py", before)
    start, end = sorted((start, end))
    edit = Edit(Span(source.position(min(start, len(before))), source.position(min(end, len(before)))), text)
    assert source.apply([trimmed(source, edit)]) == source.apply([edit])


@settings(database=None, deadline=None)
@given(before=texts, after=texts)
def test_a_difference_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    source = SourceFile("a.py", before)
    assert source.apply([difference(source, after)]).text == after


LINES = "".join(f"    line{number}(x)\n" for number in range(8))


def _report(source: SourceFile, lines: list[int]) -> Report:
    """Something of each kind, at these lines in turn."""
    at = [Span.at(line, 4, line, 12) for line in lines]
    found = [
        Diagnostic(
            f"d{span.start.line}", source.path, span, Severity.WARNING, Kind.BREAK, "GB0059", "m",
            stack=(StackFrame(source.path, other.start.line, "f", span=other), StackFrame("lib.py", 3, "g")),
            related=(Related(source.path, other, "called here"),),
        )
        for span, other in itertools.pairwise(at)
    ]  # fmt: skip
    rows = [
        FunctionResult(
            source.path, "f", span.start.line, source.path, span, Outcome.TRACED,
            regions=(Region(source.path, min(lines), span.start.line, "graph", (1,)), Region("lib.py", 0, 9, "eager")),
        )
        for span in at
    ]  # fmt: skip
    return Report(source.path, functions=tuple(rows), diagnostics=tuple(found), sources={source.path: source})


@settings(database=None, deadline=None)
@given(
    lines=st.lists(st.integers(0, 7), min_size=2, max_size=4),
    places=st.lists(st.integers(0, len(LINES)), min_size=2, max_size=2),
    text=st.text(st.sampled_from("ab \n"), max_size=4),
)
def test_what_is_passed_over_is_what_does_not_move(lines: list[int], places: list[int], text: str) -> None:
    source = SourceFile("a.py", LINES)
    start, end = sorted(places)
    edit = Edit(Span(source.position(start), source.position(end)), text)
    report, after = _report(source, lines), source.apply([edit])
    with pytest.MonkeyPatch.context() as patch:
        quick = moved_report(report, edit, after)
        patch.setattr(moving._Move, "leaves", lambda *_: False)
        assert quick == moved_report(report, edit, after)


def test_a_key_that_shifts_no_lines_leaves_the_rest_as_it_is() -> None:
    source = SourceFile("a.py", LINES)
    report, edit = _report(source, [1, 2, 6]), Edit(Span.at(4, 4, 4, 4), "x")
    moved = moved_report(report, edit, source.apply([edit]))
    assert all(now is then for now, then in zip(moved.diagnostics, report.diagnostics, strict=True))
