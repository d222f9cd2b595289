"""One real server for all hostile programs of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .watched import Watched


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The server; its temporary folder is empty when it has ended."""
    watched = Watched(tmp_path_factory.mktemp("watched"))
    try:
        watched.begin()
        yield watched
    finally:
        watched.close()
    assert list(watched.temporary.iterdir()) == [], "something is left behind"
