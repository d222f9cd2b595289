"""`graphbreak explain`: PyTorch's own report, and what it is made of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphbreak.cli import main

CODE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        print("mid")
        return y + 1


@torch.compile
def other(x):
    return x


net = torch.compile(Net())
other(torch.randn(2))
net(torch.randn(4))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(CODE, encoding="utf-8")
    return path


def explain(capsys: pytest.CaptureFixture[str], target: str, *options: str) -> tuple[int, str, str]:
    status = main(["explain", target, "--python", sys.executable, *options])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_report(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    status, out, _ = explain(capsys, f"{file}::Net.forward")
    assert status == 0
    for line in ("Graph Count: 2", "Graph Break Count: 1", "Op Count: 2", "Break Reasons:", "Ops per Graph:", "Out Guards:"):
        assert line in out


def test_details(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    status, out, _ = explain(capsys, f"{file}::Net", "--graphs", "--guards", "--bytecode", "--decompiled")
    assert status == 0
    assert out.count("== dynamo_output_graph") == 2
    assert "GuardManager" in out
    assert "ORIGINAL_BYTECODE" in out
    assert "MODIFIED_BYTECODE" in out
    assert "== decompiled" in out


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("{}::missing", "ran without calling a compiled function missing"),
        ("{}", "say which function as FILE::NAME"),
        ("nowhere.py::f", "cannot be read"),
    ],
)
def test_no_report_is_said_in_one_sentence(capsys: pytest.CaptureFixture[str], file: Path, target: str, sentence: str) -> None:
    status, out, err = explain(capsys, target.format(file))
    assert status == 2
    assert out == ""
    assert sentence in err
