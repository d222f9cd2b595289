"""The layers themselves: what is said to be in force is, for an administrator and anybody else, with namespaces and without."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.requests import Permissions
from graphbreak.sandbox import seccomp
from graphbreak.sandbox.policy import Policy, policy_for
from graphbreak.sandbox.start import start
from graphbreak.tracer.environment import paths_of

FULL = {"mount namespace", "network namespace", "pid namespace", "ipc namespace", "read-only mounts", "landlock", "seccomp", "limits",
        "no new privileges", "memory watch"}  # fmt: skip
ANYBODY = 65534
SERVER = Path(__file__).parent.parent.parent / "server"

LOOK = """
import json, os, socket
def of(act):
    try: return act()
    except OSError as error: return type(error).__name__
home = os.path.expanduser("~")
print(json.dumps({
    "key": of(lambda: open(home + "/.ssh/id").read()), "notes": of(lambda: open(home + "/notes").read()), "write": of(lambda: bool(open(home + "/new", "w"))),
    "own": of(lambda: open(os.environ["TMPDIR"] + "/own", "w").write("x")), "service": of(lambda: socket.socket(socket.AF_UNIX).connect("/run/gb-test.sock")),
    "token": os.environ.get("MY_TOKEN"), "outside": of(lambda: os.kill(int(os.environ["OUTSIDE"]), 0)), "me": os.getuid(),
    "connected": of(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2).close()), "offline": os.environ.get("HF_HUB_OFFLINE"),
    "status": {line.split(":")[0]: line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:"))},
}))
"""  # noqa: E501


def policy(home: Path, program: str, **changes: Any) -> Policy:
    variables = {**os.environ, "HOME": str(home), "MY_TOKEN": "secret", "OUTSIDE": str(os.getpid()), **changes.pop("variables", {})}
    found = policy_for(Permissions(), variables, paths_of(program), __file__, str(home), os.cpu_count() or 1)
    return replace(found, **changes)


async def run(code: str, policy: Policy, program: str) -> tuple[str, tuple[str, ...], int, str]:
    pipe = asyncio.subprocess.PIPE
    sandboxed = await start([program, "-c", code], policy, single=True, cwd="/", stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    output, errors = await sandboxed.process.communicate()
    await sandboxed.told()
    sandboxed.close()
    return output.decode() or errors.decode(), sandboxed.layers, sandboxed.process.returncode or 0, sandboxed.memory_end


FORBID = "from graphbreak.sandbox import seccomp, system\nsystem.forbid_new_privileges()\nassert seccomp.apply(inet=True, datagrams=True)\n"
RUN = """
import asyncio, json, sys
from graphbreak.sandbox.policy import Policy
from graphbreak.sandbox.start import start
async def main():
    pipe = asyncio.subprocess.PIPE
    done = await start([sys.executable, "-c", sys.argv[1]], Policy(**json.loads(sys.argv[2])), single=True, cwd="/", stdout=pipe)
    output, _ = await done.process.communicate()
    await done.told()
    print(json.dumps([output.decode(), done.process.returncode, done.layers]))
asyncio.run(main())
"""


def ended(code: str, policy: Policy, namespaces: bool) -> tuple[str, int, set[str]]:
    """What a program printed, its status and its layers, where namespaces can be made or are forbidden."""
    if namespaces:
        output, layers, status, _ = asyncio.run(run(code, policy, sys.executable))
        return output, status, set(layers)
    command = [sys.executable, "-c", FORBID + RUN, code, json.dumps(asdict(policy))]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SERVER)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    output, status, names = json.loads(done.stdout)
    assert "mount namespace" not in names
    return output, status, set(names)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "id").write_text("key")
    (folder / "notes").write_text("notes")
    return folder


def assert_held(seen: dict[str, Any], layers: set[str]) -> None:
    assert seen["key"] in ("FileNotFoundError", "PermissionError", "")
    assert (seen["notes"], seen["own"], seen["token"], seen["offline"]) == ("notes", 1, None, "1")
    assert seen["write"] in ("OSError", "PermissionError")
    assert seen["outside"] in ("ProcessLookupError", "PermissionError")
    assert seen["connected"] in ("ConnectionRefusedError", "PermissionError")
    assert seen["status"]["NoNewPrivs"] == "1"
    assert int(seen["status"]["CapEff"], 16) & ~(1 << 2) == 0
    assert (seen["status"]["Seccomp"] == "2") is ("seccomp" in layers)


def test_what_is_said_to_be_in_force_is(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        told = {"variables": {"PORT": str(listener.getsockname()[1])}}
        output, layers, status, _ = asyncio.run(run(LOOK, policy(home, sys.executable, **told), sys.executable))
    assert status == 0, output
    assert_held(json.loads(output), set(layers))
    assert not (home / "new").exists()


def python_for_anybody() -> str | None:
    """A Python that any user can start."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    return found if os.geteuid() == 0 and found and shutil.which("setpriv") else None


@pytest.mark.skipif(python_for_anybody() is None, reason="needs root, setpriv and a Python for all users")
@pytest.mark.parametrize("forbidden", [False, True], ids=["namespaces", "no namespaces"])
def test_anybody_gets_as_much(tmp_path_factory: pytest.TempPathFactory, forbidden: bool) -> None:
    import tempfile

    python = python_for_anybody()
    assert python is not None
    with tempfile.TemporaryDirectory(prefix="gb-anybody-") as name, socket.create_server(("127.0.0.1", 0)) as listener:
        folder = Path(name)
        shutil.copytree(SERVER / "graphbreak", folder / "server" / "graphbreak")
        shutil.copy(__file__, folder / "layers.py")
        (folder / "home" / ".ssh").mkdir(parents=True)
        (folder / "home" / ".ssh" / "id").write_text("key")
        (folder / "home" / "notes").write_text("notes")
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, ANYBODY, ANYBODY)
        ask = (
            (FORBID if forbidden else "") + f"import asyncio, json, os, sys\nfrom graphbreak.core.requests import Permissions\n"
            f"from graphbreak.sandbox.policy import policy_for\nfrom graphbreak.sandbox.start import start\n"
            f"async def main():\n"
            f"    variables = dict(os.environ, MY_TOKEN='secret', OUTSIDE=str(os.getpid()), PORT='{listener.getsockname()[1]}')\n"
            f"    policy = policy_for(Permissions(), variables, (sys.executable,), '/x/y', os.environ['HOME'], 2)\n"
            f"    pipe = asyncio.subprocess.PIPE\n"
            f"    done = await start([sys.executable, '-c', {LOOK!r}], policy, single=True, cwd='/', stdout=pipe)\n"
            f"    output, _ = await done.process.communicate()\n"
            f"    await done.told()\n"
            f"    print(json.dumps([output.decode(), done.layers]))\n"
            f"asyncio.run(main())\n"
        )
        command = ["setpriv", f"--reuid={ANYBODY}", f"--regid={ANYBODY}", "--clear-groups", python, "-c", ask]
        variables = {
            "HOME": str(folder / "home"),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(folder / "server"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(command, env=variables, cwd="/", capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        output, layers = json.loads(done.stdout)
        seen = json.loads(output)
        assert seen["me"] == ANYBODY
        assert_held(seen, set(layers))
        assert ("mount namespace" in layers) is not forbidden
        if forbidden:
            assert {"landlock", "seccomp", "limits", "no new privileges"} <= set(layers)
        else:
            assert set(layers) >= FULL
        assert not (folder / "home" / "new").exists()


@pytest.mark.parametrize("namespaces", [True, False], ids=["namespaces", "no namespaces"])
def test_a_link_that_appears_late_is_not_followed(home: Path, namespaces: bool) -> None:
    """The policy was made of what was there; the launcher comes later."""
    code = "import os; open(os.environ['HOME'] + '/runs/new', 'w').write('x')"
    found = policy(home, sys.executable)
    (home / "runs").mkdir()
    allowed = replace(found, write=(f"{home}/runs",))
    assert ended(code, allowed, namespaces)[1] == 0
    (home / "runs").rename(home / "old")
    (home / "place").mkdir()
    (home / "runs").symlink_to("place")
    assert ended(code, allowed, namespaces)[1] != 0
    assert os.listdir(home / "place") == []


GROW = "import time\nkept = []\nfor _ in range(700):\n    kept.append(bytearray(b'x' * (1 << 20)))\ntime.sleep(60)\n"


def test_a_program_that_takes_the_memory_is_ended(home: Path) -> None:
    _, layers, status, why = asyncio.run(run(GROW, policy(home, sys.executable, memory_left=1 << 50), sys.executable))
    assert "memory watch" in layers
    assert status == -9
    assert why.startswith("the program took 0.")
    assert "GiB of memory" in why


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("inet", [True, False])
def test_the_filter_has_no_jump_out_of_itself(machine: str, inet: bool) -> None:
    steps = seccomp.program(machine, inet, False)
    assert steps is not None
    assert len(steps) < 4096
    for index, (code, yes, no, _) in enumerate(steps):
        if code & 7 == 5:
            assert index + 1 + max(yes, no) < len(steps)
    assert steps[-1][0] == 6
    assert seccomp.program("riscv64", inet, False) is None
