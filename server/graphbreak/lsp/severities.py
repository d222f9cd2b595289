"""How loud the user wants each kind of diagnostic to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..core.findings import Diagnostic, Kind, Severity

OFF = "off"

Severities = Mapping[Kind, Severity | None]
"""By kind; None where it is not to be shown at all."""


def as_wished(diagnostics: Iterable[Diagnostic], severities: Callable[[str], Severities]) -> list[Diagnostic]:
    """The diagnostics as loud as the settings of their files say; without those that are off, and the callers of these alone."""
    kept: list[Diagnostic] = []
    hidden: set[str] = set()
    for diagnostic in diagnostics:
        severity = severities(diagnostic.path).get(diagnostic.kind, diagnostic.severity)
        if severity is None:
            hidden.add(diagnostic.id)
        else:
            kept.append(diagnostic if severity is diagnostic.severity else replace(diagnostic, severity=severity))
    hidden -= {diagnostic.id for diagnostic in kept if diagnostic.kind is not Kind.CALLER}
    return [diagnostic for diagnostic in kept if diagnostic.kind is not Kind.CALLER or diagnostic.id not in hidden]


def read_severities(value: object) -> Severities:
    """The setting `severity`: an object of kinds and severities. Raises for anything else."""
    if not isinstance(value, Mapping):
        raise TypeError('expected an object such as {"break": "error"}')
    read: dict[Kind, Severity | None] = {}
    for kind, severity in value.items():
        try:
            read[Kind(kind)] = None if severity == OFF else Severity(severity)
        except ValueError:
            kinds, words = ", ".join(k.value for k in Kind), ", ".join([*(s.value for s in Severity), OFF])
            raise ValueError(f'expected "{kind}" to be one of {kinds}, and its value one of {words}') from None
    return read
