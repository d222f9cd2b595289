"""What a fix sees and gives: pure values, so that a fix is a function of the break and the sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..core.findings import Diagnostic, Fix
from ..core.source import SourceFile, Span


@dataclass(frozen=True)
class FixContext:
    """What is known beside the break itself."""

    sources: Mapping[str, SourceFile]
    """The workspace files of the trace, by absolute path."""
    marked: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """For each path the 0-based `def` lines of the functions that are marked for compile."""
    captured: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """For each path the 0-based lines whose operations went into a graph."""
    inputs: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    """For marked functions, by path and 0-based `def` line: what their calls were given, as people read it (`x: f32[8, 16], n: 3`)."""
    marks: Mapping[str, tuple[str, Span]] = field(default_factory=dict)
    """For each marked function, by its name: the file and the span of its mark (the decorator without `@`, or the call)."""


Fixer = Callable[[Diagnostic, FixContext], Fix | None]
