"""No fix that is called safe, and that its trial accepts, ever changes what a program does: on generated programs, over other inputs.

A batch of programs is one file. All safe fixes that do not overlap are applied together and the file is traced again, until nothing more is
offered. Then each program is compared with the original: over the traced inputs, as a trial does, and where a trial has nothing against the
fixes, over others. So more is asked of a fix than its trial asks: also those are compared that a trial refuses since they help too little.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from generated_programs import Program, Writer, module_of
from graphbreak.core.findings import Diagnostic, Fix, Kind, Report, Safety
from harness import INTERPRETER, Harness

BATCH = 25
FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
BATCHES = int(os.environ.get("GRAPHBREAK_FIX_PROGRAMS", "2000" if FULL else "100")) // BATCH
ROUNDS = 2 if FULL else 1
_LEFT_OUT = frozenset({"disable", "ignore"})
"""They take code out of the graph as it is, or are comments."""

Offer = tuple[Diagnostic, Fix]


@dataclass
class Tally:
    """How much was seen, for the record."""

    programs: int = 0
    breaks: int = 0
    applied: Counter[str] = field(default_factory=Counter)
    refused: int = 0


TALLY = Tally()


def offers(report: Report) -> list[Offer]:
    """The safe fixes of a report that can be applied together: the first of each diagnostic, none touching another."""
    found: list[Offer] = []
    for diagnostic in report.diagnostics:
        for fix in diagnostic.fixes:
            is_own = fix.safety is Safety.SAFE and fix.family not in _LEFT_OUT and set(fix.edits) == {report.path}
            if is_own and not any(_touch(fix, other) for _, other in found):
                found.append((diagnostic, fix))
                break
    return found


def _touch(one: Fix, other: Fix) -> bool:
    """Whether two fixes cannot be applied together: they edit the same lines, or both add to the module."""
    lines = [
        {line for edits in fix.edits.values() for e in edits for line in range(e.span.start.line, e.span.end.line + 1)}
        for fix in (one, other)
    ]
    return bool(lines[0] & lines[1])


def repaired(harness: Harness, path: Path, text: str) -> str:
    """A text after all fixes that are offered, in a few rounds; a program that a round did not change is not traced again."""
    for round_number in range(ROUNDS):
        path.write_text(text, encoding="utf-8")
        report = harness.analyse(path, timeout=300)
        assert not report.problems, report.problems
        if round_number == 0:
            TALLY.breaks += sum(diagnostic.kind in (Kind.BREAK, Kind.SKIPPED) for diagnostic in report.diagnostics)
        chosen = offers(report)
        TALLY.applied.update(fix.family for _, fix in chosen)
        before, text = parts(text), report.sources[report.path].apply([e for _, fix in chosen for e in fix.edits[report.path]]).text
        same = {number for number, part in parts(text).items() if before[number] == part}
        text = "".join(line for line in text.splitlines(keepends=True) if not (is_call(line) and int(line.split()[1].rstrip(")")) in same))
        if not chosen:
            break
    return text


def parts(text: str) -> dict[int, str]:
    """The definitions of each program of a text, by its number."""
    found: dict[int, str] = {}
    pieces = re.split(r"(?m)^(?=(?:@torch\._dynamo.*\n)?(?:@torch.compile\n)?(?:class Net|def h|def f|def make|kept)(\d+)\b)", text)
    for number, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        found[int(number)] = found.get(int(number), "") + "".join(line for line in piece.splitlines(keepends=True) if not is_call(line))
    return found


def is_call(line: str) -> bool:
    """Whether a line of a module calls a program."""
    return line.startswith("call(")


def differences(programs: list[Program], before: str, after: str, turns: int = 8) -> dict[str, str]:
    """For each program, by its number, what differs between two texts."""
    runner = Path(__file__).with_name("equality_runner.py")
    request = {
        "before": without_calls(before),
        "after": without_calls(after),
        "turns": turns,
        "programs": [(p.number, p.entry, p.state, p.limits) for p in programs],
    }
    done = subprocess.run([INTERPRETER, str(runner)], input=json.dumps(request), capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    TALLY.refused += len(found["refused"])
    changed: dict[str, str] = found["changed"]
    return changed


def without_calls(text: str) -> str:
    """A module without the calls at its end."""
    return "".join(line for line in text.splitlines(keepends=True) if not is_call(line))


@settings(max_examples=BATCHES, phases=[Phase.generate], deadline=None, derandomize=not FULL, suppress_health_check=list(HealthCheck))
@given(seeds=st.lists(st.integers(0, 2**62), min_size=BATCH, max_size=BATCH, unique=True))
def check_batch(harness: Harness, folder: Path, seeds: list[int]) -> None:
    programs = [Writer(seed, number).program() for number, seed in enumerate(seeds)]
    before = module_of(programs)
    after = repaired(harness, folder / "generated.py", before)
    TALLY.programs += len(programs)
    found = differences(programs, before, after)
    note()
    shown = "\n\n".join(f"{words}\n{programs[int(number)].text}" for number, words in found.items())
    assert not found, f"{shown}\n\nafter the fixes:\n{after}"


def note() -> None:
    """Say how far it has come, where a long run is to be followed."""
    if "GRAPHBREAK_FIX_TALLY" in os.environ:
        Path(os.environ["GRAPHBREAK_FIX_TALLY"]).write_text(f"{TALLY}\n", encoding="utf-8")


def test_safe_fixes_change_nothing(harness: Harness, tmp_path: Path) -> None:
    check_batch(harness, tmp_path)
    print(f"\n{TALLY.programs} programs, {TALLY.breaks} breaks, applied {dict(TALLY.applied)}, refused {TALLY.refused}")
    assert TALLY.programs >= BATCHES * BATCH
    assert sum(TALLY.applied.values()) >= TALLY.programs // 8, "the generator makes too few breaks that can be fixed"


def test_a_wrong_fix_would_be_seen() -> None:
    program = Program(0, "def f0(x, y):\n    return x * 2\n", "f0")
    before = module_of([program])
    for wrong in ("x * 3", "x.double() * 2", "x.detach() * 2", "x.mul_(2)", "(x * 2, 1)", "x * 2 + print(1)"):
        assert differences([program], before, before.replace("return x * 2", f"return x * 2 if x.equal(inputs(0, 0)[0]) else {wrong}"))
    assert not differences([program], before, before.replace("x * 2", "2 * x"))


def test_what_is_kept_for_the_next_call_is_compared() -> None:
    text = "kept1 = torch.zeros(3, 4)\n\n\ndef f1(x, y):\n    global kept1\n    if x.sum() > 0:\n        kept1 = x * 2\n    return x\n"
    before = module_of([Program(1, text, "f1")])
    after = before.replace("if x.sum() > 0:", "if x.sum() > 0 or not x.equal(inputs(1, 0)[0]):")
    assert differences([Program(1, text, "f1", "(kept1,)")], before, after)
    assert not differences([Program(1, text, "f1")], before, after)


def test_slopes_at_infinities_are_compared_where_the_program_asks_for_these() -> None:
    text = "def f1(x, y):\n    if torch.isfinite(x).all():\n        x = x * x\n    return x\n"
    before, chosen = module_of([Program(1, text, "f1")]), "    x = torch.where(torch.isfinite(x).all(), x * x, x)\n"
    after = before.replace("    if torch.isfinite(x).all():\n        x = x * x\n", chosen)
    assert differences([Program(1, text, "f1", limits=True)], before, after)
    assert not differences([Program(1, text, "f1")], before, after)
