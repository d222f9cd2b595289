"""What is installed anew while the user works is what the next trace finds, also in what is prepared ahead."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.findings import Report
from graphbreak.core.requests import Permissions, Settings
from graphbreak.tracer import facts
from graphbreak.tracer.store import Store
from harness import INTERPRETER, Harness, only

ASK = """\
import importlib.util, sys, sysconfig
print(sys._base_executable, sysconfig.get_path("purelib"), "python%d.%d" % sys.version_info[:2], sep="\\n")
print(*importlib.util.find_spec("torch").submodule_search_locations)
"""
PROGRAM = """\
import torch
import installed

@torch.compile
def f(x):
    if installed.VERSION > 1:
        print("mid")
    return x + 1

f(torch.ones(2))
"""


class Environment:
    """A virtual environment with a package that every process imports as it starts, as it does torch."""

    def __init__(self, folder: Path) -> None:
        asked = subprocess.run([INTERPRETER, "-c", ASK], capture_output=True, text=True, check=True)
        base, real, version, torch = asked.stdout.splitlines()
        self.python = folder / "bin" / "python"
        self.site = folder / "lib" / version / "site-packages"
        for path in (self.python.parent, self.site):
            path.mkdir(parents=True)
        self.python.symlink_to(base)
        (folder / "pyvenv.cfg").write_text(f"home = {Path(base).parent}\n")
        others = [line for path in Path(real).glob("*.pth") for line in path.read_text().splitlines() if os.path.isabs(line)]
        (self.site / "others.pth").write_text("\n".join([real, *others, "import installed"]) + "\n")
        (self.site / "torch").symlink_to(torch)
        self.install(1)

    def install(self, version: int) -> None:
        """As pip does: the files of the package, and a folder that names its version."""
        for old in self.site.glob("installed-*"):
            shutil.rmtree(old)
        (self.site / f"installed-{version}.dist-info").mkdir()
        (self.site / "installed.py").write_text(f"VERSION = {version}\n")


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


@pytest.fixture(params=[True, False], ids=["forked", "not forked"])
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    if request.param and sys.platform != "linux":
        pytest.skip("forks only on Linux")
    harness = Harness(fork=request.param)
    yield harness
    harness.close()
    assert harness.processes() == []


def analyse(harness: Harness, environment: Environment, path: Path) -> Report:
    return harness.analyse(path, PROGRAM, settings=Settings(interpreter=str(environment.python)))


def test_a_package_of_another_version_is_imported_anew(harness: Harness, environment: Environment, tmp_path: Path) -> None:
    path = tmp_path / "project" / "main.py"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    assert only(analyse(harness, environment, path)).breaks == 0
    harness.engine.names[str(environment.python)] = {"torch.cond": False}
    before = {*harness.engine.prepared}
    environment.install(2)
    assert only(analyse(harness, environment, path)).breaks == 1
    assert str(environment.python) not in harness.engine.names
    after = {*harness.engine.prepared}
    assert not before & after
    assert only(analyse(harness, environment, path)).breaks == 1
    assert {*harness.engine.prepared} == after  # and what is current stays


def test_a_job_that_runs_meanwhile_is_not_ended(environment: Environment, tmp_path: Path) -> None:
    harness = Harness(fork=True)
    try:
        path = tmp_path / "main.py"
        slow = PROGRAM + "import time\nopen('begun', 'w').close()\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)\n"
        path.write_text(slow)
        settings = Settings(interpreter=str(environment.python), permissions=Permissions(write=(str(tmp_path),)))
        running = harness.start(path, slow, settings=settings)
        while not (tmp_path / "begun").exists():
            assert not running.done()
        (old,) = harness.engine.prepared
        environment.install(2)
        assert only(harness.analyse(tmp_path / "other.py", PROGRAM, settings=settings)).breaks == 1
        assert old.alive
        (tmp_path / "go").write_text("")
        assert only(running.result(60)).breaks == 0
        for _ in range(500):
            if not old.alive:
                break
            harness.submit(asyncio.sleep(0.02)).result(5)
        assert not old.alive
    finally:
        harness.close()
    assert harness.processes() == []


def test_what_is_kept_is_of_the_libraries_that_it_ran_with(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness(fork=True)
    try:
        path = tmp_path / "project" / "main.py"
        path.parent.mkdir()
        path.write_text(PROGRAM)
        reuse = harness.engine.reuse = harness.engine.reusing(Store(tmp_path / "kept"))
        ran: list[object] = []
        run = harness.engine.run

        async def count(*job: Any) -> Any:
            ran.append(job)
            return await run(*job)

        monkeypatch.setattr(harness.engine, "run", count)
        for version in (1, 2, 1):
            environment.install(version)
            ran.clear()
            for _ in range(2):
                assert only(analyse(harness, environment, path)).breaks == version - 1
                harness.submit(reuse.settled()).result(20)
            assert len(ran) == 1
    finally:
        harness.close()


@pytest.mark.parametrize(
    "change", ["site-packages/new-1.dist-info/", "site-packages/others.pth", "site-packages/sitecustomize.py", "../../pyvenv.cfg"]
)
def test_whatever_is_installed_is_seen(environment: Environment, change: str) -> None:
    known = facts.libraries(str(environment.python))
    assert facts.unchanged(known)
    place = environment.site.parent / change
    place.mkdir() if change.endswith("/") else place.write_text("# another\n")
    assert not facts.unchanged(known)
    assert facts.libraries(str(environment.python)) != known


def test_a_torch_from_elsewhere_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '1'\n")
    known = facts.around(str(tmp_path / "torch"))
    assert facts.unchanged(known)
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.0'\n")
    assert not facts.unchanged(known)
