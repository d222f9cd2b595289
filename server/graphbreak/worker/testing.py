"""Tests as the program to trace: pytest, where the user's environment has it, runs them in this very process."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable
from typing import Any

_USAGE_ERROR, _NOTHING_COLLECTED = 4, 5
_QUIET = ("-s", "-q", "--no-header", "--tb=short", "-p", "no:faulthandler", "--assert=plain")
"""Plain asserts are the code that is written, and modules are then read by Python's own loader, unsaved texts included."""

_IN_THIS_PROCESS = {"xdist": "-n0", "pytest_cov": "--no-cov"}
"""Plugins that would run the tests elsewhere, or trace them themselves, each with the option against that."""


def run(tests: list[str], raised: Callable[[BaseException], None], notes: list[str]) -> str:
    """Run tests by their ids; `raised` hears what each that fails raised. Returns why they could not be run, in a sentence, or nothing."""
    names = ", ".join(f"`{test.rpartition('/')[2]}`" for test in tests)
    try:
        pytest: Any = importlib.import_module("pytest")
    except ModuleNotFoundError:
        return f"{names} cannot be run: there is no pytest in {sys.executable}."
    options = [option for plugin, option in _IN_THIS_PROCESS.items() if importlib.util.find_spec(plugin) is not None]
    watch = _Watch(raised)
    with tempfile.TemporaryDirectory(prefix="graphbreak-") as cache:  # an empty one, in place of the project's
        status = int(pytest.main([*_QUIET, "-o", f"cache_dir={cache}", *options, *tests], plugins=[watch]))
    notes.extend(watch.skipped)
    if status == _NOTHING_COLLECTED or (status == _USAGE_ERROR and not watch.failed):
        return f"pytest found no test {names}, or could not be started with the project's options; what it printed says why."
    return ""


class _Watch:
    """A plugin that hears of exceptions, and of tests that were not run."""

    def __init__(self, raised: Callable[[BaseException], None]) -> None:
        self._raised = raised
        self.failed = False
        self.skipped: list[str] = []

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """A test, a fixture or the collection of a file raised."""
        self.failed = True
        self._raised(call.excinfo.value)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test was skipped, or failed as was expected of it."""
        if report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", "")
            self.skipped.append(f"`{report.nodeid}` was not run to its end: {why or 'skipped'}")
