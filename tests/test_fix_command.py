"""`graphbreak check` with `--try-fixes`, `--fix` and `--diff`, on real files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from graphbreak.cli import main
from graphbreak.cli.fix import written_texts
from graphbreak.core.source import SourceFile
from graphbreak.tracer.files import read_source, write_source
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


BRANCH = """\
import torch


def half(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 0.5


@torch.compile
def scale(x):
    return half(x * 2)


result = scale(torch.ones(4))
"""
FIXED = BRANCH.replace(
    "    if x.sum() > 0:\n        y = x + 1\n    else:\n        y = x - 1\n", "    y = torch.where(x.sum() > 0, x + 1, x - 1)\n"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fix_writes_what_removes_breaks_and_keeps_how_the_file_is_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.py").write_bytes(b"\xef\xbb\xbf" + BRANCH.replace("\n", "\r\n").encode())
    Path("model.py").chmod(0o640)
    status, text = check(capsys, "model.py", "--fix")
    assert status == 0
    assert Path("model.py").read_bytes() == b"\xef\xbb\xbf" + FIXED.replace("\n", "\r\n").encode()
    assert Path("model.py").stat().st_mode & 0o777 == 0o640
    assert text.startswith(
        "fixed: model.py:5 GB0170: Compute both sides and choose by `x.sum() > 0` (torch.where) (safe): removes 1 of 1 break"
    )
    assert text.endswith("0 graph breaks in 1 compiled function" + text[text.rindex(" (torch ") :])
    assert sorted(path.name for path in here.iterdir()) == ["model.py"]


def test_diff_writes_nothing_and_can_be_applied(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.py").write_text(BRANCH)
    status, text = check(capsys, "model.py", "--diff")
    assert status == 0
    assert Path("model.py").read_text() == BRANCH
    subprocess.run(["patch", "-p0"], input=text, text=True, check=True, capture_output=True)
    assert Path("model.py").read_text() == FIXED
    Path("model.py").write_text(BRANCH)
    document = json.loads(check(capsys, "model.py", "--diff", "--format", "json")[1])
    assert document["diff"] == text
    (fixed,) = document["fixed"]
    assert (fixed["path"], fixed["line"], fixed["code"], fixed["safety"]) == ("model.py", 5, "GB0170", "safe")
    assert fixed["verified"]["removes"]


def test_what_changes_behaviour_is_applied_when_asked_for_and_where_no_other_program_minds(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both sides of a branch are computed: a root of what may be negative, whose gradient is then not a number for the second program."""
    helper, _, rest = BRANCH.replace("y = x - 1", "y = torch.sqrt(x - 1)").partition("\n\n@torch.compile")
    Path("helper.py").write_text(helper)
    Path("one.py").write_text("import torch\nfrom helper import half\n\n\n@torch.compile" + rest)
    Path("two.py").write_text(Path("one.py").read_text().replace("torch.ones(4)", "torch.full((4,), 0.4, requires_grad=True)"))
    status, text = check(capsys, "one.py", "two.py", "--diff", "--unsafe-fixes", "--format", "json")
    assert status == 1
    assert json.loads(text)["fixed"] == []
    (problem,) = json.loads(text)["problems"]
    assert problem.startswith("Fixes of helper.py were left out, since two.py uses it too: the outputs differ: its gradients")

    assert check(capsys, "one.py", "--fix")[0] == 1
    assert Path("helper.py").read_text() == helper
    assert check(capsys, "one.py", "--fix", "--unsafe-fixes")[0] == 0
    assert "torch.where(x.sum() > 0, x + 1, torch.sqrt(x - 1))" in Path("helper.py").read_text()


def test_output_that_another_program_would_lose_is_not_put_off(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first program compiles the function itself, the second takes it into the graph of its own, where nothing put off is written."""
    Path("helper.py").write_text("import torch\n\n\ndef half(x):\n    y = x / 2\n    print('half')\n    return y + 1\n")
    Path("one.py").write_text("import torch\nfrom helper import half\n\ntorch.compile(half)(torch.ones(4))\n")
    status, text = check(capsys, "one.py", "--diff", "--format", "json")
    assert status == 0
    assert [fixed["safety"] for fixed in json.loads(text)["fixed"]] == ["safe"]
    two = "import torch\nfrom helper import half\n\n\n@torch.compile\ndef f(x):\n    return half(x * 2)\n\n\nf(torch.ones(4))\n"
    Path("two.py").write_text(two)
    status, text = check(capsys, "one.py", "two.py", "--diff", "--format", "json")
    assert status == 1
    assert json.loads(text)["fixed"] == []
    (problem,) = json.loads(text)["problems"]
    assert problem.startswith("Fixes of helper.py were left out, since two.py uses it too: compiled, it prints something else (not 'half')")


def test_a_file_that_was_changed_meanwhile_is_not_written(here: Path) -> None:
    Path("model.py").write_text(BRANCH)
    old = read_source(str(here / "model.py"))
    assert old is not None
    Path("model.py").write_text(BRANCH + "# more\n")
    assert "has been changed" in written_texts({old.path: (old, SourceFile(old.path, FIXED))})
    assert "has been changed" in write_source(old, FIXED)
    assert Path("model.py").read_text() == BRANCH + "# more\n"


def test_a_text_that_the_encoding_of_the_file_cannot_hold_is_not_written(here: Path) -> None:
    Path("model.py").write_bytes("# coding: latin-1\nname = '\u00e9'\n".encode("latin-1"))
    old = read_source(str(here / "model.py"))
    assert old is not None
    assert not write_source(old, old.text.replace("name", "other"))
    assert Path("model.py").read_bytes() == "# coding: latin-1\nother = '\u00e9'\n".encode("latin-1")
    now = read_source(str(here / "model.py"))
    assert now is not None
    assert "cannot be written" in write_source(now, now.text + "# \u2192\n")
    assert sorted(path.name for path in here.iterdir()) == ["model.py"]


def test_unsafe_fixes_go_with_fix_or_diff(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.py").write_text(PRINT)
    with pytest.raises(SystemExit) as ended:
        main(["check", "model.py", "--unsafe-fixes"])
    assert ended.value.code == 2
    assert "--fix or --diff" in capsys.readouterr().err
