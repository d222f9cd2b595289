"""What the sandbox stopped, in words that say how to allow it."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from ..worker.protocol import Denied, Failure
from .asking import Wish
from .requests import Permissions
from .tracing import Run

_ALLOW = {
    "write": ("write", "--allow-write"),
    "read": ("read", "--allow-read"),
    "find": ("read", "--allow-read"),
    "connect to": ("network", "--allow-network"),
}

_MOST_PATHS = 5
_LONGEST = 400
_OWN = ("/tmp/", "/var/tmp/", "/dev/shm/")
_SHARED = "/dev/shm"

_FILE_ERRORS = frozenset({"PermissionError", "OSError", "FileNotFoundError"})
_NETWORK_ERRORS = frozenset({"gaierror", "OSError", "ConnectionError", "ConnectTimeout", "URLError", "TimeoutError",
"LocalEntryNotFoundError",
                             "OfflineModeIsEnabled", "PermissionError"})  # fmt: skip


def denial_sentence(denied: Denied) -> str:
    """What was tried, and which setting allows it."""
    setting, option = _ALLOW.get(denied.action, ("", ""))
    if denied.action == "find":
        own = next((folder for folder in _OWN if denied.target.startswith(folder)), "")
        return (
            f"{own} is the program's own here; the setting `sandbox.{setting}` shows it what lies there, or `{option}` on the command line."
        )
    words = f"tried to {denied.action} {denied.target}: the sandbox does not allow it"
    return f"{words}; the setting `sandbox.{setting}` does, or `{option}` on the command line." if setting else f"{words}."


def attempted(denials: Sequence[Denied], folder: str) -> Wish | None:
    """What would have to be allowed to the programs of a folder for what they tried: files that they may write, and the network.

    What may not be read are secrets: to show these takes a setting. A worker's words are not believed beyond a few plain paths.
    """
    write = dict.fromkeys(denied.target for denied in denials if denied.action == "write" and _is_plain(denied.target))
    wanted = Permissions(write=tuple(write)[:_MOST_PATHS], network=any(denied.action == "connect to" for denied in denials))
    return None if wanted == Permissions() else Wish(folder, wanted)


def _is_plain(path: str) -> bool:
    return posixpath.isabs(path) and posixpath.normpath(path) == path and path.isprintable() and len(path) < _LONGEST


def stopped(run: Run) -> list[str]:
    """A sentence for each thing that was stopped; a file that was not there is no such thing, and only explains an exception."""
    return [denial_sentence(denied) for denied in run.of(Denied) if denied.action != "find"]


def with_denials(run: Run) -> Run:
    """A run whose exceptions say why they were raised, where that is something that the sandbox stopped."""
    denials = run.of(Denied)
    if not denials:
        return run
    return replace(
        run, messages=tuple(_explained(message, denials) if isinstance(message, Failure) else message for message in run.messages)
    )


def _explained(failure: Failure, denials: Sequence[Denied]) -> Failure:
    text = failure.message
    of_files = [denied for denied in denials if denied.action != "connect to" and _is_about(denied.target, text)]
    of_network = [denied for denied in denials if denied.action == "connect to"]
    fitting = of_files if failure.type in _FILE_ERRORS and of_files else of_network if failure.type in _NETWORK_ERRORS else []
    return replace(failure, message=f"{text} ({denial_sentence(fitting[-1])[:-1]})") if fitting else failure


def _is_about(path: str, text: str) -> bool:
    """Whether the text of an exception speaks of a path: by its name, and of shared memory by none or by that of a segment."""
    return path.rpartition("/")[2] in text or (path == _SHARED and ("'" not in text or "'/psm_" in text))
