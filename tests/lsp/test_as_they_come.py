"""Breaks are shown while the program that has them still runs."""

from __future__ import annotations

from pathlib import Path

from .editor import MARK, Editor, replacing, until

TWO = "# LIVE GRAPHS\n" + MARK + "def f(x):\n    print(x)\n    print(x)\n"
THREE = TWO + "    print(x)\n"


async def test_the_first_break_is_shown_before_the_end_and_stays_as_it_is(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TWO)
    (first,) = await editor.shows(path, "4:4-4:12", version=1)
    ((_, lens), *_) = await editor.lenses(path)
    assert lens.title == "1 break so far · x: f32[8, 16] (from call)"
    (report,) = (await editor.request("graphbreak/report"))["reports"]
    assert (report["provisional"], [row["provisional"] for row in report["functions"]]) == (True, [True])
    assert editor.status[-1] == ("tracing", "")
    editor.analyser.release.set()
    whole = await editor.shows(path, "4:4-4:12", "5:4-5:12", version=1)
    assert whole[0] == first
    (report,) = (await editor.request("graphbreak/report"))["reports"]
    assert (report["provisional"], report["functions"][0]["breaks"]) == (False, 2)
    assert [len(params.diagnostics) for params in editor.published] == [1, 2]


async def test_what_was_known_stays_until_the_end_and_moves(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.analyser.release.set()
    editor.open(path, THREE)
    await editor.shows(path, "4:4-4:12", "5:4-5:12", "6:4-6:12")
    editor.analyser.release.clear()
    editor.change(path, replacing(0, 0, 0, 0, "#\n"))
    editor.change(path, replacing(7, 4, 7, 12, "pass"))
    editor.save(path)
    await editor.analysed(2)
    await editor.shows(path, "5:4-5:12", "6:4-6:12", version=3)
    editor.insert(path, 0, 0, "#\n")
    await editor.shows(path, "6:4-6:12", "7:4-7:12", version=4)
    assert len(await editor.actions(path, editor.published[-1].diagnostics[0].range)) > 0, "with the fixes that it had"
    editor.analyser.release.set()
    await until(lambda: editor.status[-1] == ("idle", ""))
    await editor.shows(path, "6:4-6:12", "7:4-7:12", version=4)
    assert [len(params.diagnostics) for params in editor.published] == [1, 3, 2, 2]


async def test_a_run_that_is_ended_leaves_what_it_showed(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TWO)
    await editor.shows(path, "4:4-4:12")
    await editor.command("graphbreak.cancel", path.as_uri())
    await until(lambda: editor.status[-1] == ("idle", ""))
    await editor.shows(path, "4:4-4:12")
    (report,) = (await editor.request("graphbreak/report"))["reports"]
    assert report["provisional"]
    editor.change(path, replacing(4, 4, 4, 12, "pass"))
    editor.analyser.release.set()
    editor.save(path)
    await editor.shows(path, "5:4-5:12", version=2)
    assert (await editor.request("graphbreak/report"))["reports"][0]["provisional"] is False


async def test_the_next_run_begins_with_what_the_stale_one_showed(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TWO)
    await editor.shows(path, "4:4-4:12")
    editor.insert(path, 0, 0, "#\n")
    editor.save(path)
    await until(lambda: editor.analyser.cancelled == 1)
    await editor.analysed(2)
    editor.analyser.release.set()
    await editor.shows(path, "5:4-5:12", "6:4-6:12", version=2)
    assert all(params.diagnostics for params in editor.published)
