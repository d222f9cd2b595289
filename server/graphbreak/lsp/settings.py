"""What a user can set, read from whatever an editor sends: wrong values are left out and named, never raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.requests import Permissions, Settings
from .severities import Severities, read_severities

ON_SAVE, ON_TYPE, MANUAL = "onSave", "onType", "manual"

NOT_OURS = frozenset({"trace", "bands", "importStrategy", "settings", "graphbreak"})
"""Keys that are no settings of the server: the first ones are the extension's own, the others only wrap settings."""


@dataclass(frozen=True)
class ClientSettings:
    """The settings of one folder. `run` says when a document is analysed; `severity` and `lens` are about what is shown;
    `try_fixes` is whether fixes are tried in the background."""

    run: str = ON_SAVE
    interpreter: str | None = None
    timeout: float = 60.0
    trusted: bool = True
    ignore: tuple[str, ...] = ()
    device: str = "auto"
    sandbox: Permissions = field(default_factory=Permissions)
    severity: Severities = field(default_factory=dict, hash=False)
    lens: bool = True
    try_fixes: bool = True

    def for_analysis(self) -> Settings:
        """The part that the engine knows."""
        return Settings(self.interpreter, self.timeout, self.trusted, self.device, self.sandbox, self.ignore, confirmed=False)


def read_options(raw: object) -> tuple[ClientSettings, list[str]]:
    """The settings in `initializationOptions`: plain, or under `settings` or `graphbreak`."""
    settings, problems = read_settings(raw, ClientSettings())
    if isinstance(raw, Mapping):
        for wrapper in ("settings", "graphbreak"):
            if isinstance(raw.get(wrapper), Mapping):
                settings, more = read_settings(raw[wrapper], settings)
                problems += more
    return settings, problems


def read_settings(raw: object, base: ClientSettings) -> tuple[ClientSettings, list[str]]:
    """The settings in an object, on top of those in force; and a sentence for each thing that was wrong with it.

    Trust can be taken away here and not given: a repository can bring its own settings file, and must not trust itself.
    """
    if raw is None:
        return base, []
    if not isinstance(raw, Mapping):
        return base, [f"Graphbreak settings are ignored: an object was expected, not {raw!r}."]
    known: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in raw.items():
        if key in NOT_OURS or value is None:
            continue
        try:
            known[_FIELDS.get(str(key), str(key))] = _READERS[key](value)
        except KeyError:
            problems.append(f"Graphbreak has no setting `{key}`; it is ignored.")
        except (TypeError, ValueError) as error:
            problems.append(f"Graphbreak setting `{key}` is ignored: {error}, not {value!r}.")
    known["trusted"] = base.trusted and known.get("trusted", True)
    return replace(base, **known), problems


def _read_run(value: object) -> str:
    if value not in (ON_SAVE, ON_TYPE, MANUAL):
        raise ValueError(f'expected "{ON_SAVE}", "{ON_TYPE}" or "{MANUAL}"')
    return str(value)


def _read_interpreter(value: object) -> str | None:
    if not isinstance(value, str):
        raise TypeError("expected a path")
    return value or None


def _read_timeout(value: object) -> float:
    # bool is an int to Python; `"timeout": true` is a mistake all the same.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError("expected a number of seconds above 0")
    return float(value)


def _read_switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _read_ignore(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(code, str) for code in value):
        raise TypeError("expected a list of codes")
    return tuple(value)


def _read_device(value: object) -> str:
    if value not in ("auto", "cpu", "cuda"):
        raise ValueError('expected "auto", "cpu" or "cuda"')
    return str(value)


_SANDBOX_SWITCHES = {"network": False, "enabled": True}


def _read_sandbox(value: object) -> Permissions:
    """An object of `write`, `read`, `env` and `require` (lists of words), `network` and `enabled` (switches); what is missing keeps its
    default."""
    if not isinstance(value, Mapping) or not set(value) <= {"write", "read", "env", "network", "require", "enabled"}:
        raise TypeError('expected an object of "write", "read", "env", "network", "require" and "enabled"')
    lists: dict[str, Any] = {}
    for key in ("write", "read", "env", "require"):
        words = value.get(key) or ()
        if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
            raise TypeError(f'expected a list of words for "{key}"')
        lists[key] = tuple(words)
    network, enabled = (_read_switch(default if value.get(key) is None else value[key]) for key, default in _SANDBOX_SWITCHES.items())
    return Permissions(**lists, network=network, enabled=enabled)


_READERS: dict[str, Callable[[object], Any]] = {
    "run": _read_run,
    "interpreter": _read_interpreter,
    "timeout": _read_timeout,
    "trusted": _read_switch,
    "ignore": _read_ignore,
    "device": _read_device,
    "sandbox": _read_sandbox,
    "severity": read_severities,
    "lens": _read_switch,
    "tryFixes": _read_switch,
}

_FIELDS = {"tryFixes": "try_fixes"}
"""Settings that are called otherwise here."""
