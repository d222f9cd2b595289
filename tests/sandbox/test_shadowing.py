"""No file of a workspace gets into the server, and without trust none is run at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphbreak.core.findings import Outcome
from graphbreak.core.requests import Settings
from harness import PRINT, Harness, only

ROOT = Path(__file__).parent.parent.parent
EVIL = "import os; os.close(os.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ran'), os.O_CREAT | os.O_WRONLY))\n"
NAMES = ["json", "site", "torch", "sitecustomize", "usercustomize", "asyncio", "argparse", "pygls", "platformdirs", "ast", "ctypes", "core"]

OF_PYTHON = ["warnings", "types", "functools", "collections", "contextlib", "keyword", "operator", "reprlib", "pkgutil", "runpy",
             "importlib", "os", "re", "enum", "typing", "graphbreak"]  # fmt: skip
"""What `python -m` imports itself, from the working directory, before anything of ours runs."""

SCRIPT = "import sys\nfrom graphbreak.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
"""What is installed as `graphbreak`."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A workspace full of modules with other people's names, which leave a file when they are imported."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(EVIL)
    (tmp_path / "evil.pth").write_text("import json\n")
    (tmp_path / "pyvenv.cfg").write_text("home = /nowhere\n")
    (tmp_path / "pyproject.toml").write_text('[tool.graphbreak]\ninterpreter = "./python"\n')
    (tmp_path / "clean.py").write_text("x = 1\n")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("flags", [[], ["-P"] if sys.version_info >= (3, 11) else ["-s"], ["-B"]], ids=["plain", "safe path", "other"])
@pytest.mark.parametrize("command", [["--version"], ["check", "--help"], ["rule", "GB0170"]], ids=["version", "check", "rule"])
def test_the_server_imports_nothing_of_the_folder_that_it_is_started_in(hostile: Path, flags: list[str], command: list[str]) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    variables.pop("VIRTUAL_ENV", None)
    ended = subprocess.run(
        [sys.executable, *flags, "-m", "graphbreak", *command], cwd=hostile, env=variables, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert not (hostile / "ran").exists()


@pytest.mark.parametrize("start", ["the script", "safe path"])
@pytest.mark.parametrize("command", [["--version"], ["rule", "GB0170"]], ids=["version", "rule"])
def test_nothing_is_imported_before_the_server_either(
    hostile: Path, tmp_path_factory: pytest.TempPathFactory, start: str, command: list[str]
) -> None:
    """By the two ways to start it that are promised for a folder that is not trusted."""
    for name in OF_PYTHON:
        (hostile / f"{name}.py").write_text(EVIL)
    script = tmp_path_factory.mktemp("bin") / "graphbreak"
    script.write_text(SCRIPT)
    if start == "safe path" and sys.version_info < (3, 11):
        pytest.skip("this Python has no -P")
    started = [str(script)] if start == "the script" else ["-P", "-m", "graphbreak"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    variables.pop("VIRTUAL_ENV", None)
    ended = subprocess.run([sys.executable, *started, *command], cwd=hostile, env=variables, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert not (hostile / "ran").exists()


def test_without_trust_nothing_of_a_workspace_is_run(harness: Harness, hostile: Path) -> None:
    report = harness.analyse(hostile / "main.py", PRINT, settings=Settings(trusted=False))
    assert only(report).outcome is Outcome.REFUSED
    assert not (hostile / "ran").exists()


def test_the_launcher_starts_without_the_users_variables(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PYTHONPATH", str(hostile)), ("PYTHONSTARTUP", str(hostile / "json.py")), ("PYTHONHOME", str(hostile))):
        monkeypatch.setenv(name, value)
    from graphbreak.sandbox.start import _launcher_variables

    assert not [name for name in _launcher_variables() if name.startswith("PYTHON")]
