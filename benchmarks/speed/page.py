"""RESULTS.md: the figures, where a warm trace's time goes, how it grows, and what is left to gain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .plot import Curve, plot
from .rows import Row, seconds

_FORMS = {"x": "{:.2f} ×", "ms": "{:.1f} ms", "MB": "{:.0f} MB", "%": "{:.2f} %"}


def page(rows: Sequence[Row], machine: str, data: Mapping[str, object], pictures: Path, took: float, complete: bool) -> str:
    """The whole file; the plots are written to `pictures`. `data` is what the figures left: their growth and their profile."""
    state = "" if complete else " **These figures are not complete: the run goes on, or was of some figures only.**"
    lines = [
        "# Speed",
        "",
        f"Written by `make bench` in {took / 60:.0f} minutes.{state} Every ratio was measured in one run, ours and what it is compared",
        "with in turns, and is the median of its pairs; the spread is from the first to the third quartile (of a p99: median and maximum).",
        "The server is the real one, over stdio, with real torch.",
        "",
        f"Machine: {machine}.",
        "",
        "| figure | measured | at most | | n | spread | beside |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *map(_line, rows),
        "",
        *_profile(data.get("profile")),
        *_growth(data, pictures),
        *_left(rows, data.get("profile")),
    ]
    return "\n".join(lines).rstrip() + "\n"


def line_of(row: Row) -> str:
    """A row for the terminal."""
    if row.measured is None:
        return f"FAILED  {row.figure}: {row.problem}"
    limit = "" if row.limit is None else f" (at most {_form(row, row.limit)})"
    return f"{row.verdict or '-':7} {row.figure}: {_form(row, row.measured)}{limit}; n {row.n}; {row.beside}"


def _form(row: Row, value: float) -> str:
    if row.unit == "x" and value < 1:
        return f"1/{1 / value:.1f}" if value > 0 else "0"
    return _FORMS[row.unit].format(value)


def _line(row: Row) -> str:
    if row.measured is None:
        return f"| {row.figure} | none | {'' if row.limit is None else _form(row, row.limit)} | FAILED | | | {row.problem} |"
    limit = "" if row.limit is None else _form(row, row.limit)
    spread = f"{_form(row, row.low)} to {_form(row, row.high)}" if row.high else ""
    return f"| {row.figure} | {_form(row, row.measured)} | {limit} | {row.verdict} | {row.n} | {spread} | {row.beside} |"


def _profile(data: object) -> Iterator[str]:
    if not isinstance(data, dict):
        return
    medians: dict[str, list[float]] = data["medians"]
    yield from ("## Where the time of a warm analysis goes", "")
    yield "| part | " + " | ".join(medians) + " |"
    yield "| --- |" + " --- |" * len(medians)
    for number, part in enumerate(data["parts"]):
        yield f"| {part} | " + " | ".join(_share(one, number) for one in medians.values()) + " |"
    yield ""


def _share(parts: Sequence[float], number: int) -> str:
    return f"{seconds(parts[number])} ({100 * parts[number] / sum(parts):.0f} %)"


def _growth(data: Mapping[str, object], pictures: Path) -> Iterator[str]:
    yield from ("## Growth", "")
    for name in ("operations", "breaks"):
        points = data.get(f"growth-{name}")
        if not isinstance(points, list):
            continue
        yield from (f"| {name} | save → published | warm trace without its measuring | ours beside Dynamo |", "| --- | --- | --- | --- |")
        yield from (
            f"| {size} | {seconds(save)} | {seconds(trace)} | {seconds(max(save - trace, 0))} |" for size, save, trace, *_ in points
        )
        pictures.mkdir(parents=True, exist_ok=True)
        picture = pictures / f"growth-{name}.svg"
        curves = (
            Curve("save → published", "#c0392b", [(size, save) for size, save, *_ in points]),
            Curve("warm trace", "#2c6fbb", [(size, trace) for size, _, trace, *_ in points]),
            Curve("the difference", "#7f8c8d", [(size, max(save - trace, 0)) for size, save, trace, *_ in points]),
        )
        picture.write_text(plot(f"Time of a trace by its {name}", name, "seconds", curves), encoding="utf-8")
        yield from ("", f"![Time by {name}]({pictures.parent.name}/{pictures.name}/{picture.name})", "")


def _left(rows: Sequence[Row], profile: object) -> Iterator[str]:
    yield from ("## What is left to gain", "")
    missed = [row for row in rows if row.verdict in ("MISSED", "FAILED")]
    if not missed:
        yield f"Each of the {sum(row.limit is not None for row in rows)} figures that have a limit keeps it."
    for row in missed:
        if row.measured is None or row.limit is None:
            yield f"- {row.figure}: there is no figure: {row.problem}."
        else:
            yield f"- {row.figure}: {_form(row, row.measured)} where {_form(row, row.limit)} is the limit ({row.beside})."
    yield from _not_held(rows, profile)
    yield from ("", NOTES)


def _not_held(rows: Sequence[Row], profile: object) -> Iterator[str]:
    """What has no limit because it would miss the one that is for something earlier."""
    for row in rows:
        if row.beyond is None or row.measured is None:
            continue
        measured, asked = _form(row, row.measured), _form(row, row.beyond)
        yield from ("", f"{row.figure}: this has no limit, and at {measured} does not reach {asked}, which is")
        yield "asked of what is published first alone: its break."
        if isinstance(profile, dict):
            at = next((number for number, part in enumerate(profile["parts"]) if part.startswith("Dynamo")), None)
            name, parts = next(reversed(profile["medians"].items()))
            if at is not None:
                share = 100 * parts[at] / sum(parts)
                yield f"Dynamo by itself takes {share:.0f} % of an analysis ({name}), so nothing beside it can bring that."


NOTES = """\
Beyond the limits, in the order of what they would bring:

- Nearly all of a large trace is Dynamo's own symbolic execution, and most breaks restart their frame, so that what stands before them is
  executed again. Tracing less (the smallest function that holds the edit) is the only thing that shortens it; the profile above says how
  little the rest can bring.
  The tiny BART shows what that means: its warm trace alone takes about a third of the cold command, and the end of its trace is never
  sooner; its break is published half-way, when the first of the two attempts has come to it.
- A warm trace is PyTorch's as it is. Half of what it takes for a small frame is the measuring of its guards for a log, with the processor's
  caches flushed before; our workers leave that out, which is why a save can take less than a warm trace.
- A forked process pays the kernel for each page that it writes to, and for its end. Many small files on the command line show it most:
  there a quarter of the processor time is the kernel's.
- For a small function what remains besides is the running of the file and two crossings of the pipe."""


def load(folder: Path) -> dict[str, object]:
    """What the figures left in a folder, by the names of their files."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
