"""The product's causes and graphs are those of PyTorch's own trace: none missing, none invented, none twice.

The trace is taken afresh, by `oracle`, with the interpreter that the product's worker uses (`GRAPHBREAK_TEST_PYTHON`, else this one).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Report
from harness import INTERPRETER, Harness, worker_has
from parity.oracle import Cause, Verdict, ask
from parity.programs import FOLDER, Program, examples, given_cases, markdown_programs, rule_programs
from versions import at_home

EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 3
"""`make test-full` compares all programs; `make test` a third of the cases and pages, whose breaks other tests look at too."""
PROGRAMS = [*given_cases(), *examples(), *markdown_programs()[::EVERY], *rule_programs()[::EVERY]]
TRUTHS = given_cases()
NEEDS = {"examples/transformers_model.py": "transformers", "011_hash_features": "numpy"}
_CAUSES = (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED)
_SECOND_RUN = "Behind an earlier break under fullgraph=True"

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Callable[[Program], Verdict]]:
    """What PyTorch says of a program. Those that the session asks for are run ahead, two at a time."""
    folder = tmp_path_factory.mktemp("traced").resolve()
    callspecs = [callspec for item in request.session.items if (callspec := getattr(item, "callspec", None)) is not None]
    asked_for = (callspec.params.get("program") for callspec in callspecs)
    wanted = dict.fromkeys(program for program in asked_for if isinstance(program, Program))  # other tests have programs of their own
    with ThreadPoolExecutor(2) as pool:
        asked: dict[Program, Future[Verdict]] = {
            program: pool.submit(_trace, program, folder / str(number)) for number, program in enumerate(wanted) if _can_run(program)
        }
        yield lambda program: asked[program].result()
        pool.shutdown(cancel_futures=True)


def _trace(program: Program, folder: Path) -> Verdict:
    return ask(INTERPRETER, program.write(folder, for_trace=True), folder, program.timeout)


def _can_run(program: Program) -> bool:
    return program.name not in NEEDS or worker_has(NEEDS[program.name])


def _skip_unless_it_can_run(program: Program) -> None:
    if not _can_run(program):
        pytest.skip(f"{NEEDS[program.name]} is not installed where the workers run")


@every_program
def test_parity(harness: Harness, tmp_path: Path, verdicts: Callable[[Program], Verdict], program: Program) -> None:
    _skip_unless_it_can_run(program)
    folder = tmp_path.resolve() / "program"
    report = harness.analyse(program.write(folder, for_trace=False), root=folder, timeout=program.timeout)
    causes = [diagnostic for diagnostic in report.diagnostics if diagnostic.kind in _CAUSES]
    found = [one for one in causes if not one.message.startswith(_SECOND_RUN) and not one.guessed]  # PyTorch's own run makes no guesses
    verdict = verdicts(program)

    assert sorted({_as_cause(diagnostic, folder) for diagnostic in found}) == sorted(verdict.causes), verdict.output
    inner = [(diagnostic.stack[-1].path, diagnostic.stack[-1].line) for diagnostic in found]
    keys = Counter((diagnostic.path, diagnostic.span, diagnostic.gb_type, *at) for diagnostic, at in zip(found, inner))
    assert [key for key, count in keys.items() if count > 1] == []
    if _graphs_are_comparable(program, verdict):
        assert _graphs(report) == verdict.graphs


def _as_cause(diagnostic: Diagnostic, folder: Path) -> Cause:
    own = [frame for frame in diagnostic.stack if not frame.library]
    blamed, inner = (own or diagnostic.stack)[-1], diagnostic.stack[-1]
    return Cause(_short(blamed.path, folder), blamed.line + 1, _short(inner.path, folder), inner.line + 1, diagnostic.gb_type)


def _short(path: str, folder: Path) -> str:
    return os.path.relpath(path, folder) if path.startswith(str(folder) + os.sep) else path


def _graphs_are_comparable(program: Program, verdict: Verdict) -> bool:
    """Whether both ran the same to its end. With example calls the product imports the file and counts the graphs of these calls only,
    while the oracle runs it as a program; what a mark shows is the same, how often something is compiled is not."""
    return not verdict.timed_out and not program.has_calls


def _graphs(report: Report) -> int:
    called = (row for row in report.functions if not any(inputs.source == "inferred" for inputs in row.inputs))
    return sum(function.graphs for function in called)


@pytest.mark.parametrize("program", TRUTHS, ids=lambda program: program.name)
def test_the_oracle_agrees_with_the_recorded_truth(verdicts: Callable[[Program], Verdict], program: Program) -> None:
    if not at_home():
        pytest.skip("recorded with torch 2.13 on Python 3.11")
    _skip_unless_it_can_run(program)
    truth = json.loads((FOLDER / "cases" / f"{program.name}.json").read_text(encoding="utf-8"))["truth"]
    verdict = verdicts(program)
    recorded = {(_outside(found["file"]), found["line"], found["gb_type"]) for found in truth["breaks"]}
    assert {(_outside(cause.inner_path), cause.inner_line, cause.gb_type) for cause in verdict.causes} == recorded
    assert verdict.timed_out == truth.get("timed_out", False)
    if not verdict.timed_out:
        assert (verdict.graphs, verdict.status) == (truth["graph_count"], truth["exit"])


def _outside(path: str) -> str:
    """A file of the standard library or of a package, as the recorded truths name it."""
    for mark in ("site-packages/", "dist-packages/"):
        if mark in path:
            return "site-packages/" + path.partition(mark)[2]
    return "stdlib/" + os.path.basename(path) if os.path.isabs(path) else path
