"""What a user does in the editor, and what they see there. Everything waits for a condition, never for a time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from playwright.sync_api import FrameLocator, Locator, Page

T = TypeVar("T")
PATIENCE = 60.0
"""Seconds: a first trace imports torch."""


def eventually(what: str, ask: Callable[[], T], timeout: float = PATIENCE) -> T:
    """The first true answer."""
    give_up = time.monotonic() + timeout
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > give_up:
            raise AssertionError(f"never came: {what} (last: {answer!r})")
        time.sleep(0.1)


class Workbench:
    """One window of the editor."""

    def __init__(self, page: Page, pictures: Path) -> None:
        self.page = page
        self._pictures = pictures

    def open_window(self, url: str) -> None:
        """Load the window."""
        self.page.goto(url)
        self.page.wait_for_selector(".monaco-workbench .part.statusbar", timeout=60_000)

    def picture(self, name: str) -> None:
        """Keep what is on the screen."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(self._pictures / f"{name}.png"))

    def open_file(self, name: str) -> None:
        """Open a file by its name, as with Ctrl+P."""
        self._quick_input("Control+P", name)
        eventually(f"{name} in the list", lambda: name in self._first_pick())
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(f'.tab.active[data-resource-name="{name}"]')
        self.page.wait_for_selector(".editor-group-container.active .view-lines .view-line")

    def command(self, title: str) -> None:
        """Run a command of the palette by its whole title."""
        self._quick_input("F1", f">{title}")
        eventually(f"{title} in the palette", lambda: self._first_pick().startswith(title))
        self.page.keyboard.press("Enter")

    def _quick_input(self, key: str, text: str) -> None:
        self.page.keyboard.press("Escape")
        self.page.keyboard.press(key)
        box = self.page.locator(".quick-input-widget input.input").first
        box.wait_for(state="visible")
        box.fill(text)

    def _first_pick(self) -> str:
        rows = self.page.locator(".quick-input-widget .monaco-list-row")
        return (rows.first.get_attribute("aria-label") or "") if rows.count() else ""

    def picks(self) -> list[str]:
        """The rows of the open list."""
        return [row.get_attribute("aria-label") or "" for row in self.page.locator(".quick-input-widget .monaco-list-row").all()]

    def go_to(self, line: int, column: int = 1) -> None:
        """Put the cursor somewhere."""
        self._quick_input("Control+G", f":{line}:{column}")
        self.page.keyboard.press("Enter")

    def type(self, text: str) -> None:
        """Type as a user does."""
        self.page.keyboard.type(text)

    def save(self) -> None:
        """Save the file."""
        self.page.keyboard.press("Control+S")
        self.page.wait_for_selector(".tab.active:not(.dirty)")

    def lines(self) -> list[str]:
        """The visible source lines."""
        views = self.page.locator(".editor-group-container.active .view-lines .view-line").all()
        placed = sorted((int(_pixels(view, "top")), (view.text_content() or "").replace("\xa0", " ")) for view in views)
        return [text for _, text in placed]

    def squiggles(self, level: str = "warning") -> list[tuple[str, float, float]]:
        """Each squiggle: the text of its line, and the columns where it begins and ends (from 0, measured in pixels)."""
        return [self._place(mark) for mark in self.page.locator(f".view-overlays .squiggly-{level}").all() if mark.is_visible()]

    def _place(self, mark: Locator) -> tuple[str, float, float]:
        box = mark.bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        for view in self.page.locator(".view-lines .view-line").all():
            line = view.bounding_box()
            if line is not None and line["y"] <= middle < line["y"] + line["height"]:
                text = (view.text_content() or "").replace("\xa0", " ")
                spans = view.locator("> span").first.bounding_box()
                assert spans is not None
                width = self.character_width()
                return text, (box["x"] - spans["x"]) / width, (box["x"] + box["width"] - spans["x"]) / width
        return "", 0.0, 0.0

    def character_width(self) -> float:
        """Pixels of a character, from the longest visible line."""
        width = self.page.evaluate(
            """() => { let best = [0, 1];
                 for (const span of document.querySelectorAll('.view-line > span')) {
                   const own = [...span.querySelectorAll(':scope > span')].filter((s) => !/ced-|contentWidget/.test(s.className));
                   const text = own.map((s) => s.textContent).join('');
                   if (own.length && text.length > best[0]) {
                     best = [text.length, own.at(-1).getBoundingClientRect().right - own[0].getBoundingClientRect().left];
                   } }
                 return best[1] / best[0]; }"""
        )
        return float(width)

    def hover(self, level: str = "warning") -> str:
        """Point at the first squiggle and read."""
        box = self.page.locator(f".view-overlays .squiggly-{level}").first.bounding_box()
        assert box is not None
        self.page.mouse.move(box["x"] + 6, box["y"] + box["height"] / 2)
        self.page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2 - 4)
        hover = self.page.locator(".monaco-hover:visible")
        return str(eventually("a hover", lambda: hover.first.inner_text() if hover.count() else ""))

    def lenses(self) -> list[str]:
        """The code lenses, each row as one text."""
        return [(row.inner_text() or "").replace("\xa0", " ") for row in self.page.locator(".codelens-decoration").all()]

    def click_lens(self, title: str) -> None:
        """Click a link of a lens."""
        self.page.locator(".codelens-decoration a", has_text=title).first.click()

    def fixes(self) -> list[str]:
        """Open the quick fixes at the cursor and read them."""
        self.page.keyboard.press("Control+.")
        rows = self.page.locator(".action-widget .monaco-list-row.action")
        eventually("quick fixes", lambda: rows.count() > 0)
        return [row.inner_text() for row in rows.all()]

    def apply_fix(self, title: str) -> None:
        """Apply one of the open quick fixes."""
        self.page.locator(".action-widget .monaco-list-row.action", has_text=title).first.click()

    def status(self) -> str:
        """The text of our entry in the status bar."""
        entry = self.page.locator('.statusbar-item[id*="graphbreak"]')
        return (entry.first.inner_text() or "").strip() if entry.count() else ""

    def notifications(self) -> list[str]:
        """The notices on the screen."""
        return [row.inner_text() for row in self.page.locator(".notifications-toasts .notification-list-item-message").all()]

    def tree(self) -> list[str]:
        """The rows of the tree *Graph breaks*."""
        rows = self.page.locator('.pane-body .monaco-list[aria-label*="Graph breaks"] .monaco-list-row').all()
        return [re.sub(r"\s+", " ", row.inner_text()).strip() for row in rows]

    def webview(self) -> FrameLocator:
        """The content of the graph view."""
        return self.page.frame_locator("iframe.webview.ready").first.frame_locator("iframe#active-frame")

    def bands(self) -> int:
        """How many lines have the border of a band."""
        count = self.page.evaluate(
            """() => [...document.querySelectorAll('.view-overlays .cdr')].filter((e) => parseFloat(getComputedStyle(e).borderLeftWidth) === 3).length"""
        )
        return int(count)


def _pixels(element: Locator, name: str) -> float:
    return float(element.evaluate("(e, name) => parseFloat(e.style[name]) || 0", name))
