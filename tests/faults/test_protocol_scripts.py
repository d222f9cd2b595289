"""Whatever a worker says, there is one answer, nothing of it runs in the editor, hovers are
answered meanwhile, and the next trace is right."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from graphbreak.core.findings import Outcome
from graphbreak.worker import protocol
from harness import PRINT

from .scripts import SCRIPTS, STAND_IN
from .watched import Report, Watched, said, snapshot

_LIVE = re.compile(r"(?<!\\)\]\((?!https://|file:)|(?<!\\)<\w|(?<!\\)!\[")
"""A link to somewhere else than PyTorch's site and files, a tag, a picture."""

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
SLOW = frozenset({"silence", "a flood", "garbage on the control socket", "many breaks", "a flood of little", "many large graphs"})
"""Those that take long to give up on, for the long version."""

OUTCOMES = {outcome.value for outcome in set(Outcome) - {Outcome.CANCELLED, Outcome.REFUSED}}
SAYS = {
    "many breaks": "more than 1,000 reports of graph breaks",
    "breaks and breaks": "more than 1,000 reports of graph breaks",
    "many large graphs": "more than 100,000 operations in graphs",
    "a graph too large": "a message of more than 100000 values",
    "a text too large": "a message of 6",
    "an endless message": "a message of 4294967295 bytes",
    "a flood": "more than can be kept|had not ended after 5 s",
    "a flood of little": "more than can be kept|had not ended after 5 s",
}
"""What is too much, in words."""

MOST = 1500
"""So many things are shown of one run at most."""


def traced(watched: Watched, name: str) -> tuple[Path, Report]:
    """What is said of a program when this script is its interpreter, and the program, which is still open."""
    folder = watched.folder()
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\n{STAND_IN.replace('{version}', str(protocol.VERSION))}\n{SCRIPTS[name]}\n")
    python.chmod(0o755)
    home = snapshot(watched.home)
    report = watched.trace(folder / "main.py", PRINT, interpreter=str(python), timeout=5)
    assert snapshot(watched.home) == home
    return folder / "main.py", report


def leave(watched: Watched, path: Path) -> None:
    """Close the program, and go back to a real worker."""
    watched.leave(path)
    watched.editor.notify("workspace/didChangeConfiguration", settings={"graphbreak": {"interpreter": sys.executable}})


@pytest.mark.parametrize("name", [name for name in SCRIPTS if LONG or name not in SLOW])
def test_a_worker_that_is_none_costs_its_own_trace(watched: Watched, name: str) -> None:
    path, report = traced(watched, name)
    if watched.late():  # by what else this machine does, perhaps
        leave(watched, path)
        path, report = traced(watched, name)
    late = watched.late()
    published = watched.editor.published.get(path.as_uri(), {"diagnostics": []})["diagnostics"]
    ranges = {json.dumps(found["range"], sort_keys=True): found["range"] for found in published}.values()
    hovers = [watched.editor.hover(path, *place["start"].values())["result"] for place in ranges]
    leave(watched, path)

    assert not late, late
    (row,) = [row for row in report["functions"] if row["name"] == "scale"]
    assert row["outcome"] in OUTCOMES
    assert row["outcome"] == "traced" or row["detail"]
    assert row["outcome"] == "traced" or "mark();" not in SCRIPTS[name], "the script itself failed"
    assert re.search(SAYS.get(name, ""), said(report)), said(report)
    json.dumps(report, allow_nan=False)
    assert max(len(report["diagnostics"]), len(published)) <= MOST
    assert all(tuple(place["start"].values()) <= tuple(place["end"].values()) for place in ranges)
    for shown in hovers:
        plain = re.sub(r"`[^`\n]*`", "", shown["contents"]["value"]) if shown else ""
        assert not _LIVE.search(plain), plain
    if name == "breaks and breaks":
        assert any(re.search(r"… and \d+ more here\.$", shown["contents"]["value"]) for shown in hovers if shown)
    watched.assert_next_is_right()


def test_a_large_model_is_shown_whole(watched: Watched) -> None:
    path, report = traced(watched, "a large graph")
    leave(watched, path)
    (row,) = report["functions"]
    assert (report["problems"], row["outcome"], row["graphs"]) == ([], "traced", 1)
    assert len(row["graphList"][0]["ops"]) == 5001


def test_there_are_enough_of_them() -> None:
    assert len(SCRIPTS) >= 20
    assert set(SAYS) | SLOW <= set(SCRIPTS)
