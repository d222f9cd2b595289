"""How many graph breaks the fixes remove: `check --fix` on given programs, on the Markdown cases, and on vendored models.

    python benchmarks/fixes/run.py [--groups cases,markdown,models] [--only NAME,...] [--out FOLDER] [--results FILE]

Each program is copied into an empty folder, analysed, and fixed: first with safe fixes only, then also with those that change
behaviour. What is reached is compared with the original as a whole. A line per program goes to `programs.jsonl` in the folder that
`--out` names, and a program that has one there is not run again; the tables are made of all lines. A program that lost its compilation,
or from whose untouched text fewer operations are captured, counts as one with nothing removed. The exit status is 1 where a goal is
missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "tests" / "parity"), str(ROOT / "server")]

import models  # noqa: E402
from programs import examples, given_cases, markdown_programs  # noqa: E402

from graphbreak.core.differences import edits_between  # noqa: E402
from graphbreak.core.findings import Kind, Report, Safety  # noqa: E402
from graphbreak.core.fixall import Choice, State, changed_texts  # noqa: E402
from graphbreak.core.judging import causes, lost_function, lost_operations  # noqa: E402
from graphbreak.core.requests import AnalysisRequest, Settings  # noqa: E402
from graphbreak.core.trials import DYNAMO_ALONE, can_be_tried, compare_runs  # noqa: E402
from graphbreak.tracer.engine import Engine  # noqa: E402
from graphbreak.tracer.files import read_source  # noqa: E402

GROUPS = ("cases", "markdown", "models")
_BROKEN = (Kind.BREAK, Kind.SKIPPED)
_CONSEQUENCES = "consequences of other breaks (no family is for them)"
_FAMILIES = {
    _CONSEQUENCES: ("tp_iternext", "observed exception", "torch._check"),
    "boundary": ("torch.compiler.disable", "graph_break()"),
    "branches on data": ("data-dependent branching", "data-dependent assertion", "generic_jump"),
    "scalars": (".item()", "tolist", "data dependent operator"),
    "shapes from data": ("dynamic shape", "dynamic output"),
    "output": ("logger",),
}


@dataclass
class Outcome:
    """What became of one program."""

    group: str
    name: str
    seconds: float = 0.0
    before: Counter[str] = field(default_factory=Counter)
    safe: Counter[str] = field(default_factory=Counter)
    unsafe: Counter[str] = field(default_factory=Counter)
    ops: tuple[int, int, int] = (0, 0, 0)
    same: bool | None = None
    applied: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    problem: str = ""
    lost: int = 0
    """How many operations fewer are captured of the text that no fix touched."""

    @property
    def failed(self) -> bool:
        """Whether what was reached is none, since less is compiled."""
        return bool(self.problem) or self.lost > 0


def programs(groups: list[str], folder: Path) -> Iterator[tuple[str, str, Path, float]]:
    """Group, name, entry file and time limit of each program, written under a folder."""
    if "cases" in groups:
        for program in (*given_cases(), *examples()):
            yield "cases", program.name, program.write(folder / "cases" / program.name.replace("/", "_"), False), program.timeout
    if "markdown" in groups:
        for number, program in enumerate(markdown_programs()):
            yield "markdown", program.name, program.write(folder / "markdown" / str(number), False), program.timeout
    if "models" in groups:
        for vendored in models.workspaces(folder / "models"):
            yield "models", vendored.name, vendored.entry, 180.0


async def fixed(engine: Engine, group: str, name: str, entry: Path, timeout: float) -> Outcome:
    """Fix one program as far as it goes."""
    started = time.monotonic()
    source = read_source(str(entry))
    assert source is not None
    folder = str(entry.parent)
    request = AnalysisRequest(source, folder, (folder,), Settings(interpreter=sys.executable, timeout=timeout), run_unmarked=True)
    report = await engine.analyse(request, lambda sentence: None)
    outcome = Outcome(group, name, before=_reasons(report))
    if outcome.before:
        work = engine.fix_all(request, report, Choice(Safety.CHANGES_BEHAVIOUR))
        last = await work.run()
        safe = work.best_at[Safety.SAFE]
        outcome.safe, outcome.unsafe = _reasons(safe.report), _reasons(last.report)
        outcome.ops = (_ops(report), _ops(safe.report), _ops(last.report))
        outcome.problem = lost_function(report, last.report)
        outcome.lost = _lost(work.original, last)
        outcome.applied = [f"{one.diagnostic.code} {one.fix.title} ({one.fix.safety.label})" for one in last.applied]
        outcome.refused = list(_refusals(work.shown(last)))
        outcome.same = await _same(engine, request, report, last)
    outcome.seconds = round(time.monotonic() - started, 1)
    return outcome


def _lost(first: State, last: State) -> int:
    changes = {path: edits_between(old, new) for path, (old, new) in changed_texts(first, last).items()}
    applied = {one.fix.title for one in last.applied}
    offered = (fix for found in first.report.diagnostics for fix in found.fixes if fix.title in applied)
    return max(lost_operations(first.report, last.report, changes, (place for fix in offered for place in fix.freed)), 0)


async def _same(engine: Engine, request: AnalysisRequest, report: Report, last: State) -> bool | None:
    """Whether the values are those of the original; nothing was changed: they are."""
    if not last.applied:
        return True
    return (await compare_runs(report.jobs, last.report.jobs, DYNAMO_ALONE, lambda job: engine.compare(request, job))).values


def _refusals(report: Report) -> Iterator[str]:
    """Why what is left has no fix, or what its fixes failed on."""
    for found in causes(report, _BROKEN):
        tried = [f"{fix.title}: {fix.verified.reason}" for fix in found.fixes if fix.verified is not None and fix.verified.reason]
        open_ones = [fix.title for fix in found.fixes if can_be_tried(found, fix) and fix.family != "disable"]
        yield f"{found.code} {found.gb_type} | " + ("; ".join(tried) or ("untried: " + "; ".join(open_ones) if open_ones else "no fix"))


def _reasons(report: Report) -> Counter[str]:
    """How many causes there are, by code and type."""
    return Counter(f"{found.code} {found.gb_type}" for found in causes(report, _BROKEN))


def _ops(report: Report) -> int:
    return sum(row.ops for row in report.functions)


def family(reason: str) -> str:
    """The family of fixes that a type of break belongs to; a `print` and a clock are of one type with other calls."""
    words = reason.lower()
    return next((name for name, marks in _FAMILIES.items() if any(mark in words for mark in marks)), "output and Python")


@dataclass
class Goal:
    """What has to be reached: a share, or a number of programs."""

    name: str
    least: float
    reached: float
    share: bool = True

    @property
    def verdict(self) -> str:
        """`ok` or `MISSED`, of the figure itself and not of the rounded one that is printed."""
        return "ok" if self.reached >= self.least else "MISSED"

    def words(self, value: float) -> str:
        """A value of it as it is printed."""
        return f"{100 * value:.1f} %" if self.share else f"{value:.0f}"


def goals(outcomes: list[Outcome]) -> list[Goal]:
    """The goals, with what was reached over all programs that have breaks."""
    own = [one for one in outcomes if one.before]
    total = sum(one.before.total() for one in own)
    removed = {
        level: sum(one.before.total() - getattr(one, level).total() for one in own if not one.failed) for level in ("safe", "unsafe")
    }
    named, gone = _named(outcomes)
    return [
        Goal("causes that a family of fixes is for, removed with `--unsafe-fixes`", 0.85, gone["unsafe"] / max(named, 1)),
        Goal("all causes, removed with `--unsafe-fixes`", 0.70, removed["unsafe"] / max(total, 1)),
        Goal("all causes, removed by safe fixes alone", 0.40, removed["safe"] / max(total, 1)),
        Goal("programs whose values are equal", 1.0, sum(one.same is True for one in own) / max(len(own), 1)),
        Goal("vendored models with breaks", 12, sum(one.group == "models" for one in own), share=False),
    ]


def _named(outcomes: list[Outcome]) -> tuple[int, dict[str, int]]:
    """How many causes a family of fixes is for, and how many of these each level removes."""
    named = [(one, reason, count) for one in outcomes for reason, count in one.before.items() if family(reason) != _CONSEQUENCES]
    gone = {level: sum(count - _left(one, reason, level) for one, reason, count in named) for level in ("safe", "unsafe")}
    return sum(count for *_, count in named), gone


def results(outcomes: list[Outcome]) -> str:
    """The tables, as Markdown."""
    lines = [
        "# Fixes",
        "",
        "Made by `make bench-fixes`. Causes are breaks and skipped functions; what comes to light behind one that is gone counts as left.",
        "",
    ]
    lines += [
        "| programs | with breaks | causes | removed, safe only | with `--unsafe-fixes` | values equal | failed: less is compiled |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for group in (*GROUPS, "all"):
        own = [one for one in outcomes if one.before and group in (one.group, "all")]
        if not own:
            continue
        total = sum(one.before.total() for one in own)
        reached = [one for one in own if not one.failed]
        safe, unsafe = (sum(one.before.total() - getattr(one, level).total() for one in reached) for level in ("safe", "unsafe"))
        same, unknown = sum(one.same is True for one in own), sum(one.same is None for one in own)
        equal = f"{same} of {len(own)}" + (f" ({unknown} cannot be compared)" if unknown else "")
        fewer = len(own) - len(reached)
        count = sum(group in (one.group, "all") for one in outcomes)
        removed = f"{safe} ({_share(safe, total)}) | {unsafe} ({_share(unsafe, total)})"
        lines.append(f"| {group} ({count}) | {len(own)} | {total} | {removed} | {equal} | {fewer} |")
    counted, gone = _named(outcomes)
    shares = [f"{count} ({_share(count, counted)})" for count in gone.values()]
    lines += ["", "| goal | at least | reached | |", "| --- | --- | --- | --- |"]
    lines += [f"| {one.name} | {one.words(one.least)} | {one.words(one.reached)} | {one.verdict} |" for one in goals(outcomes)]
    lines += [
        "",
        f"Of the {counted} causes that a family of fixes is for, safe fixes alone remove {shares[0]}, `--unsafe-fixes` {shares[1]}.",
    ]
    lines += ["", "## By family", "", "| family | causes | removed, safe only | with `--unsafe-fixes` |", "| --- | --- | --- | --- |"]
    lines += _table(outcomes, family)
    lines += ["", "## By reason", "", "| reason | causes | removed, safe only | with `--unsafe-fixes` |", "| --- | --- | --- | --- |"]
    lines += _table(outcomes, lambda reason: reason)
    lines += [
        "",
        "## By program",
        "",
        "| program | causes | left, safe only | left with `--unsafe-fixes` | operations | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in outcomes:
        if one.before:
            counts = (one.before.total(), one.safe.total(), one.unsafe.total())
            lines.append(f"| {one.group}: {one.name} | {' | '.join(map(str, counts))} | {one.ops[0]} → {one.ops[2]} | {one.seconds:.0f} |")
    lines += ["", "## What is left, and why", ""]
    for one in outcomes:
        lines += [f"- {one.group}: {one.name}: {' '.join(refusal.split())[:300]}" for refusal in one.refused]
    return "\n".join(lines) + "\n"


def _left(one: Outcome, reason: str, level: str) -> int:
    """How many causes of a type of a program are left, at most as many as there were."""
    before = one.before[reason]
    return before if one.failed else min(before, getattr(one, level)[reason])


def _table(outcomes: list[Outcome], key: object) -> list[str]:
    assert callable(key)
    tables = [Counter[str]() for _ in range(3)]
    for one in outcomes:
        for table, reasons in zip(tables, (one.before, *((one.before,) * 2 if one.failed else (one.safe, one.unsafe)))):
            for reason, count in reasons.items():
                table[key(reason)] += count
    rows = []
    for reason in sorted({*tables[0], *tables[1], *tables[2]}, key=lambda reason: -tables[0][reason]):
        before, safe, unsafe = (table[reason] for table in tables)
        shares = (f"{gone} ({_share(gone, before)})" for gone in (before - safe, before - unsafe))
        rows.append(f"| {reason} | {before} | {' | '.join(shares)} |")
    return rows


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _read(file: Path) -> list[Outcome]:
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        raw = json.loads(line)
        counters = {key: Counter(raw.pop(key)) for key in ("before", "safe", "unsafe")}
        found.append(Outcome(**raw, **counters))
    return found


async def run(options: argparse.Namespace) -> int:
    """Run what has not been run, and write the tables: the exit status."""
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    log = out / "programs.jsonl"
    done = {(one.group, one.name) for one in _read(log)}
    only = set(options.only.split(",")) if options.only else set()
    engine = Engine()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for group, name, entry, timeout in programs(options.groups.split(","), Path(folder)):
                if (group, name) in done or (only and name not in only):
                    continue
                outcome = await fixed(engine, group, name, entry, timeout)
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(vars(outcome)) + "\n")
                left = f"{outcome.before.total()} → {outcome.safe.total()} → {outcome.unsafe.total()}"
                print(f"{group}: {name}: {left}, same: {outcome.same}, {outcome.seconds} s", flush=True)
                for line in (*outcome.applied, *(f"left: {refusal}" for refusal in outcome.refused)):
                    print(f"    {line}", flush=True)
    finally:
        await engine.close()
    outcomes = _read(log)
    text = results(outcomes)
    print(text)
    if options.results:
        Path(options.results).write_text(text, encoding="utf-8")
    for goal in goals(outcomes):
        print(f"{goal.verdict:7} {goal.name}: {goal.words(goal.reached)} (at least {goal.words(goal.least)})")
    return int(any(goal.verdict == "MISSED" for goal in goals(outcomes)))


def main() -> int:
    """The command line: the exit status, 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--only", default="", help="names of programs")
    parser.add_argument("--out", default=str(ROOT / "build" / "bench-fixes"))
    parser.add_argument("--results", default="", help="write the tables to this file too")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
