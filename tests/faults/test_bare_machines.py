"""Where something is missing that is nearly always there, the server works as far as it can, and says what it cannot do."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .programs import ESCAPING
from .watched import Watched, said, snapshot

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
_ENTER = ("unshare", "--mount", "--propagation", "private", *([] if os.geteuid() == 0 else ["--map-root-user"]))
_SERVER = 'exec "$0" -m graphbreak server'
MACHINES = {
    "a full disk": "mount -t tmpfs -o size=64k none {full} && mkdir {full}/home {full}/cache && "
    "! dd if=/dev/zero of={full}/zeros 2>/dev/null",
    "a home that cannot be written": "mount --bind {home} {home} && mount -o remount,bind,ro {home}",
    "no home": ":",
    "no temporary folder": "mount -t tmpfs none {root} && for place in /*; do name=${{place#/}}; [ $name = tmp ] || [ -L $place ] || "
    "{{ [ -d $place ] && mkdir {root}/$name && mount --rbind $place {root}/$name; }}; [ ! -L $place ] || cp -P $place {root}/; done; "
    "cd {root} && pivot_root . . && umount -l . && cd {workspace}",
    "no /proc": "umount -l /proc",
}
"""How each comes about, in a mount namespace of the server's own."""

SHORT = ["a full disk", "no temporary folder"]
"""Those that are tried each time."""


def variables(machine: str, folder: Path) -> dict[str, str]:
    """What the server is started with."""
    if machine == "a full disk":
        full = folder / "full"
        return {"HOME": f"{full}/home", "TMPDIR": str(full), "GRAPHBREAK_CACHE": f"{full}/cache", "XDG_STATE_HOME": f"{full}/state"}
    if machine == "no home":
        return {"HOME": "/proc/nobody", "GRAPHBREAK_CACHE": "/proc/nobody/cache", "XDG_STATE_HOME": "/proc/nobody/state"}
    if machine == "a home that cannot be written":
        return {"GRAPHBREAK_CACHE": str(folder / "home" / "cache"), "XDG_STATE_HOME": str(folder / "home" / "state")}
    return {"TMPDIR": ""}


@contextlib.contextmanager
def machine_of(name: str) -> Iterator[Watched]:
    """A server on such a machine. It is not below `/tmp`, which one of them does not have."""
    if subprocess.run([*_ENTER, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine lets nobody make a mount namespace")
    folder = Path(tempfile.mkdtemp(prefix=".bare-", dir=Path(__file__).parent))
    watched = None
    try:
        places = {place: folder / place for place in ("full", "home", "root", "workspace")}
        for place in places.values():
            place.mkdir()
        setup = MACHINES[name].format(**places)
        program = "import os, sys; os.execvp(sys.argv[2], [*sys.argv[2:], 'sh', '-c', sys.argv[1], sys.executable])"
        command = ("-c", program, f"{setup} && {_SERVER}", *_ENTER)
        watched = Watched(folder, command, **variables(name, folder))
        yield watched
    finally:
        if watched is not None:
            watched.close()
        shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="machines are made of mount namespaces")
@pytest.mark.parametrize("name", MACHINES if LONG else SHORT)
def test_a_trace_is_right_on_a_machine_that_lacks_something(name: str) -> None:
    with machine_of(name) as watched:
        home = snapshot(watched.home)
        watched.begin()
        assert not watched.late(), watched.late()
        stopped = next(program for program in ESCAPING if program.name == "a new file elsewhere")
        folder = watched.folder()
        report = watched.trace(folder / "main.py", stopped.text.replace("{canary}", str(folder)))
        assert stopped.says in said(report)
        assert list(folder.iterdir()) == []
        if os.geteuid() == 0:
            assert {"mount namespace", "pid namespace", "read-only mounts", "memory watch"} <= set(report["environment"]["sandbox"])
        watched.leave(folder / "main.py")
        watched.assert_next_is_right()
        assert snapshot(watched.home) == home
