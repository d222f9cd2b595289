"""Libraries imported ahead of a program: it finds nothing of them until it imports them itself, and then what it would have found."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.findings import Outcome
from graphbreak.sandbox.start import Sandboxed
from graphbreak.tracer.prepared import GrownParent
from harness import INTERPRETER, Harness, only, squiggles, worker_has

SERVER = Path(__file__).parent.parent.parent / "server"
LIBRARIES = {
    "fine/__init__.py": "from . import part\nimport other\n",
    "fine/part.py": "import sys\nclass Finder:\n    def find_spec(self, *names): return None\nsys.meta_path.append(Finder())\n",
    "fine/late.py": "value = 3\n",
    "other.py": "",
    "prints.py": "print('hello')\n",
    "fails.py": "raise RuntimeError\n",
    "leaves.py": "raise SystemExit\n",
    "sets.py": "import os\nos.environ['A'] = 'b'\n",
    "starts.py": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n",
    "runs.py": "import subprocess\nsubprocess.run(['true'])\n",
    "reads.py": "open('/etc/hostname')\n",
    "draws.py": "import torch\ntorch.rand(1)\n",
    "widens.py": "import torch\ntorch.set_default_dtype(torch.float64)\n",
    "compiles.py": "import torch\nf = torch.compile(lambda x: x)\n",
    "warns.py": "import warnings\nwarnings.warn('old')\n",
}
"""What stands in for installed packages."""

SCRIPT = """\
import importlib.util, json, os, sys
import torch
from graphbreak.worker import preloading

def over():
    raise SystemExit("over")

def answered(names, program):
    loaded = preloading.load(names)
    answer = {"left out": loaded.left_out, "names": [unit.name for unit in loaded.units]}
    if not loaded.left_out:
        ahead = preloading.Preloaded(loaded.units)
        ahead.hide()
        ahead.begin(lambda: answer.update(done=True))
        try:
            exec(program, {"answer": answer, "folder": libraries + "/../workspace"})
        except SystemExit as error:
            answer["ended"] = str(error)
        answer["waits"] = ahead.waits
    return answer

libraries, answers = sys.argv[1], {}
preloading._LIBRARIES = (os.path.join(libraries, ""),)
preloading._PASSED += preloading._LIBRARIES
preloading.start_over = over
sys.path.insert(0, libraries)
for name, (names, program) in json.loads(sys.argv[2]).items():
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        try:
            os.write(write_end, json.dumps(answered(names, program)).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    answers[name] = json.loads(os.fdopen(read_end).read())
print(json.dumps(answers))
"""
"""Each case in a fork of its own: what comes of imports made ahead of a program."""

LOOKS = """\
import importlib.util, sys
here = lambda: sorted(set(sys.modules) & {"fine", "fine.part", "fine.late", "other"})
answer["before"], answer["asked"] = here(), importlib.util.find_spec("fine") is not None
answer["finders before"] = sum(type(one).__name__ == "Finder" for one in sys.meta_path)
import fine
answer["then"], answer["bound"] = here(), hasattr(fine, "late")
answer["spec"], answer["finders"] = fine.__spec__.origin == fine.__file__, sum(type(one).__name__ == "Finder" for one in sys.meta_path)
from fine import late
answer["at last"], answer["value"] = here(), fine.late.value
"""


DIFFERENT = {
    "a variable": "import os; os.environ['HF_HOME'] = '/'; import fine",
    "another order": "import other",
    "a default": "import torch; torch.set_default_dtype(torch.float64); import fine",
    "a module of the same name": "import sys; sys.path.insert(0, folder); import fine",
    "an import hook": "import sys; sys.meta_path.insert(0, type('Own', (), {'find_spec': lambda *names: None})()); import fine",
}
"""Programs whose imports may turn out differently."""

LASTING = [Path(name).stem for name in LIBRARIES if "/" not in name and name != "other.py"]
"""Libraries whose import does more than define."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What comes of each case."""
    folder = tmp_path_factory.mktemp("installed") / "libraries"
    for name, text in LIBRARIES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder.parent / "workspace").mkdir()
    (folder.parent / "workspace" / "other.py").write_text("")
    cases = {"looks": (["fine", "fine.late"], LOOKS), **{name: (["fine", name], "") for name in LASTING}}
    cases.update({name: (["fine", "fine.late"], program) for name, program in DIFFERENT.items()})
    command = [INTERPRETER, "-c", SCRIPT, str(folder), json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(SERVER)}, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_program_sees_an_import_only_once_it_has_made_it(answers: dict[str, Any]) -> None:
    answer = answers["looks"]
    assert answer["names"] == ["fine", "fine.late"]
    assert (answer["before"], answer["asked"], answer["finders before"]) == ([], True, 0)
    assert (answer["then"], answer["bound"], answer["finders"]) == (["fine", "fine.part", "other"], False, 1)
    assert answer["spec"]
    assert (answer["at last"], answer["value"]) == (["fine", "fine.late", "fine.part", "other"], 3)
    assert answer["done"]
    assert not answer["waits"]


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_an_import_may_depend_on_is_not_taken_from_ahead(answers: dict[str, Any], name: str) -> None:
    assert answers[name]["ended"] == "over"


@pytest.mark.parametrize("name", LASTING)
def test_an_import_that_does_more_than_define_is_left_out(answers: dict[str, Any], name: str) -> None:
    assert answers[name] == {"left out": name, "names": ["fine"]}


def test_what_is_installed_anew_is_not_taken_from_ahead(tmp_path: Path) -> None:
    async def check() -> None:
        file = tmp_path / "site-packages" / "package" / "__init__.py"
        file.parent.mkdir(parents=True)
        file.write_text("")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        parent = GrownParent(ours, Sandboxed(None, None), None, ("package",), [str(file)])  # type: ignore[arg-type]
        assert parent.is_current()
        (tmp_path / "site-packages" / "other-1.0.dist-info").mkdir()
        assert not parent.is_current()
        parent.close()
        theirs.close()

    asyncio.run(check())


PROGRAM = """\
import sys
print("rich" in sys.modules, "rich.table" in sys.modules)
import rich.console, rich.table, rich.markdown
import torch

@torch.compile
def f(x):
    print("mid")
    return x + len(rich.table.Table.__name__)

f(torch.ones(2))
print("rich.table" in sys.modules)
"""


@pytest.mark.skipif(not worker_has("rich"), reason="needs a library in the workers' environment")
def test_the_second_level_says_the_same_and_is_left_where_it_might_not(tmp_path: Path) -> None:
    harness = Harness(fork=True)
    try:
        plain = harness.write_and_analyse(tmp_path / "main.py", PROGRAM)
        give_up = time.monotonic() + 90
        while len(harness.engine.prepared) < 2:
            assert time.monotonic() < give_up, "nothing was imported ahead"
            time.sleep(0.05)
        (grown,) = [parent for parent in harness.engine.prepared if isinstance(parent, GrownParent)]
        before = grown.used
        again = harness.analyse(tmp_path / "main.py", PROGRAM + "\n")
        assert grown.used > before
        assert (squiggles(again), again.output) == (squiggles(plain), plain.output)
        assert "False False" in plain.output
        other = harness.analyse(tmp_path / "main.py", "import os\nos.environ['A'] = 'b'\n" + PROGRAM)
        assert only(other).outcome is Outcome.TRACED
        assert (squiggles(other), other.output) == (squiggles(plain), plain.output)
    finally:
        harness.close()
    assert harness.processes() == []
