"""`graphbreak check --try-fixes`, on real files: each fix with what its trial showed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphbreak.cli import main
from harness import INTERPRETER, PRINT


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(["check", "--python", INTERPRETER, *arguments])
    return status, capsys.readouterr().out


def fixes(text: str) -> list[dict[str, Any]]:
    return [fix for diagnostic in json.loads(text)["diagnostics"] for fix in diagnostic["fixes"]]


def test_a_tried_fix_has_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(PRINT)
    status, text = check(capsys, "model.py", "--try-fixes", "--format", "json")
    assert status == 1
    by_title = {fix["title"]: fix for fix in fixes(text)}
    verdict = by_title['Move `print("mid")` into a disabled helper']["verified"]
    assert verdict == {
        "breaks_before": 1,
        "breaks_after": 1,
        "same_outputs": True,
        "accepted": True,
        "removes": False,
        "reason": "",
    }
    assert by_title["Ignore GB0059 on this line"]["verified"] is None
    assert Path("model.py").read_text() == PRINT
