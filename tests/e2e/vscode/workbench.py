"""What a user does in the editor, and what they see there. Everything waits for a condition, never for a time."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from playwright.sync_api import Error, FrameLocator, Page

T = TypeVar("T")
PATIENCE = 120.0
"""Seconds: a first trace imports torch."""

ENTRY = '.statusbar-item[id*="graphbreak"]'
"""Ours in the status bar."""

_SOON = 10.0
"""Seconds: what a list that opens or an element that is in sight takes. What is late is asked for again."""

_QUIET = 1.5
"""Seconds without any work of ours after which it rests."""

IN_README = {f"{name}-{theme}" for name in ("hover", "bands", "graphs", "fixes") for theme in ("dark", "light")}
"""The pictures that the README shows. They are copied to the folder that the variable GRAPHBREAK_PICTURES names."""


def eventually(what: str, ask: Callable[[], T], timeout: float = PATIENCE) -> T:
    """The first true answer. What is gone again while it is read is asked for anew."""
    give_up = time.monotonic() + timeout
    while True:
        answer: object = None
        try:
            if answer := ask():
                return answer
        except Error as error:
            answer = error
        if time.monotonic() > give_up:
            raise AssertionError(f"never came: {what} (last: {answer!r})")
        time.sleep(0.1)


def repeated(what: str, act: Callable[[], object], seen: Callable[[], T], patience: float = 15.0) -> T:
    """Act, and act again each few seconds until what it leads to is seen: the first true answer.

    What VS Code is still doing moves the focus, draws lenses anew and closes what has been opened, for users too, who then ask again.
    """
    give_up = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(Error, AssertionError):
            act()
        try:
            return eventually(what, seen, patience)
        except AssertionError:
            if time.monotonic() > give_up:
                raise


class Workbench:
    """One window of the editor."""

    def __init__(self, page: Page, pictures: Path) -> None:
        self.page = page
        self._pictures = pictures

    def open_window(self, url: str) -> None:
        """Load the window."""
        self.page.goto(url)
        self.page.wait_for_selector(".monaco-workbench .part.statusbar", timeout=60_000)

    def reload(self) -> None:
        """Load it again, as with F5."""
        self.page.reload()
        self.page.wait_for_selector(".monaco-workbench .part.statusbar", timeout=60_000)

    def close(self) -> None:
        """Close the window as a user does."""
        self.page.close(run_before_unload=True)

    def picture(self, name: str) -> None:
        """Keep what is on the screen."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        self.page.evaluate(_STILL)
        file = self._pictures / f"{name}.png"
        self.page.screenshot(path=str(file))
        if name in IN_README and (folder := os.environ.get("GRAPHBREAK_PICTURES")):
            shutil.copy(file, folder)

    def open_file(self, name: str) -> None:
        """Open a file by its name, as with Ctrl+P."""

        def choose() -> None:
            self._quick_input("Control+P", name)
            eventually(f"{name} in the list", lambda: name in self._first_pick(), _SOON)
            self.page.keyboard.press("Enter")

        tab = self.page.locator(f'.tab.active[data-resource-name="{name}"]')
        repeated(f"the tab of {name}", choose, lambda: tab.count() > 0)
        self.page.wait_for_selector(".editor-group-container.active .view-lines .view-line")

    def command(self, title: str) -> None:
        """Run a command of the palette by its title. By the keyboard: while the list is still being sorted, a click may hit another one."""
        box = self.page.locator(".quick-input-widget:visible input.input")
        entered = False

        def choose() -> None:
            nonlocal entered
            self._quick_input("F1", f">{title}")
            eventually(f"{title} in the list", lambda: self._focus(title), _SOON)
            self.page.keyboard.press("Enter")
            entered = True

        repeated(title, choose, lambda: entered and f">{title}" not in box.evaluate_all("(all) => all.map((one) => one.value)"))

    def _focus(self, title: str) -> bool:
        focused = str(self.page.evaluate(_FOCUSED))
        if focused and not focused.startswith(title):
            self.page.keyboard.press("ArrowDown")
        return focused.startswith(title)

    def pick(self, label: str) -> None:
        """Choose the row of the open list that begins so."""
        self.page.locator(f'.quick-input-widget .monaco-list-row[aria-label^="{label}"]').first.click(timeout=_SOON * 1000)

    def theme(self, kind: str) -> None:
        """Wait until the colours are of a kind: `vs`, `vs-dark`, `hc-black`."""
        self.page.wait_for_selector(f".monaco-workbench.{kind}")

    def _quick_input(self, key: str, text: str) -> None:
        self.page.keyboard.press("Escape")
        self.page.keyboard.press(key)
        box = self.page.locator(".quick-input-widget input.input").first
        box.wait_for(state="visible", timeout=_SOON * 1000)
        box.fill(text, timeout=_SOON * 1000)

    def _first_pick(self) -> str:
        rows = self.page.locator(".quick-input-widget .monaco-list-row")
        return (rows.first.get_attribute("aria-label") or "") if rows.count() else ""

    def go_to(self, line: int, column: int = 1) -> None:
        """Put the cursor somewhere."""

        def ask() -> None:
            self._quick_input("Control+G", f":{line}:{column}")
            self.page.keyboard.press("Enter")
            self.page.wait_for_selector(".quick-input-widget", state="hidden", timeout=_SOON * 1000)

        repeated(f"line {line}", ask, lambda: self.is_at(line, column))

    def is_at(self, line: int, column: int) -> bool:
        """Whether the status bar says that the cursor is there."""
        return f"Ln {line}, Col {column}" in [text.strip() for text in self.texts(".statusbar-item")]

    def add_line(self, line: int, text: str) -> None:
        """Type a line behind another one (from 1). Should the keys have gone elsewhere, all changes are taken back and it is done again."""

        def write() -> None:
            if self.page.locator(".tab.active.dirty").count():
                self.command("File: Revert File")
            self.go_to(line)
            self.page.keyboard.press("End")
            self.page.keyboard.press("Enter")
            self.page.keyboard.type(text)
            self.page.keyboard.press("Escape")

        repeated(text, write, lambda: text in [shown.strip() for shown in self.lines()])

    def save(self) -> None:
        """Save the file."""
        clean = self.page.locator(".tab.active:not(.dirty)")
        repeated("a saved file", lambda: self.page.keyboard.press("Control+S"), lambda: clean.count() > 0)

    def lines(self) -> list[str]:
        """The visible source lines of the active editor."""
        return self.texts(".editor-group-container.active .view-lines .view-line")

    def squiggles(self, level: str = "warning") -> list[tuple[str, int, int]]:
        """Each squiggle: the text of its line, and the columns where it begins and ends (from 0, measured in pixels)."""
        return [(text, round(start), round(end)) for text, start, end in self.page.evaluate(_SQUIGGLES, level)]

    def texts(self, selector: str) -> list[str]:
        """The texts of all such elements, from top to bottom. Read at once: what is there may be gone in a moment."""
        return [str(text) for text in self.page.evaluate(_TEXTS, selector)]

    def hover(self, *texts: str, level: str = "warning") -> None:
        """Point at the first squiggle until a hover is shown that has these texts: its parts come one by one."""
        mark = self.page.locator(f".view-overlays .squiggly-{level}").first

        def come_anew() -> None:
            box = mark.bounding_box(timeout=_SOON * 1000)
            assert box is not None
            self._leave()
            self.page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2 - 4, steps=3)

        repeated(f"a hover: {texts}", come_anew, lambda: self._tips(*texts), 5)

    def _leave(self) -> None:
        """Take the pointer off a hover, which stays as it was drawn for as long as the pointer is on it, and wait until it is gone."""
        self.page.mouse.move(5, 5)
        eventually("no hover", lambda: not self.page.locator(".monaco-hover:visible").count(), 5)

    def _tips(self, *texts: str) -> list[str]:
        """The hovers on the screen that have all of these texts."""
        return [tip for tip in self.page.locator(".monaco-hover:visible").all_inner_texts() if all(text in tip for text in texts)]

    def labels(self, selector: str) -> list[str]:
        """How elements of the graph view are called for those who hear it."""
        return list(self.webview().locator(selector).evaluate_all("(all) => all.map((one) => one.ariaLabel)"))

    def lenses(self) -> list[str]:
        """The code lenses, each row as one text."""
        return self.texts(".codelens-decoration")

    def click_lens(self, title: str, seen: Callable[[], T]) -> T:
        """Click a link of a lens until that is seen to which it leads."""
        link = self.page.locator(".codelens-decoration a", has_text=title).first
        return repeated(title, lambda: link.click(timeout=_SOON * 1000), seen)

    def point(self, selector: str, *texts: str) -> None:
        """Point at something until a tip is shown that has these texts."""

        def come_anew() -> None:
            self._leave()
            self.page.locator(selector).first.hover(timeout=_SOON * 1000)

        repeated(f"a tip: {texts}", come_anew, lambda: self._tips(*texts), 5)

    def fixes(self) -> list[str]:
        """Open the quick fixes at the cursor and read them."""
        rows = self.page.locator(".action-widget .monaco-list-row.action")

        def are_shown() -> bool:
            """A list that opens is closed again by what VS Code is still doing (it moves the focus), as for a user, who asks again then."""
            self.page.keyboard.press("Escape")
            self.page.keyboard.press("Control+.")
            with contextlib.suppress(Error):
                rows.first.wait_for(timeout=10_000)
            return rows.count() > 0

        eventually("quick fixes", are_shown)
        return rows.all_inner_texts()

    def apply_fix(self, title: str, seen: Callable[[], T]) -> T:
        """Apply one of the quick fixes at the cursor."""
        row = self.page.locator(".action-widget .monaco-list-row.action", has_text=title).first

        def choose() -> None:
            if not row.is_visible():
                self.fixes()
            row.click(timeout=_SOON * 1000)

        return repeated(title, choose, seen)

    def status(self) -> str:
        """The text of our entry in the status bar."""
        return " ".join(self.texts(ENTRY)).strip()

    def notifications(self) -> list[str]:
        """The notices on the screen."""
        return self.texts(".notifications-toasts .notification-list-item-message")

    def press(self, button: str, seen: Callable[[], T]) -> T:
        """Press a button of a notice: of one that has been put away too, as VS Code does after some seconds."""

        def find_and_press() -> None:
            if not self.notifications():
                self.command("Notifications: Show Notifications")
            self.page.locator(".notification-list-item .monaco-button:visible", has_text=button).first.click(timeout=_SOON * 1000)

        return repeated(button, find_and_press, seen)

    def output(self, text: str) -> bool:
        """Whether the output channel that is shown has a line with this text."""
        return self.page.locator(".part.panel .view-line", has_text=text).count() > 0

    def is_busy(self) -> bool:
        """Whether something is traced or fixes are tried."""
        return self.page.locator(".statusbar").locator(".codicon-beaker, .codicon-sync, .codicon-loading").count() > 0

    def rest(self) -> None:
        """Wait until nothing is traced and no fixes are tried any more: the one may follow the other after a moment."""
        begun = time.monotonic()

        def is_quiet() -> bool:
            nonlocal begun
            if self.is_busy():
                begun = time.monotonic()
            return time.monotonic() - begun > _QUIET

        eventually("rest", is_quiet)

    def step(self, title: str, button: str, seen: Callable[[], T]) -> T:
        """Unfold a step of the walkthrough, and press its button. The page may take the focus back as it ticks a step off."""

        def unfold_and_press() -> None:
            self.page.locator(".getting-started-step", has_text=title).first.click(timeout=_SOON * 1000)
            self.page.get_by_role("button", name=button, exact=True).click(timeout=_SOON * 1000)

        return repeated(button, unfold_and_press, seen)

    def tree(self) -> list[str]:
        """The rows of the tree *Graph breaks*."""
        return self.texts('.pane-body .monaco-list[aria-label*="Graph breaks"] .monaco-list-row')

    def webview(self) -> FrameLocator:
        """The content of the graph view."""
        return self.page.frame_locator("iframe.webview.ready").first.frame_locator("iframe#active-frame")

    def webview_text(self) -> str:
        """The text of the graph view or of an offline page, empty as long as none is open."""
        with contextlib.suppress(Error):
            return self.webview().locator("body").inner_text(timeout=2_000)
        return ""

    def bands(self) -> int:
        """How many lines have the bar of a band."""
        return int(self.page.evaluate(_BANDS))


_TEXTS = """
(selector) => [...document.querySelectorAll(selector)]
  .map((element) => [element.getBoundingClientRect().top, element.innerText.replaceAll('\\u00a0', ' ').replace(/[ \\n]*\\n[ \\n]*/g, ' ')])
  .sort(([a], [b]) => a - b)
  .map(([, text]) => text)
"""

_SQUIGGLES = """
(level) => {
  const own = (line) => [...line.querySelectorAll(':scope > span > span')].filter((span) => !/ced-/.test(span.className));
  const lines = [...document.querySelectorAll('.view-lines .view-line')].map((line) => {
    const spans = own(line);
    const text = spans.map((span) => span.textContent).join('').replaceAll('\\u00a0', ' ');
    const box = line.getBoundingClientRect();
    const left = spans.length ? spans[0].getBoundingClientRect().left : box.left;
    const right = spans.length ? spans.at(-1).getBoundingClientRect().right : box.left;
    return { text, top: box.top, bottom: box.bottom, left, right };
  });
  const longest = lines.reduce((a, b) => (b.text.length > a.text.length ? b : a), { text: '', left: 0, right: 1 });
  const width = (longest.right - longest.left) / Math.max(1, longest.text.length);
  return [...document.querySelectorAll('.view-overlays .squiggly-' + level)].flatMap((mark) => {
    const box = mark.getBoundingClientRect();
    const middle = (box.top + box.bottom) / 2;
    const line = lines.find(({ top, bottom }) => top <= middle && middle < bottom);
    return line ? [[line.text, (box.left - line.left) / width, (box.right - line.left) / width]] : [];
  });
}
"""

_STILL = """
() => Promise.all(document.getAnimations()
  .filter((animation) => animation.effect?.getComputedTiming().endTime !== Infinity)
  .map((animation) => animation.finished.catch(() => undefined)))
"""

_FOCUSED = "() => document.querySelector('.quick-input-widget .monaco-list-row.focused')?.getAttribute('aria-label') ?? ''"

_BANDS = """
() => [...document.querySelectorAll('.view-overlays .cdr')]
  .filter((element) => parseFloat(getComputedStyle(element).borderLeftWidth) === 3).length
"""
