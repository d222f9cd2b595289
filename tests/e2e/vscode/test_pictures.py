"""The same in light, in dark and in high contrast, for looking at: the README shows some of these pictures."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from .code_server import CodeServer
from .conftest import OpenEditor
from .workbench import Workbench, eventually

MODEL = '''\
"""A layer that scales its input, and says so."""

import torch


def watch(spread: torch.Tensor) -> None:
    print("a spread was seen")


@torch.compile
def normalize(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(dim=-1, keepdim=True)
    spread = x.std(dim=-1, keepdim=True)
    watch(spread)
    y = (x - mean) / (spread + 1e-6)
    return torch.relu(y)


if __name__ == "__main__":
    normalize(torch.randn(8, 16))
'''

THEMES = {
    "dark": ("Default Dark Modern", "vs-dark"),
    "light": ("Default Light Modern", "vs"),
    "contrast": ("Default High Contrast", "hc-black"),
    "contrast-light": ("Default High Contrast Light", "hc-light"),
}


@pytest.fixture(scope="module")
def window(open_editor: OpenEditor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CodeServer, Workbench]]:
    folder = tmp_path_factory.mktemp("pictures") / "project"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / ".venv").symlink_to(sys.prefix)
    with open_editor(folder, {}, size=(1060, 600)) as opened:
        yield opened


@pytest.mark.parametrize("theme", THEMES)
def test_looks(editor: CodeServer, workbench: Workbench, theme: str) -> None:
    name, kind = THEMES[theme]
    editor.set(workbench__colorTheme=name)
    workbench.theme(kind)
    workbench.open_file("model.py")
    eventually("the bands", lambda: workbench.bands() == 6)
    workbench.rest()
    eventually("the lens", lambda: any("2 graphs · 1 break" in lens for lens in workbench.lenses()))
    workbench.picture(f"bands-{theme}")
    workbench.click_lens("Show graphs", lambda: workbench.webview().locator(".chain > li").count())
    workbench.page.mouse.move(200, 300)
    workbench.picture(f"graphs-{theme}")
    workbench.command("View: Close All Editors")
    workbench.open_file("model.py")
    eventually("the squiggle", workbench.squiggles)
    workbench.hover("Hints", "Open the page on", "Show graphs")
    workbench.picture(f"hover-{theme}")
    workbench.command("View: Show Graphbreak")
    eventually("a row", workbench.tree)
    workbench.open_file("model.py")
    workbench.go_to(7, 8)
    eventually("a verdict", lambda: _has_verdict(workbench))
    workbench.picture(f"fixes-{theme}")
    workbench.page.keyboard.press("Escape")
    workbench.command("View: Show Explorer")


def _has_verdict(workbench: Workbench) -> bool:
    """Whether the quick fixes, which stay open then, say what trying them showed."""
    titles = workbench.fixes()
    found = any("removes 1 of 1" in title for title in titles) and not any("not tried yet" in title for title in titles)
    if not found:
        workbench.page.keyboard.press("Escape")
    return found
