"""The extension in a real VS Code, the way a user meets it. The pictures in build/e2e/ are for looking at."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from .code_server import CodeServer
from .workbench import ENTRY, Workbench, eventually, repeated


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
    eventually("the lens", lambda: any("3 graphs · 1 break · x: f32[8, 16] (from call)" in lens for lens in workbench.lenses()))
    eventually("the columns", lambda: workbench.squiggles() == [('    print("log")', 4, 16)])
    eventually("the caller", lambda: workbench.squiggles("info") == [("    y = util(y)", 8, 15)])
    titles = ("Trace now", "Show graphs", "Edit inputs")
    eventually("the titles", lambda: [all(title in lens for title in titles) for lens in workbench.lenses()] == [True])
    eventually("the bands", lambda: workbench.bands() == 5)
    eventually("the status", lambda: workbench.status() == "1 graph break")
    workbench.picture("first-dark")


def test_hover(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    legend = ("Eager", "Show graphs")
    workbench.hover("GB0059", "Failed to trace builtin operator", "Open the page on GB0059", *legend)
    workbench.picture("hover-first-dark")
    link = workbench.page.locator(".monaco-hover a", has_text="Open the page on GB0059").first

    def follow() -> None:
        workbench.hover("Open the page on GB0059")
        link.click(timeout=5_000)

    repeated("the page", follow, lambda: "GB0059" in workbench.webview_text())
    workbench.picture("rule-dark")


def test_graph_view(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the lens", lambda: any("3 graphs" in lens for lens in workbench.lenses()))
    view = workbench.webview()
    workbench.click_lens("Show graphs", lambda: view.locator(".chain > li").count())
    eventually("the chain", lambda: workbench.labels(".chain > li") == ["Graph 1", "Eager", "Graph 2", "Eager", "Graph 3"])
    eventually("the operations", lambda: view.locator(".graph .op").all_inner_texts() == ["mul", "add", "mul"])
    workbench.picture("graphs-first-dark")
    place = view.locator(".place", has_text="return y * 3")
    repeated("the line", lambda: place.click(timeout=5_000), lambda: workbench.is_at(15, 1))


def test_tree(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.command("View: Show Graphbreak")
    row = r'print\("log"\).*helper_print.py:7 · 3 graphs · Failed to trace builtin operator'
    eventually("the row", lambda: [bool(re.search(row, shown)) for shown in workbench.tree()] == [True])
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
    eventually("the fix", lambda: any("disabled helper" in title for title in workbench.fixes()))
    workbench.picture("fixes-first-dark")
    workbench.apply_fix("disabled helper", lambda: any("torch.compiler.disable" in line for line in workbench.lines()))
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
    eventually("its graphs", lambda: "second" in workbench.webview_text() and workbench.webview().locator(".chain > .graph").count() == 2)
    eventually(
        "both",
        lambda: (
            [lens.split(" (")[0] for lens in workbench.lenses()] == ["1 graph · no breaks · x: f32[3]", "2 graphs · 1 break · x: f32[4]"]
        ),
    )


def test_a_trace_is_cancelled(workbench: Workbench) -> None:
    workbench.open_file("endless.py")
    eventually("the trace", workbench.is_busy)
    repeated("an end long before its time", lambda: workbench.command("Graphbreak: Cancel"), lambda: not workbench.is_busy(), 5)
    eventually("nothing known", lambda: any("not traced yet" in lens for lens in workbench.lenses()))
    workbench.open_file("not_split.py")
    eventually("the next one", lambda: any("1 graph · no breaks" in lens for lens in workbench.lenses()))


def test_the_workspace_is_traced(workbench: Workbench) -> None:
    workbench.command("View: Show Graphbreak")
    workbench.command("Graphbreak: Trace Workspace")
    eventually("a file that is not open", lambda: any("item_score.py" in row for row in workbench.tree()))
    repeated("an end", lambda: workbench.command("Graphbreak: Cancel"), lambda: not workbench.is_busy(), 5)
    workbench.command("View: Show Explorer")


def test_a_print_is_added(workbench: Workbench) -> None:
    workbench.open_file("not_split.py")
    eventually("the lens", lambda: any("1 graph · no breaks" in lens for lens in workbench.lenses()))
    assert not workbench.squiggles()
    workbench.add_line(6, 'print("mid")')
    workbench.save()
    eventually("the squiggle", lambda: [text for text, _, _ in workbench.squiggles()] == ['    print("mid")'])
    eventually("the lens", lambda: any("2 graphs · 1 break" in lens for lens in workbench.lenses()))


def test_edit_inputs(workbench: Workbench) -> None:
    workbench.open_file("print_first.py")
    eventually("the lens", lambda: any("1 break" in lens for lens in workbench.lenses()))
    comment = "# graphbreak: announce(torch.randn(8, 16))"
    workbench.click_lens("Edit inputs", lambda: any(comment in line for line in workbench.lines()))
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
    repeated("the report", lambda: _ask_for_the_report(workbench), lambda: any("Graph Count" in line for line in workbench.lines()))
    workbench.picture("explain-dark")


def _ask_for_the_report(workbench: Workbench) -> None:
    workbench.command("Graphbreak: Explain Function...")
    workbench.pick("Explain report")


def test_walkthrough(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.command("View: Close All Editors")
    sample = workbench.page.get_by_role("button", name="Open Sample File", exact=True)
    repeated("the walkthrough", lambda: _open_the_walkthrough(workbench), sample.is_visible)
    repeated("the sample", lambda: sample.click(timeout=5_000), workbench.lines)
    eventually("the lens", lambda: any("2 graphs · 1 break" in lens for lens in workbench.lenses()))
    eventually("the squiggle", workbench.squiggles)
    workbench.picture("walkthrough-dark")
    workbench.step("Find the break", "Explain Break", lambda: "GB0059" in workbench.webview_text())
    workbench.command("View: Close Editor")
    fixes = workbench.page.locator(".action-widget .monaco-list-row.action")
    workbench.step("Fix it", "Show Quick Fixes", lambda: fixes.count() > 0)
    workbench.picture("walkthrough-fixes-dark")
    workbench.page.keyboard.press("Escape")
    workbench.step("See the graphs", "Show Graphs", lambda: workbench.page.locator(".tab", has_text="Graphs: normalize").count() > 0)
    workbench.picture("walkthrough-graphs-dark")


def _open_the_walkthrough(workbench: Workbench) -> None:
    workbench.command("Welcome: Open Walkthrough")
    workbench.pick("Get started with Graphbreak")


def test_status(workbench: Workbench) -> None:
    workbench.open_file("helper_print.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.point(ENTRY, "torch 2", "Sandbox")
    workbench.picture("status-dark")
    workbench.point('.statusbar-item[id="status.languageStatus"]', "torch 2", "Settings")
    workbench.picture("language-status-dark")
    logs = workbench.page.locator(".quick-input-widget .monaco-list-row", has_text="Show logs")

    def show_logs() -> None:
        workbench.page.locator(ENTRY).click(timeout=5_000)
        logs.click(timeout=5_000)

    repeated("the log", show_logs, lambda: workbench.output("Starting"))
    workbench.command("View: Hide Panel")
