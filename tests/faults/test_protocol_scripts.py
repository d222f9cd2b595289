"""Whatever a worker says, there is one answer, nothing of it runs in the editor, and the next trace is right."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from graphbreak.core.explain import hover_markdown
from graphbreak.core.findings import Outcome
from graphbreak.core.requests import Settings
from graphbreak.worker import protocol
from harness import PRINT, Harness, assert_print_example, only

from .scripts import SCRIPTS, STAND_IN

_LIVE = re.compile(r"(?<!\\)\]\((?!https://|file:)|(?<!\\)<\w|(?<!\\)!\[")
"""A link to somewhere else than PyTorch's site and files, a tag, a picture."""


LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
SLOW = frozenset({"silence", "a flood", "garbage on the control socket", "many breaks"})
"""Those that take long to give up on, for the long version."""


@pytest.mark.parametrize("name", [name for name in SCRIPTS if LONG or name not in SLOW])
def test_a_worker_that_is_none_costs_its_own_trace(harness: Harness, tmp_path: Path, name: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{STAND_IN.replace('{version}', str(protocol.VERSION))}\n{SCRIPTS[name]}\n")
    python.chmod(0o755)

    report = harness.analyse(tmp_path / "main.py", PRINT, settings=Settings(interpreter=str(python), timeout=5))

    row = only(report, "scale")
    assert row.outcome in set(Outcome) - {Outcome.CANCELLED, Outcome.REFUSED}
    assert row.outcome is Outcome.TRACED or row.detail
    json.dumps(asdict(report), default=str, allow_nan=False)
    for diagnostic in report.diagnostics:
        assert diagnostic.span.start <= diagnostic.span.end
        plain = re.sub(r"`[^`\n]*`", "", hover_markdown(diagnostic))
        assert not _LIVE.search(plain), plain
    assert_print_example(harness.analyse(tmp_path / "next.py", PRINT))


def test_there_are_enough_of_them() -> None:
    assert len(SCRIPTS) >= 20
