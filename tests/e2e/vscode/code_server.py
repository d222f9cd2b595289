"""A real VS Code (code-server) with private folders, in a process group of its own that is gone when it is stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

VERSION = "4.139.1"
HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphbreak" / f"code-server-{VERSION}"
NODE = HOME / "venv" / "bin" / "node"
ENTRY = HOME / "node_modules" / "code-server" / "out" / "node" / "entry.js"

QUIET = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "chat.disableAIFeatures": True,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    "window.menuBarVisibility": "compact",
    "editor.minimap.enabled": False,
    "workbench.tips.enabled": False,
    "editor.hover.delay": 100,
    "files.autoSave": "off",
    "files.exclude": {"**/.venv": True},
}

MARK = "GRAPHBREAK_E2E"
"""A variable of everything that the editor starts, by which what is left over is found."""


class CodeServer:
    """One running editor."""

    def __init__(self, folder: Path, packages: Sequence[Path], settings: Mapping[str, object], *, trust: bool = False) -> None:
        self.mark = f"{MARK}={folder.name}-{time.monotonic_ns()}"
        self._data, self._extensions = folder / "data", folder / "extensions"
        self._variables = {**os.environ, "HOME": str(folder / "home"), MARK: self.mark.partition("=")[2]}
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"):
            self._variables.pop(name, None)
        (folder / "home").mkdir(parents=True, exist_ok=True)
        self._settings = {**QUIET, **settings}
        self.set()
        self._run(*(option for package in packages for option in ("--install-extension", str(package))))
        self.port = _free_port()
        options = [] if trust else ["--disable-workspace-trust"]
        command = [
            *self._command(),
            "--auth",
            "none",
            "--bind-addr",
            f"127.0.0.1:{self.port}",
            "--disable-telemetry",
            "--disable-update-check",
        ]
        self._log = (folder / "code-server.log").open("wb")
        self._process = subprocess.Popen(
            [*command, *options], env=self._variables, stdout=self._log, stderr=self._log, start_new_session=True
        )
        self._wait_until_up()

    def set(self, **settings: object) -> None:
        """Write the settings, these on top: the user's, and those of the machine, where code-server looks for paths.

        An editor that runs takes them over. `__` stands for the dot in a name.
        """
        self._settings |= {name.replace("__", "."): value for name, value in settings.items()}
        for scope in ("User", "Machine"):
            file = self._data / scope / "settings.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(self._settings))

    def url(self, place: Path) -> str:
        """Where the editor shows a folder, or a workspace of several."""
        return f"http://127.0.0.1:{self.port}/?{'workspace' if place.suffix == '.code-workspace' else 'folder'}={place}"

    def processes(self) -> dict[int, str]:
        """What the editor has started and what these have, in whatever process group."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                ours = self.mark.encode() in (entry / "environ").read_bytes()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if ours and command:
                found[int(entry.name)] = command
        return found

    def pythons(self) -> dict[int, str]:
        """The server and the workers among them."""
        return {pid: command for pid, command in self.processes().items() if _is_server(command) or "graphbreak/worker" in command}

    def servers(self) -> dict[int, str]:
        """The language servers: not what one of them has begun to start, which has its command line for a moment."""
        found = {pid: command for pid, command in self.pythons().items() if _is_server(command)}
        return {pid: command for pid, command in found.items() if _parent(pid) not in found}

    def kill(self) -> None:
        """As a machine does that runs out of memory: nothing of the editor gets to say goodbye."""
        for pid, command in self.processes().items():
            if "node" in command.split(" ")[0]:
                _send(pid, signal.SIGKILL)
        self._process.wait(10)

    def stop(self) -> None:
        """End the editor and its process group."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait(10)
        self._log.close()

    def _command(self) -> list[str]:
        return [str(NODE), str(ENTRY), "--user-data-dir", str(self._data), "--extensions-dir", str(self._extensions)]

    def _run(self, *arguments: str) -> None:
        subprocess.run([*self._command(), *arguments], env=self._variables, check=True, capture_output=True, timeout=120)

    def _wait_until_up(self) -> None:
        give_up = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2).close()
                return
            except OSError:
                if time.monotonic() > give_up or self._process.poll() is not None:
                    raise
                time.sleep(0.1)


def chromium() -> str | None:
    """The browser: any Chromium that a variable names, or one of the machine."""
    return (
        os.environ.get("GRAPHBREAK_CHROMIUM")
        or shutil.which("chromium")
        or shutil.which("google-chrome")
        or shutil.which("chromium-browser")
    )


def pack(folder: Path, target: Path) -> Path:
    """A package of an extension that is written down as it is."""
    with zipfile.ZipFile(target, "w") as package:
        for file in sorted(folder.iterdir()):
            package.write(file, f"extension/{file.name}")
    return target


def _is_server(command: str) -> bool:
    return "run_server.py" in command or "-m graphbreak server" in command


def _parent(pid: int) -> int:
    """The process that started another one; 0 if that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
