"""What an editor asks is answered from memory: no handler reads a file while the editor waits."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lsprotocol import types

from graphbreak import rules

from .editor import MARK, Editor, span

HELPER = "def log(x):\n    print(x)\n"
TEXT = "# GRAPHS\nimport helper\n" + MARK + "def f(x):\n    print(x)\n    helper.log(x)\n    return x\n"


class Watch:
    """Notes which files the event loop's own thread opens, or looks at, from our code."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self._watching = False
        self._thread = threading.get_ident()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._watching or event not in ("open", "os.listdir", "os.scandir") or threading.get_ident() != self._thread:
            return
        frame = sys._getframe(1)
        while frame is not None:
            if "graphbreak" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
                self.seen.append(arguments[0])
                return
            frame = frame.f_back  # type: ignore[assignment]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Only what is done meanwhile counts."""
        self._watching = True
        try:
            yield
        finally:
            self._watching = False


async def test_handlers_open_no_file(editor: Editor, tmp_path: Path) -> None:
    watch = Watch()
    with watch.watching():
        (tmp_path / "helper.py").write_text(HELPER)
        rules._texts.__wrapped__()
    assert watch.seen, "what our code reads is noticed"
    watch.seen.clear()
    path = tmp_path / "a.py"
    await editor.connect(tmp_path)
    await asyncio.to_thread(rules.read_all)  # as the server does when it starts, which may take longer than the rest of this
    editor.open(path, TEXT)
    await editor.shows(path, "5:4-5:12", "6:4-6:17")
    with watch.watching():
        for line, column in ((5, 6), (4, 4), (6, 6)):
            assert await editor.hover(path, line, column) is not None
        assert await editor.actions(path, span(0, 0, 9, 0))
        await editor.actions(path, span(0, 0, 9, 0), ["source.fixAll"])
        assert await editor.lenses(path)
        document = types.TextDocumentIdentifier(path.as_uri())
        await editor.client.text_document_completion_async(types.CompletionParams(document, types.Position(0, 2)))
        assert await editor.request("graphbreak/report")
        editor.insert(path, 7, 0, "    x = x\n")
        await editor.settle()
    assert watch.seen == []
