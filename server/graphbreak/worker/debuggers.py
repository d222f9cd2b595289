"""A traced program has nobody to answer a debugger: `breakpoint()` is passed over, and of others it is said why they quit."""

from __future__ import annotations

import sys
from typing import Any


def pass_over(notes: list[str]) -> None:
    """Let the program go on at its breakpoints; a sentence about each goes to the notes."""

    def note(what: str) -> None:
        if what not in notes:
            notes.append(what)

    def passed(*_: object, **__: object) -> None:
        frame = sys._getframe(1)
        note(f"`breakpoint()` in {frame.f_code.co_filename}:{frame.f_lineno} was passed over: a traced program has nobody to answer it")

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "pdb.Pdb":
            note("the program started a debugger (pdb), which quits at its first question: a traced program has nobody to answer it")

    sys.breakpointhook = passed
    sys.addaudithook(hear)
