"""Prints both figures and every miss with its reason, and writes RESULTS.md.

    python -m benchmarks.reach [--part seen|held-out] [--only WORDS] [--python INTERPRETER] [--keep FILE]

RESULTS.md is written only when everything was run. The exit status is 1 where fewer are traced, or show the same breaks, than is asked for.
With `--keep` what is measured goes to a file, and what is there already is not measured again, so that a run can be made in parts.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from graphbreak.tracer.engine import Engine

from .corpus import LEFT_OUT, Entry, entries
from .measure import Measured, from_json, measure

LEAST_TRACED, LEAST_SAME = 90.0, 95.0
"""What is asked for, in percent: of all programs, and of those that are traced."""
ON_FAKE_TENSORS = (
    "Tries are made on fake tensors first only where they are dear (more than 3 million parameters, or a try that took 0.2 s).",
    "Measured both ways on these programs, where all that differed was this: with every try on fake tensors first, 83 of the 88",
    "were traced and not 84 (one asked its tensors for NumPy arrays, which now counts as no failure), and guessing took 3.2 times",
    "the processor time (median of the programs; longer in each of them), 5.4 s in place of 1.7 s for all: operations on small",
    "tensors cost less than what fake ones need. As it is now 84 are traced, in 0.96 times the time of real tensors only, which is",
    "the same. Of three large models (a VGG, a GPT, seven layers 4096 wide: 115 to 163 million parameters) real tensors only found",
    "inputs for none within the 3 s in the one run and for two in another, the machine being busy with other things; on fake",
    "tensors first all three are found each time, in 2.1, 2.7 and 1.1 s. What works on fake tensors counts only once it has worked",
    "on real ones.",
)
"""Why not everything is tried on fake tensors first; measured once, by exchanging that in the search."""
RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reach", description="Traced without any call, and with the same breaks.")
    parser.add_argument("--part", choices=("seen", "held-out"))
    parser.add_argument("--only", default="", help="programs whose names have this in them")
    parser.add_argument("--python", help="the interpreter to trace with")
    parser.add_argument("--keep", type=Path, help="a file for what is measured, and with what was")
    options = parser.parse_args()
    chosen = [
        entry
        for entry in entries()
        if options.only in entry.name and (options.part is None or entry.held_out == (options.part == "held-out"))
    ]
    found = asyncio.run(_all(chosen, options.python, options.keep))
    print("\n".join(summary(found)))
    if len(found) == len(entries()):
        RESULTS.write_text("\n".join(page(found)) + "\n", encoding="utf-8")
    raise SystemExit(1 if is_short(found) else 0)


async def _all(chosen: Sequence[Entry], interpreter: str | None, keep: Path | None) -> list[Measured]:
    by_name = {entry.name: entry for entry in entries()}
    lines = keep.read_text(encoding="utf-8").splitlines() if keep is not None and keep.exists() else []
    known = {found.entry.name: found for found in (from_json(line, by_name) for line in lines)}
    engine = Engine()
    try:
        for entry in chosen:
            if entry.name not in known:
                known[entry.name] = found = await measure(engine, entry, interpreter)
                print(_line(found), flush=True)
                if keep is not None:
                    with keep.open("a", encoding="utf-8") as file:
                        file.write(found.as_json() + "\n")
    finally:
        await engine.close()
    return [known[entry.name] for entry in chosen]


def is_short(found: Sequence[Measured]) -> bool:
    """Whether fewer were traced, or fewer of those show the same breaks, than is asked for."""
    traced = [one for one in found if one.traced]
    same = [one for one in traced if one.same]
    return 100 * len(traced) < LEAST_TRACED * len(found) or 100 * len(same) < LEAST_SAME * len(traced) or not traced


def _line(one: Measured) -> str:
    word = "miss" if not one.traced else "same" if one.same else "DIFF"
    return f"{word}  {one.entry.name}  {'; '.join(one.expressions)}"


def summary(found: Sequence[Measured]) -> list[str]:
    """Both figures, over all and over the part that was held out, and every miss."""
    lines = []
    for name, part in (("all", found), ("held out", [one for one in found if one.entry.held_out])):
        traced = [one for one in part if one.traced]
        same = [one for one in traced if one.same]
        lines.append(
            f"{name}: {len(traced)} of {len(part)} traced without any call ({_share(traced, part)}); "
            f"{len(same)} of {len(traced)} with the same breaks as with true inputs ({_share(same, traced)})"
        )
    for one in found:
        lines += [f"- not traced: {one.entry.name}: {reason}" for reason in one.missed]
        if one.traced and not one.same:
            lines += [f"- other breaks: {one.entry.name}: {difference}" for difference in _differences(one)]
    return lines


def _differences(one: Measured) -> list[str]:
    lost = [f"not shown by the guess: {file}:{line} {kind}" for file, line, _, kind in sorted(one.lost)]
    return lost + [f"shown only by the guess: {file}:{line} {kind}" for file, line, _, kind in sorted(one.extra)]


def _share(part: Sequence[object], whole: Sequence[object]) -> str:
    return f"{100 * len(part) / len(whole):.1f} %" if whole else "none"


def page(found: Sequence[Measured]) -> list[str]:
    """RESULTS.md."""
    held = sum(one.entry.held_out for one in found)
    given = sum(one.entry.name.startswith("given: ") for one in found)
    words = (
        f"Written by `make bench-reach`. {len(found)} programs with marked functions and modules that nothing calls: {given} are the",
        "programs of `tests/parity/cases` without their calls, the others were written in the style of public repositories before",
        f"anything was tuned. {held} were held out: they were not looked at before these figures.",
    )
    return [
        "# Reach of guessed inputs",
        "",
        *words,
        "",
        f"Asked for: {LEAST_TRACED:g} % traced, {LEAST_SAME:g} % of those with the same breaks.",
        "",
        *(line if line.startswith("- ") else f"- **{line.replace(': ', '**: ', 1)}" for line in summary(found)),
        "",
        "Left out, since their own programs show nothing to compare with:",
        "",
        *(f"- {name}: {why}." for name, why in LEFT_OUT.items()),
        "",
        *ON_FAKE_TENSORS,
        "",
        "| program | held out | traced | same breaks | call |",
        "| --- | --- | --- | --- | --- |",
        *(_row(one) for one in found),
    ]


def _row(one: Measured) -> str:
    calls = "; ".join(f"`{expression}`" for expression in one.expressions).replace("|", "\\|")
    return f"| {one.entry.name} | {_word(one.entry.held_out)} | {_word(one.traced)} | {_word(one.traced and one.same)} | {calls} |"


def _word(value: bool) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    main()
