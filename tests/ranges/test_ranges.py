"""The break sites of `sites.md`: each is shown at exactly its expression; and without columns at it, or at the statement around it.

What another torch than that of `.venv` reports differently is compared with that torch's own trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from graphbreak.core.findings import Kind, Report
from graphbreak.tracer.engine import Engine
from graphbreak.tracer.prepared import Ran
from graphbreak.tracer.rights import Rights
from graphbreak.worker.protocol import BreakSeen, Job, Message, Place
from harness import INTERPRETER, Harness
from parity.oracle import ask
from ranges.sites import Mark, Site, all_sites
from versions import at_home, has_columns, label

SITES = all_sites()
LEAST = 60
LEAST_EXACT_WITHOUT_COLUMNS = 0.85
NAMED_DEEPER = ("Generator expression",)
"""Sites where Python 3.10 has a frame more, inside the expression, than later ones."""
_SHOWN = (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED, Kind.CALLER)

every_site = pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)


class Replaying(Engine):
    """Traces each program once; told to, gives out what it heard again with the columns taken away, as Python 3.10 has none."""

    def __init__(self, fork: bool | None = None) -> None:
        super().__init__(fork)
        self.columns = True
        self._heard: dict[tuple[str, bool], tuple[list[Message], Ran]] = {}

    async def run(self, job: Job, interpreter: str, rights: Rights, timeout: float, on_message: Callable[[Message], None]) -> Ran:
        key = job.text, job.honour_fullgraph
        if key not in self._heard:
            heard: list[Message] = []
            self._heard[key] = heard, await super().run(job, interpreter, rights, timeout, heard.append)
        messages, end = self._heard[key]
        for message in messages:
            on_message(message if self.columns else without_columns(message))
        return end


def without_columns(message: Message) -> Message:
    if not isinstance(message, BreakSeen):
        return message
    return replace(message, above=[_without(place) for place in message.above], frames=[_without(place) for place in message.frames])


def _without(place: Place) -> Place:
    return replace(place, end_line=None, column=None, end_column=None)


@pytest.fixture(scope="module")
def engine() -> Iterator[tuple[Harness, Replaying]]:
    harness = Harness(engine=Replaying)
    assert isinstance(harness.engine, Replaying)
    yield harness, harness.engine
    harness.close()


Analyse = Callable[[Site, bool], Report]


@pytest.fixture(scope="module")
def analyse(engine: tuple[Harness, Replaying], tmp_path_factory: pytest.TempPathFactory) -> Analyse:
    """The report of a site, with columns or without."""
    harness, replaying = engine
    folder = tmp_path_factory.mktemp("sites").resolve()

    def report(site: Site, columns: bool) -> Report:
        path = folder / f"site{SITES.index(site)}" / "site.py"
        replaying.columns = columns
        return harness.write_and_analyse(path, site.text)

    return report


def marks(report: Report, site: Site) -> list[Mark]:
    """What a report shows in the file itself, callers only where the site has one."""
    source = report.sources[report.path]
    shown = [found for found in report.diagnostics if found.kind in _SHOWN and (site.compares_callers or found.kind is not Kind.CALLER)]
    return sorted(Mark(source.offset(found.span.start), source.offset(found.span.end), found.code, found.kind.value) for found in shown)


def expected(site: Site, found: list[Mark]) -> list[Mark]:
    """What the table has. Whether a break can be resumed, or the whole function is lost, depends on Python and torch: elsewhere than where
    the table was made a kind that is found counts in place of the one that is written."""
    if at_home():
        return sorted(site.marks)
    kinds = {(mark.start, mark.end, mark.code): mark.kind for mark in found if mark.kind in ("break", "skipped")}
    return sorted(replace(mark, kind=kinds.get((mark.start, mark.end, mark.code), mark.kind)) for mark in site.marks)


def as_this_torch_has_it(site: Site, report: Report, folder: Path) -> bool:
    """Whether a report differs from the table because another torch breaks elsewhere: then its lines are those of that torch's trace."""
    if at_home():
        return False
    program = folder / "site.py"
    program.write_text(site.text, encoding="utf-8")
    verdict = ask(INTERPRETER, program, folder, 120)
    mine = {(found.stack[-1].line + 1, found.gb_type) for found in report.diagnostics if found.kind in _SHOWN[:3]}
    return mine == {(cause.inner_line, cause.gb_type) for cause in verdict.causes}


def test_the_table_is_large_enough() -> None:
    assert len({site.name for site in SITES}) == len(SITES) >= LEAST


@every_site
def test_range(analyse: Analyse, tmp_path: Path, site: Site) -> None:
    if not has_columns():
        pytest.skip("the workers' Python has no columns")
    report = analyse(site, True)
    found = marks(report, site)
    if found != expected(site, found) and as_this_torch_has_it(site, report, tmp_path.resolve()):
        pytest.skip(f"another break in {label()}, as its own trace says: {site.shown(found)}")
    assert site.shown(found) == site.shown(expected(site, found))


@every_site
def test_range_without_columns(analyse: Analyse, tmp_path: Path, site: Site) -> None:
    report = analyse(site, False)
    found = marks(report, site)
    missing = [mark for mark in site.marks if not any(_stands_for(other, mark, site) for other in found)]
    invented = [other for other in found if not any(_stands_for(other, mark, site) for mark in site.marks)]
    if (missing or invented) and as_this_torch_has_it(site, report, tmp_path.resolve()):
        pytest.skip(f"another break in {label()}, as its own trace says: {site.shown(found)}")
    assert not missing, site.shown(found)
    assert not invented, site.shown(found)


def _stands_for(found: Mark, mark: Mark, site: Site) -> bool:
    alike = found.kind == mark.kind or (not at_home() and {found.kind, mark.kind} == {"break", "skipped"})
    if found.code != mark.code or not alike:
        return False
    inside = site.name in NAMED_DEEPER and not has_columns() and mark.start <= found.start and found.end <= mark.end
    return inside or (found.start <= mark.start and mark.end <= found.end)


def test_most_ranges_are_exact_without_columns(analyse: Analyse) -> None:
    wanted = [(site, mark) for site in SITES for mark in site.marks]
    exact = [(site, mark) for site, mark in wanted if _place(mark) in map(_place, marks(analyse(site, False), site))]
    statements = sorted({site.name for site, mark in wanted if (site, mark) not in exact})
    print(f"without columns: {len(exact)} of {len(wanted)} exact; the statement in its place: {', '.join(statements)}")
    assert len(exact) >= LEAST_EXACT_WITHOUT_COLUMNS * len(wanted)


def _place(mark: Mark) -> tuple[int, int, str]:
    return mark.start, mark.end, mark.code
