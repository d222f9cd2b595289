"""A plot as SVG, written by hand: lines on two linear axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 300, 64, 20, 44, 46


@dataclass(frozen=True)
class Curve:
    """One line: its name, its colour, and its points."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


def plot(title: str, across: str, up: str, curves: Sequence[Curve]) -> str:
    """An SVG file with the curves, from zero on both axes."""
    most = [max((point[axis] for curve in curves for point in curve.points), default=1.0) or 1.0 for axis in (0, 1)]
    ticks = [_ticks(one) for one in most]
    ends = [max(ticks[axis][-1], most[axis]) for axis in (0, 1)]

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_LEFT + x / ends[0] * (_WIDTH - _LEFT - _RIGHT), 1),
            round(_HEIGHT - _BOTTOM - y / ends[1] * (_HEIGHT - _TOP - _BOTTOM), 1),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 16, title, bold=True),
    ]
    for value in ticks[0]:
        x, y = place(value, 0)
        parts += [_line(x, y, x, _TOP, "#e4e4e4"), _text(x, y + 15, f"{value:g}", "middle")]
    for value in ticks[1]:
        x, y = place(0, value)
        parts += [_line(x, y, _WIDTH - _RIGHT, y, "#e4e4e4"), _text(x - 6, y + 4, f"{value:g}", "end")]
    parts += [_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, across, "middle"), _text(_LEFT - 6, _TOP - 8, up, "end")]
    for number, curve in enumerate(curves):
        parts.append(_curve(curve, [place(*point) for point in curve.points]))
        parts.append(f'<rect x="{_LEFT + 10 + 150 * number}" y="24" width="10" height="10" fill="{curve.colour}"/>')
        parts.append(_text(_LEFT + 25 + 150 * number, 33, curve.name))
    return "\n".join([*parts, "</svg>", ""])


def _ticks(most: float) -> list[float]:
    step = next(base * 10.0**power for power in range(-4, 9) for base in (1, 2, 5) if most / (base * 10.0**power) <= 6)
    return [round(step * number, 10) for number in range(int(most / step - 1e-9) + 2)]


def _curve(curve: Curve, places: Sequence[tuple[float, float]]) -> str:
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3"/>' for x, y in places)
    path = " ".join(f"{x},{y}" for x, y in places)
    return f'<g fill="{curve.colour}"><polyline points="{path}" fill="none" stroke="{curve.colour}" stroke-width="2"/>{dots}</g>'


def _line(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}"/>'


def _text(x: float, y: float, words: str, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{weight} fill="#222">{escape(words)}</text>'
