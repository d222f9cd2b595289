"""Stacks as plain places: frames of the running interpreter and of tracebacks, with columns where the interpreter has them."""

from __future__ import annotations

import itertools
import os
import sys
import types
from collections.abc import Iterator

from .protocol import Place, plain_name

FOLDER = os.path.dirname(os.path.abspath(__file__))


def is_resumed(name: str) -> bool:
    """Whether the name is that of a part after a break."""
    return plain_name(name) != name


def place_of(code: types.CodeType, instruction: int, line: int | None) -> Place:
    """The place of one instruction (by its index in bytes, -1 for none) of a code object."""
    end_line = column = end_column = None
    if sys.version_info >= (3, 11) and instruction >= 0:
        found = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
        if found is not None and found[0] is not None:
            line, end_line, column, end_column = found[0], found[1], found[2], found[3]
    return Place(code.co_filename, line or code.co_firstlineno, code.co_name, end_line, column, end_column, code.co_firstlineno)


def live_frames(start: types.FrameType | None) -> list[types.FrameType]:
    """The frames that led to `start`, outermost first, without the worker's own."""
    frames = []
    while start is not None:
        if not is_ours(start.f_code.co_filename):
            frames.append(start)
        start = start.f_back
    frames.reverse()
    return frames


def is_ours(file: str) -> bool:
    """Whether a file belongs to the worker itself."""
    return file.startswith(FOLDER)


def frame_place(frame: types.FrameType) -> Place:
    """Where a live frame stands now."""
    return place_of(frame.f_code, frame.f_lasti, frame.f_lineno)


def traceback_places(error: BaseException) -> list[Place]:
    """The frames of a raised exception, outermost first, without the worker's own."""
    places = []
    step = error.__traceback__
    while step is not None:
        if not is_ours(step.tb_frame.f_code.co_filename):
            places.append(place_of(step.tb_frame.f_code, step.tb_lasti, step.tb_lineno))
        step = step.tb_next
    return places


def without_ours(step: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback from its first frame that is not the worker's own."""
    while step is not None and is_ours(step.tb_frame.f_code.co_filename):
        step = step.tb_next
    return step


def without_resumed_parents(places: list[Place]) -> list[Place]:
    """The stack with each function once: a part after a break is called by the part before it, which stands at the break.

    Only a resumed part swallows its parent, so that two methods of one name that call each other both stay.
    """
    return list(_merged(places))


def _merged(places: list[Place]) -> Iterator[Place]:
    for place, inner in itertools.zip_longest(places, places[1:]):
        if (
            inner is not None
            and is_resumed(inner.function)
            and plain_name(place.function) == plain_name(inner.function)
            and place.file == inner.file
        ):
            continue
        yield Place(place.file, place.line, plain_name(place.function), place.end_line, place.column, place.end_column, place.first_line)
