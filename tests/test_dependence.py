"""Whatever a program can read that changes its trace: once it is another, what was kept is not shown; what nobody can see is not kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphbreak.core.findings import Outcome
from graphbreak.core.requests import Permissions, Settings
from graphbreak.tracer.store import Store
from harness import INTERPRETER, Harness, only
from test_store import Listening, Project

PROGRAM = """\
import torch
{act}

@torch.compile
def f(x):
    if N:
        print("mid")
    return x + 1

f(torch.ones(2))
"""
BEFORE = {
    "pkg/__init__.py": "",
    "pkg/cfg.txt": "0",
    "pkg/cfg.py": "0",
    "cfg.txt": "0",
    "cfg.py": "x = 0",
    "bad.py": "(",
    "d/0": "",
    "d/e/0": "",
}
AFTER = {
    "pkg/cfg.txt": "1",
    "pkg/cfg.py": "11",
    "cfg.txt": "1",
    "cfg.py": "x = 1",
    "bad.py": "()",
    "d/1": "",
    "d/e/1": "",
    "d/new/fresh.py": "",
}
TRIED = "import glob, os, pathlib, sys\ntry:\n    {}\n    N = 1\nexcept Exception as error:\n    N = int(not isinstance(error, {}))"
LOADER = "from importlib.machinery import SourceFileLoader\nN = {}"

SEEN = {
    "open": "N = int(open('cfg.txt').read())",
    "os.open": "import os\nN = int(os.read(os.open('cfg.txt', os.O_RDONLY), 1))",
    "pathlib": "import pathlib\nN = int(pathlib.Path('cfg.txt').read_text())",
    "numpy.loadtxt": "import numpy\nN = int(numpy.loadtxt('cfg.txt'))",
    "numpy.fromfile": "import numpy\nN = int(numpy.fromfile('cfg.txt', dtype='uint8')[0]) - 48",
    "torch.load": TRIED.format("torch.load('d/1')", "FileNotFoundError"),
    "torch.load, mapped": TRIED.format("torch.load('d/1', mmap=True)", "FileNotFoundError"),
    "configparser": "import configparser\nN = len(configparser.RawConfigParser().read('d/1'))",
    "importlib.resources": "import importlib.resources\nN = int(importlib.resources.files('pkg').joinpath('cfg.txt').read_text())",
    "pkgutil.get_data": "import pkgutil\nN = int(pkgutil.get_data('pkg', 'cfg.txt'))",
    "pkgutil.get_data of a module": "import pkgutil\nN = len(pkgutil.get_data('pkg', 'cfg.py')) - 1",
    "a loader's get_data": "import pkg\nN = int(pkg.__loader__.get_data(pkg.__path__[0] + '/cfg.txt'))",
    "a loader's get_source": LOADER.format("int(SourceFileLoader('x', 'cfg.txt').get_source('x'))"),
    "a loader's get_code": LOADER.format("SourceFileLoader('x', 'cfg.py').get_code('x').co_consts[0]"),
    "a module with an error in it": TRIED.format("import bad", "SyntaxError"),
    "linecache": "import linecache\nN = int(linecache.getline('cfg.txt', 1))",
    "os.listdir": "import os\nN = len(os.listdir('d')) - 2",
    "os.listdir of a folder that it wanted made": "import os\nos.makedirs('d', exist_ok=True)\nN = len(os.listdir('d')) - 2",
    "os.walk": "import os\nN = sum(len(files) for _, _, files in os.walk('d')) - 2",
    "os.chdir": TRIED.format("os.chdir('d/new')", "FileNotFoundError"),
    "os.remove": TRIED.format("os.remove('d/1')", "FileNotFoundError"),
    "os.utime": TRIED.format("os.utime('d/1')", "FileNotFoundError"),
    "os.rename": TRIED.format("os.rename('d/1', 'd/2')", "FileNotFoundError"),
    "glob": "import glob\nN = len(glob.glob('d/*')) - 2",
    "glob of one name": "import glob\nN = len(glob.glob('d/1'))",
    "glob in another folder": "import glob\nN = len(glob.glob('1', root_dir='d'))",
    "glob of all below": "import glob\nN = len(glob.glob('d/**', recursive=True)) - 5",
    "Path.glob of one name": "import pathlib\nN = len(list(pathlib.Path('d').glob('1')))",
    "Path.rglob": "import pathlib\nN = len(list(pathlib.Path('d').rglob('1*')))",
    "a folder to import from that is not there yet": "import sys\nsys.path.insert(0, 'd/new')\n"
    + TRIED.format("import fresh", "ImportError"),
    "an archive to import from that is not there yet": "import sys\nsys.path.insert(0, 'd/1')\nN = 0",
}
"""Ways to read what is then another. All of it is seen."""

UNSEEN = {
    "os.stat": "from os import stat as look\n" + TRIED.format("look('d/1')", "OSError"),
    "os.path.exists": "import os\nN = os.path.exists('d/1')",
    "os.path.getmtime": "import os\nN = os.path.getmtime('d/0') < 0",
    "os.readlink": TRIED.format("os.readlink('d/1')", "FileNotFoundError"),
    "a path that must be there": TRIED.format("os.path.realpath('d/1', strict=True)", "OSError"),
    "Path.resolve": TRIED.format("pathlib.Path('d/1').resolve(strict=True)", "OSError"),
    "glob of one name in many folders": "import glob\nN = len(glob.glob('d/e*/1'))",
    "Path.rglob of one name": "import pathlib\nN = len(list(pathlib.Path('d').rglob('1')))",
    "by a folder's descriptor": "import os\nN = len(os.listdir(os.open('d', os.O_RDONLY))) - 2",
    "mmap": "import mmap\nf = open('cfg.txt', 'rb')\nN = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)[0] - 48",
    "numpy.memmap": "import numpy\nN = int(numpy.memmap('cfg.txt', dtype='uint8', mode='r')[0]) - 48",
    "torch.from_file": "N = int(torch.from_file('cfg.txt', size=1, dtype=torch.uint8)[0]) - 48",
    "torch.jit.load": TRIED.format("torch.jit.load('d/1')", "ValueError"),
    "sqlite3": TRIED.format("import sqlite3; sqlite3.connect('file:d/1?mode=ro', uri=True)", "sqlite3.OperationalError"),
    "another program": "import subprocess\nN = int(subprocess.run(['cat', 'cfg.txt'], capture_output=True).stdout)",
    "time": "import datetime\nN = datetime.datetime.now().year < 2000",
    "chance": "import random\nN = random.random() < 0",
}
"""Ways to read what nothing tells of: such a program is always run."""


def run(harness: Harness, folder: Path, act: str, permissions: Permissions | None = None) -> Project:
    """A program that was run, and what is kept of it."""
    write(folder, {**BEFORE, "main.py": PROGRAM.format(act=act)})
    harness.engine.reuse = reuse = Listening(Store(folder.parent / "kept"), os.environ.copy())
    try:
        settings = Settings(interpreter=INTERPRETER, permissions=permissions or Permissions())
        assert only(harness.analyse(folder / "main.py", settings=settings)).outcome is Outcome.TRACED
        harness.submit(reuse.settled()).result(20)
    finally:
        harness.engine.reuse = None
    return Project(folder, reuse, next(one for one in reuse.asked if one.job.path))


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("name", SEEN)
def test_what_was_read_is_seen_to_be_another(harness: Harness, tmp_path: Path, name: str) -> None:
    project = run(harness, tmp_path / "project", SEEN[name])
    assert project.found()
    write(project.folder, AFTER)
    assert not project.found()


@pytest.mark.parametrize("name", UNSEEN)
def test_what_cannot_be_seen_is_not_kept(harness: Harness, tmp_path: Path, name: str) -> None:
    assert not run(harness, tmp_path / "project", UNSEEN[name]).found()


@pytest.mark.parametrize(
    "act",
    [
        "import os, pathlib, tempfile\nhere = pathlib.Path(__file__).resolve().parent\nN = len(os.path.realpath(__file__)) < 0",
        "import tempfile\nwith tempfile.NamedTemporaryFile() as file:\n    file.write(b'1')\nN = len(tempfile.mkdtemp()) < 0",
        "import pkg\nN = 0",
        "import os, tempfile\nos.makedirs(tempfile.gettempdir(), exist_ok=True)\nN = 0",
    ],
)
def test_what_cannot_be_another_is_kept(harness: Harness, tmp_path: Path, act: str) -> None:
    project = run(harness, tmp_path / "project", act)
    assert project.found()
    write(project.folder, {"notes.md": "1", "pkg/other.txt": "1"})
    assert project.found()


WRITING = [
    "try:\n    N = int(open('d/kept').read())\nexcept OSError:\n    N = 0\n    open('d/kept', 'w').write('1')",
    "import os\ntry:\n    os.mkdir('d/made')\n    N = 0\nexcept OSError:\n    N = 1",
    "try:\n    open('d/lock', 'x')\n    N = 0\nexcept OSError:\n    N = 1",
]


@pytest.mark.parametrize("act", WRITING)
def test_what_a_program_left_for_its_next_run_counts(harness: Harness, tmp_path: Path, act: str) -> None:
    folder = tmp_path / "project"
    allowed = Permissions(write=(str(folder),))
    assert not run(harness, folder, act, allowed).found()
    assert run(harness, folder, act, allowed).found()
