"""An editor for each test, connected when the test says so, and no server left when it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from .editor import Editor


@pytest_asyncio.fixture
async def editor() -> AsyncIterator[Editor]:
    """An editor that is not yet connected."""
    editor = Editor()
    yield editor
    if editor._server is not None and not editor._server.done():
        editor.analyser.release.set()
        await editor.disconnect()
        assert editor.analyser.closed == 1
