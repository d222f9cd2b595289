"""The extension in a real VS Code, the way a user meets it. The pictures in build/e2e/ are for looking at."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from playwright.sync_api import TimeoutError as TooLong

from .code_server import CodeServer
from .workbench import Workbench, eventually


def test_the_package(packaged: tuple[Path, str]) -> None:
    vsix, said = packaged
    assert "WARNING" not in said.replace("WARNING: Location", ""), said
    assert vsix.stat().st_size < 3_000_000
    with zipfile.ZipFile(vsix) as package:
        names = package.namelist()
    assert "extension/bundled/libs/graphbreak/worker/__main__.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".dll", ".pyc", ".map", ".ts"))]


def test_the_first_squiggle_comes_by_itself(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    assert workbench.notifications() == []
    ((text, start, end),) = workbench.squiggles()
    assert (text, round(start), round(end)) == ('    print("log")', 4, 16)
    ((text, start, end),) = workbench.squiggles("info")
    assert (text, round(start), round(end)) == ("    y = util(y)", 8, 15)
    eventually("the lens", lambda: any("3 graphs · 1 break · x: f32[8, 16] (from call)" in lens for lens in workbench.lenses()))
    (lens,) = workbench.lenses()
    assert all(title in lens for title in ("Trace now", "Show graphs", "Edit inputs"))
    assert eventually("the bands", workbench.bands) == 5
    assert workbench.status() == "1 graph break"
    workbench.picture("first-dark")


def test_hover(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    text = eventually("all of it", lambda: text if "Loading" not in (text := workbench.hover()) else "")
    assert "GB0059" in text
    assert "Failed to trace builtin operator" in text
    assert "Open the page on GB0059" in text
    assert "Eager" in text, "the legend of the band"
    assert "Show graphs" in text
    workbench.picture("hover-first-dark")
    workbench.page.locator(".monaco-hover a", has_text="Open the page on GB0059").first.click()
    eventually("the page", lambda: "GB0059" in workbench.webview().locator("body").inner_text())
    workbench.picture("rule-dark")


def test_graph_view(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the lens", lambda: any("3 graphs" in lens for lens in workbench.lenses()))
    workbench.click_lens("Show graphs")
    view = workbench.webview()
    view.locator(".chain > li").first.wait_for()
    kinds = [item.get_attribute("aria-label") for item in view.locator(".chain > li").all()]
    assert kinds == ["Graph 1", "Eager", "Graph 2", "Eager", "Graph 3"]
    assert view.locator(".graph .op").all_inner_texts() == ["mul", "add", "mul"]
    workbench.picture("graphs-first-dark")
    view.locator(".place", has_text="return y * 3").click()
    eventually("the line", lambda: "Ln 15, Col 1" in workbench.page.locator(".statusbar").inner_text())


def test_tree(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.command("View: Show Graphbreak")
    rows = eventually("a row", workbench.tree)
    assert len(rows) == 1
    assert re.search(r'print\("log"\).*helper_print.py:7 · 3 graphs · Failed to trace builtin operator', rows[0])
    workbench.command("Graphbreak: Group by Function")
    eventually("the function", lambda: any(re.search(r"big.*3 graphs · 1 break", row) for row in workbench.tree()))
    workbench.picture("tree-dark")
    workbench.command("Graphbreak: Group by File")
    eventually("the file", lambda: any(row.startswith("helper_print.py") for row in workbench.tree()))
    workbench.command("Graphbreak: Group by Cause")
    workbench.command("View: Show Explorer")


def test_quick_fix(workbench: Workbench) -> None:
    workbench.open_file("print_middle.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.go_to(9, 6)
    titles = workbench.fixes()
    assert any("disabled helper" in title for title in titles), titles
    workbench.picture("fixes-first-dark")
    workbench.apply_fix("disabled helper")
    eventually("the helper", lambda: any("torch.compiler.disable" in line for line in workbench.lines()))
    workbench.save()
    eventually("no warning", lambda: not workbench.squiggles())
    workbench.picture("fixed-dark")


def test_all_safe_breaks_are_fixed(workbench: Workbench, editor: CodeServer) -> None:
    workbench.open_file("breaking.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.command("Graphbreak: Fix All Safe Breaks in This File")
    eventually("the fix", lambda: any("reorderable_logging_functions" in line for line in workbench.lines()))
    workbench.picture("fixed-all-dark")
    workbench.command("File: Revert File")
    eventually("the squiggle again", workbench.squiggles)
    editor.set(editor__codeActionsOnSave={"source.fixAll.graphbreak": "explicit"})
    eventually("the fix on save", lambda: _is_fixed_by_saving(workbench))
    eventually("no squiggle", lambda: not workbench.squiggles())
    editor.set(editor__codeActionsOnSave={})


def _is_fixed_by_saving(workbench: Workbench) -> bool:
    """What was not tried before is tried after a save; the next one applies it."""
    workbench.rest()
    workbench.save()
    return any("reorderable_logging_functions" in line for line in workbench.lines())


def test_one_function_is_traced(workbench: Workbench) -> None:
    workbench.open_file("two.py")
    eventually("the lenses", lambda: len(workbench.lenses()) == 2)
    workbench.go_to(11, 5)
    workbench.command("Graphbreak: Trace Function")
    eventually("its graphs", lambda: "second" in workbench.webview().locator("h1").inner_text())
    assert workbench.webview().locator(".chain > .graph").count() == 2
    eventually(
        "both",
        lambda: (
            [lens.split(" (")[0] for lens in workbench.lenses()] == ["1 graph · no breaks · x: f32[3]", "2 graphs · 1 break · x: f32[4]"]
        ),
    )


def test_a_print_is_added(workbench: Workbench) -> None:
    workbench.open_file("not_split.py")
    eventually("the lens", lambda: any("1 graph · no breaks" in lens for lens in workbench.lenses()))
    assert not workbench.squiggles()
    workbench.go_to(6, 14)
    workbench.page.keyboard.press("Enter")
    workbench.type('print("mid")')
    workbench.page.keyboard.press("Escape")
    workbench.save()
    eventually("the squiggle", lambda: [text for text, _, _ in workbench.squiggles()] == ['    print("mid")'])
    eventually("the lens", lambda: any("2 graphs · 1 break" in lens for lens in workbench.lenses()))


def test_edit_inputs(workbench: Workbench) -> None:
    workbench.open_file("print_first.py")
    eventually("the lens", lambda: any("1 break" in lens for lens in workbench.lenses()))
    workbench.click_lens("Edit inputs")
    eventually("the comment", lambda: any("# graphbreak: announce(torch.randn(8, 16))" in line for line in workbench.lines()))
    eventually("the arguments selected", lambda: "(18 selected)" in workbench.page.locator(".statusbar").inner_text())
    workbench.command("File: Revert File")


def test_bands_are_toggled(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the bands", workbench.bands)
    workbench.command("Graphbreak: Toggle Graph Bands")
    eventually("no bands", lambda: workbench.bands() == 0)
    workbench.command("Graphbreak: Toggle Graph Bands")
    eventually("the bands again", workbench.bands)


def test_explain(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the lens", lambda: any("3 graphs" in lens for lens in workbench.lenses()))
    workbench.go_to(13)
    workbench.command("Graphbreak: Explain Function...")
    workbench.pick("Explain report")
    eventually("the report", lambda: any("Graph Count" in line for line in workbench.lines()))
    workbench.picture("explain-dark")


def test_walkthrough(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.command("View: Close All Editors")
    workbench.command("Welcome: Open Walkthrough")
    workbench.pick("Get started with Graphbreak")
    workbench.page.get_by_role("button", name="Open Sample File", exact=True).click()
    eventually("the lens", lambda: any("2 graphs · 1 break" in lens for lens in workbench.lenses()))
    eventually("the squiggle", workbench.squiggles)
    workbench.picture("walkthrough-dark")
    workbench.step("Find the break", "Explain Break")
    eventually("the page", lambda: "GB0059" in workbench.webview().locator("body").inner_text())
    workbench.command("View: Close Editor")
    eventually("the fixes", lambda: _fixes_by_step(workbench))
    workbench.picture("walkthrough-fixes-dark")
    workbench.page.keyboard.press("Escape")
    workbench.step("See the graphs", "Show Graphs")
    eventually("the graphs", lambda: workbench.page.locator(".tab", has_text="Graphs: normalize").count())
    workbench.picture("walkthrough-graphs-dark")


def _fixes_by_step(workbench: Workbench) -> list[str]:
    """The list that the step opens. The page may take the focus back as it ticks the step off, which closes it: then once more."""
    workbench.step("Fix it", "Show Quick Fixes")
    try:
        workbench.page.wait_for_selector(".action-widget .monaco-list-row.action", timeout=15_000)
    except TooLong:
        return []
    return workbench.texts(".action-widget .monaco-list-row.action")


def test_status(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    entry = workbench.page.locator('.statusbar-item[id*="graphbreak"]')
    entry.hover()
    tips = workbench.page.locator(".monaco-hover:visible")
    eventually("the details", lambda: any("torch 2" in tip and "Sandbox" in tip for tip in tips.all_inner_texts()))
    workbench.picture("status-dark")
    workbench.page.locator('.statusbar-item[id="status.languageStatus"]').hover()
    eventually("the same of the language", lambda: any("torch 2" in tip and "Settings" in tip for tip in tips.all_inner_texts()))
    workbench.picture("language-status-dark")
    entry.click()
    workbench.page.locator(".quick-input-widget .monaco-list-row", has_text="Show logs").click()
    eventually("the log", lambda: workbench.output("Starting"))
    workbench.command("View: Hide Panel")
