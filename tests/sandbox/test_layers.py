"""The layers themselves: what is said to be in force is, for an administrator and anybody else, with namespaces and without."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.requests import Permissions
from graphbreak.sandbox import seccomp
from graphbreak.sandbox.policy import Policy, policy_for
from graphbreak.sandbox.start import start
from graphbreak.sandbox.supervisor import memory
from graphbreak.tracer.environment import paths_of
from graphbreak.tracer.prepared import CannotStart, PreparedParent

FULL = {"mount namespace", "network namespace", "pid namespace", "ipc namespace", "read-only mounts", "landlock", "seccomp", "limits",
        "no new privileges", "memory watch"}  # fmt: skip
ANYBODY = 65534
SHARED = f"gb-test-{os.getpid()}"
SERVER = Path(__file__).parent.parent.parent / "server"

LOOK = """
import json, os, socket
def of(act):
    try: return act()
    except OSError as error: return type(error).__name__
home = os.path.expanduser("~")
def own_service():
    ours, path = socket.socket(socket.AF_UNIX), os.environ["TMPDIR"] + "/own.sock"
    ours.bind(path)
    ours.listen()
    return socket.socket(socket.AF_UNIX).connect(path) or "connected"
print(json.dumps({
    "key": of(lambda: open(home + "/.ssh/id").read()), "notes": of(lambda: open(home + "/notes").read()), "write": of(lambda: bool(open(home + "/new", "w"))),
    "own": of(lambda: open(os.environ["TMPDIR"] + "/own", "w").write("x")),
    "shared": of(lambda: open("/dev/shm/" + os.environ["SHARED"], "w").write("x")),
    "services": {path: of(lambda: socket.socket(socket.AF_UNIX).connect(path) or "connected") for path in os.environ["SERVICES"].split(",") if path},
    "own service": of(own_service),
    "token": os.environ.get("MY_TOKEN"), "outside": of(lambda: os.kill(int(os.environ["OUTSIDE"]), 0)), "me": os.getuid(),
    "connected": of(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2).close()), "offline": os.environ.get("HF_HUB_OFFLINE"),
    "status": {line.split(":")[0]: line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:"))},
}))
"""  # noqa: E501


def policy(home: Path, program: str, **changes: Any) -> Policy:
    variables = {
        **os.environ,
        "HOME": str(home),
        "MY_TOKEN": "secret",
        "OUTSIDE": str(os.getpid()),
        "SERVICES": "",
        "SHARED": SHARED,
        **changes.pop("variables", {}),
    }
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
def home() -> Iterator[Path]:
    """A home, whose name is short, as that of a socket has to be."""
    with tempfile.TemporaryDirectory(prefix="gb-") as name:
        folder = Path(name) / "home"
        (folder / ".ssh").mkdir(parents=True)
        (folder / ".ssh" / "id").write_text("key")
        (folder / "notes").write_text("notes")
        yield folder


@contextlib.contextmanager
def services(home: Path) -> Iterator[list[str]]:
    """The sockets of services that answer to everybody: where an agent has it, where nobody knows of it, and where most have it."""
    paths = [home / ".1password" / "agent.sock", home / "some" / "where", Path("/run") / f"gb-test-{os.getpid()}.sock"]
    paths = paths if os.access("/run", os.W_OK) else paths[:2]
    with contextlib.ExitStack() as open_ones:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            open_ones.enter_context(listening(path))
        yield [str(path) for path in paths]


@contextlib.contextmanager
def listening(path: Path) -> Iterator[None]:
    """A socket that answers to everybody."""
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(str(path))
        os.chmod(path, 0o777)
        listener.listen(100)
        client.connect(str(path))
        try:
            yield
        finally:
            path.unlink()


def assert_held(seen: dict[str, Any], layers: set[str]) -> None:
    assert seen["key"] in ("FileNotFoundError", "PermissionError", "")
    assert (seen["notes"], seen["own"], seen["token"], seen["offline"]) == ("notes", 1, None, "1")
    assert seen["write"] in ("OSError", "PermissionError")
    assert seen["own service"] == "connected"
    assert seen["shared"] == (1 if "mount namespace" in layers else "PermissionError")
    assert not os.path.exists(f"/dev/shm/{SHARED}")
    if "mount namespace" in layers:
        assert "connected" not in seen["services"].values()
    assert seen["outside"] in ("ProcessLookupError", "PermissionError")
    assert seen["connected"] in ("ConnectionRefusedError", "PermissionError")
    assert seen["status"]["NoNewPrivs"] == "1"
    assert int(seen["status"]["CapEff"], 16) & ~(1 << 2) == 0
    assert (seen["status"]["Seccomp"] == "2") is ("seccomp" in layers)


def test_what_is_said_to_be_in_force_is(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, services(home) as paths:
        told = {"variables": {"PORT": str(listener.getsockname()[1]), "SERVICES": ",".join(paths)}}
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
def test_anybody_gets_as_much(forbidden: bool) -> None:
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
        with services(folder / "home") as paths:
            variables |= {"SERVICES": ",".join(paths), "SHARED": SHARED}
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


SECRETS = (".netrc", ".git-credentials", ".pypirc", ".ssh/id", ".gnupg/key")
READ = f"""
import os, sys, time
def look():
    found = []
    for name in {SECRETS}:
        try: found.append(open(os.environ["HOME"] + "/" + name).read())
        except OSError: pass
    print("".join(found), flush=True)
look()
sys.stdin.readline()
look()
sys.stdin.readline()
time.sleep(2)
look()
"""


def write_anew(path: Path) -> None:
    """As those tools do it that keep passwords: a new file in the old one's place."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_name("new")
    new.write_text("secret")
    os.replace(new, path)


async def read_while_they_change(home: Path, shown: list[str]) -> list[str]:
    pipe = asyncio.subprocess.PIPE
    one = await start([sys.executable, "-c", READ], policy(home, sys.executable), single=False, cwd="/", stdin=pipe, stdout=pipe)
    assert one.process.stdin is not None
    assert one.process.stdout is not None
    read = [(await one.process.stdout.readline()).decode()]
    for act in (one.show(shown), asyncio.sleep(0)):
        for name in SECRETS:
            write_anew(home / name)
        await act
        one.process.stdin.write(b"\n")
        read.append((await one.process.stdout.readline()).decode())
    await one.process.wait()
    await one.told()
    assert "mount namespace" in one.layers
    one.close()
    return [line.strip() for line in read]


@pytest.mark.parametrize("shown", ["/usr", "/tmp/nothing-there"], ids=["in no covered place", "in a covered place"])
def test_secrets_that_are_written_anew_or_appear_are_hidden(home: Path, shown: str) -> None:
    """By an order to show something, whatever that is, and by the next tick."""
    for name in SECRETS[:2]:
        (home / name).write_text("secret")
    assert asyncio.run(read_while_they_change(home, [shown])) == ["", "", ""]


def test_a_socket_that_appears_is_hidden(home: Path) -> None:
    code = "import os, socket, time\nprint('there', flush=True)\ntime.sleep(3)\n"
    code += "socket.socket(socket.AF_UNIX).connect(os.environ['HOME'] + '/late')"

    async def look() -> int | None:
        pipe = asyncio.subprocess.PIPE
        one = await start([sys.executable, "-c", code], policy(home, sys.executable), single=False, cwd="/", stdout=pipe, stderr=pipe)
        assert one.process.stdout is not None
        await one.process.stdout.readline()
        with listening(home / "late"):
            status = await one.process.wait()
        one.close()
        return status

    assert asyncio.run(look()) == 1


def test_a_socket_that_is_allowed_is_not_hidden(home: Path) -> None:
    code = "import os, socket\nsocket.socket(socket.AF_UNIX).connect(os.environ['HOME'] + '/allowed/one')"
    (home / "allowed").mkdir()
    found = policy_for(
        Permissions(read=(f"{home}/allowed",)), {**os.environ, "HOME": str(home)}, paths_of(sys.executable), __file__, str(home), 2
    )
    with listening(home / "allowed" / "one"):
        assert asyncio.run(run(code, found, sys.executable))[2] == 0


GROW = "import time\nkept = []\nfor _ in range(700):\n    kept.append(bytearray(b'x' * (1 << 20)))\ntime.sleep(60)\n"


def test_a_program_that_takes_the_memory_is_ended(home: Path) -> None:
    _, layers, status, why = asyncio.run(run(GROW, policy(home, sys.executable, memory_left=1 << 50), sys.executable))
    assert "memory watch" in layers
    assert status == -9
    assert why.startswith("the program took 0.")
    assert "GiB of memory" in why


KEEP = """
import time
with open({place!r}, "wb") as file:
    for _ in range(700):
        file.write(b"x" * (1 << 20))
time.sleep(60)
"""


@pytest.mark.parametrize("place", ["/tmp/x", "/var/tmp/x", "/dev/shm/x"])
def test_temporary_files_are_memory_that_a_program_takes(home: Path, place: str) -> None:
    code = KEEP.format(place=place)
    _, layers, status, why = asyncio.run(run(code, policy(home, sys.executable, memory_left=1 << 50), sys.executable))
    assert "read-only mounts" in layers
    assert status == -9
    assert why.startswith("the program took 0.")


def test_temporary_files_take_a_part_of_the_memory_together(home: Path) -> None:
    code = (
        "import os\nfor place in ('/tmp', '/var/tmp', '/dev/shm'):\n    open(place + '/x', 'w').write('x' * 100000)\n"
        "    found = os.statvfs(place)\n    print(found.f_blocks * found.f_frsize, found.f_bfree)\n"
    )
    output, layers, _, _ = asyncio.run(run(code, policy(home, sys.executable), sys.executable))
    assert "read-only mounts" in layers
    sizes, free = zip(*(map(int, line.split()) for line in output.splitlines()), strict=True)
    assert set(sizes) == {sizes[0]}
    assert sizes[0] == pytest.approx(memory()[1] / 4, rel=0.01)
    assert free[0] > free[1] > free[2]


@pytest.mark.parametrize("prepared", [False, True], ids=["while it is prepared", "between jobs"])
def test_an_interpreter_that_takes_the_memory_outside_of_jobs_is_ended(home: Path, prepared: bool) -> None:
    async def look() -> tuple[int | None, str]:
        found = policy(home, sys.executable, memory_left=1 << 50)
        pipe = asyncio.subprocess.PIPE
        code = "import sys\nsys.stdin.readline()\n" + GROW
        one = await start([sys.executable, "-c", code], found, single=False, cwd="/", stdin=pipe)
        await one.told()
        if prepared:
            await one.ready()
        assert one.process.stdin is not None
        one.process.stdin.write(b"\n")
        status = await asyncio.wait_for(one.process.wait(), 30)
        await asyncio.sleep(0.1)
        one.close()
        return status, one.memory_end

    status, why = asyncio.run(look())
    assert status == -9
    assert why.startswith("the program took 0.")


def test_an_interpreter_that_takes_the_memory_before_it_is_ready_cannot_trace_and_says_why(home: Path) -> None:
    (home / "sitecustomize.py").write_text(GROW)

    async def look() -> str:
        found = policy(home, sys.executable, memory_left=1 << 50, variables={"PYTHONPATH": str(home)})
        with pytest.raises(CannotStart) as stopped:
            await PreparedParent(sys.executable, found, {}).start()
        return str(stopped.value)

    why = asyncio.run(look())
    assert why.startswith(f"The interpreter {sys.executable} cannot import torch: the program took 0.")
    assert why.endswith("so it was ended.")


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
