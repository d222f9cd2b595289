"""`--baseline` and `--write-baseline`: a result without what was known before, and the file that says what is known."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..core.baseline import KINDS, Baseline, BaselineError, Entry, baseline_text, counted, covered, entry_of, parse_baseline, two_numbers
from ..core.findings import Diagnostic, Outcome
from ..core.source import SourceFile
from ..tracer.files import read_source
from .check import Result

_LOOKED_AT = frozenset({Outcome.TRACED, Outcome.NOT_REACHED})


class BaselineFile:
    """The baseline at a path. Files below its folder are named from there, others from the working directory."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = os.path.dirname(os.path.realpath(path))

    def read(self) -> Baseline:
        """What it says. Raises BaselineError with a whole sentence."""
        try:
            return parse_baseline(Path(self.path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BaselineError(f"There is no baseline {self.path}; --write-baseline {self.path} makes it.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise BaselineError(f"The baseline {self.path} cannot be read: {error}.") from error
        except BaselineError as error:
            raise BaselineError(f"The baseline {self.path} cannot be used: {error}.") from error

    def check_folder(self) -> None:
        """That there is a folder to write to, which is better known before the analysis. Raises BaselineError with a whole sentence."""
        if not os.path.isdir(os.path.dirname(os.path.realpath(self.path))) or os.path.isdir(self.path):
            raise BaselineError(f"The baseline {self.path} cannot be written: there is no such folder, or a folder has this name.")

    def write(self, baseline: Baseline) -> None:
        """Put a baseline in the file's place in one step. Raises BaselineError with a whole sentence."""
        target = os.path.realpath(self.path)
        beside = f"{target}.{os.getpid()}.tmp"
        try:
            try:
                Path(beside).write_bytes(baseline_text(baseline).encode("utf-8", "backslashreplace"))
                os.replace(beside, target)
            finally:
                Path(beside).unlink(missing_ok=True)
        except OSError as error:
            raise BaselineError(f"The baseline {self.path} cannot be written: {error.strerror or error}.") from error

    def of(self, result: Result) -> Baseline:
        """The baseline of a result: all that it shows."""
        shown = {found.id: found for found in result.diagnostics if found.kind in KINDS and found.is_shown}
        entries = counted(self._entry(found, result) for found in shown.values())
        return Baseline(tuple(entries), two_numbers(result.environment.torch))

    def applied(self, baseline: Baseline, result: Result) -> Result:
        """The result with what the baseline covers marked, and a sentence about entries that nothing was found for."""
        candidates = sorted((one for one in result.diagnostics if one.kind in KINDS), key=lambda one: one.ignored)
        found = {one.id: self._entry(one, result) for one in candidates}
        known, left = covered(baseline, found, result.environment.torch, lambda name: self._now(name, result))
        gone = sum(self._is_gone(entry, result) for entry in left)
        return replace(
            result,
            diagnostics=tuple(replace(one, baselined=one.id in known) for one in result.diagnostics),
            problems=(*result.problems, *([self._gone_sentence(gone)] if gone else [])),
        )

    def _entry(self, diagnostic: Diagnostic, result: Result) -> Entry:
        return entry_of(diagnostic, result.sources.get(diagnostic.path), self._name(diagnostic.path))

    def _name(self, path: str) -> str:
        """A path as entries have it."""
        real = os.path.realpath(path)
        for folder in (self._folder, os.path.realpath(os.getcwd())):
            if real.startswith(folder.rstrip(os.sep) + os.sep):
                return os.path.relpath(real, folder).replace(os.sep, "/")
        return path.replace(os.sep, "/")

    def _path(self, name: str) -> str:
        """The file that an entry is about."""
        below = os.path.join(self._folder, name)
        return below if os.path.exists(below) else os.path.abspath(name)

    def _now(self, name: str, result: Result) -> SourceFile | None:
        path = self._path(name)
        return result.sources.get(path) or read_source(path)

    def _is_gone(self, entry: Entry, result: Result) -> bool:
        """Whether a missing break is really missing: its file was part of a run that looked at everything in it, or is no more."""
        path = self._path(entry.path)
        if not os.path.exists(path):
            return True
        involved = {os.path.realpath(name) for name in result.sources}
        return os.path.realpath(path) in involved and all(function.outcome in _LOOKED_AT for function in result.functions)

    def _gone_sentence(self, count: int) -> str:
        what = "1 baseline entry no longer occurs" if count == 1 else f"{count} baseline entries no longer occur"
        return f"{what}; write it again with --write-baseline {self.path}."
