"""Draws curves as SVG: panels with axes, two in a row, and one legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 440, 270
# Of a panel: room for the numbers on the left, and the place of the axes in it.
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 18, 28, 46
_COLOURS = ("#1b6ca8", "#d1495b", "#2a9d4a", "#b8860b", "#6a4c93", "#555555", "#008b8b", "#c2185b")
_HEADER, _LINE = 34, 20
# The font is unknown: assume this width for a letter of the legend.
_LETTER = 7.5

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """Axes with a curve for each name of the legend, and dashed vertical lines at `marks`."""

    title: str
    across: str
    curves: Sequence[Curve]
    marks: Sequence[Sequence[float]] = ()


def draw(panels: Sequence[Panel], names: Sequence[str], title: str) -> str:
    """Return a picture of the panels; the n-th curve of each belongs to the n-th name."""
    bottom = _HEADER + (len(panels) + 1) // 2 * _HEIGHT
    legend, height = _legend(names, bottom + 12)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{height}"'
        f' viewBox="0 0 {2 * _WIDTH} {height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="15">{escape(title)}</text>',
    ]
    for place, panel in enumerate(panels):
        x, y = place % 2 * _WIDTH, _HEADER + place // 2 * _HEIGHT
        parts.append(f'<g transform="translate({x} {y})">{_panel(panel)}</g>')
    return "\n".join([*parts, *legend, "</svg>\n"])


def short(number: float) -> str:
    """Return a number in at most five characters, if it is below a quadrillion."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def _panel(panel: Panel) -> str:
    points = [point for curve in panel.curves for point in curve]
    across = max((x for x, _ in points), default=0.0) or 1.0
    highest = max((y for _, y in points), default=0.0) or 1.0
    up = math.ceil(highest / _step(highest) - 1e-9) * _step(highest)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + x / across * width, _TOP + height - y / up * height

    base = _TOP + height
    parts = [f'<text x="{_LEFT}" y="14" font-weight="bold">{escape(panel.title)}</text>']
    for value in ticks(up):
        y = place(0, value)[1]
        parts.append(f'<path d="M{_LEFT} {y:.1f}h{width}" stroke="#e4e4e4"/>')
        parts.append(_text(_LEFT - 6, y + 4, "end", short(value)))
    for value in ticks(across):
        x = place(value, 0)[0]
        parts.append(f'<path d="M{x:.1f} {base}v4" stroke="#999"/>')
        parts.append(_text(x, base + 17, "middle", short(value)))
    parts.append(_text(_LEFT + width / 2, base + 34, "middle", panel.across))
    parts.append(f'<path d="M{_LEFT} {_TOP}v{height}h{width}" fill="none" stroke="#999"/>')
    for number, marks in enumerate(panel.marks):
        for x, _ in (place(mark, 0) for mark in marks):
            style = f'stroke="{_colour(number)}" stroke-dasharray="3 3" stroke-opacity="0.6"'
            parts.append(f'<path d="M{x:.1f} {_TOP}v{height}" {style}/>')
    for number, curve in enumerate(panel.curves):
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in curve))
        style = f'fill="none" stroke="{_colour(number)}" stroke-width="2" stroke-linejoin="round"'
        parts.append(f'<polyline points="{line}" {style}/>')
    return "".join(parts)


def _legend(names: Sequence[str], top: int) -> tuple[list[str], int]:
    """Return the legend, as many names on a line as fit, and where it ends."""
    parts: list[str] = []
    x, y = float(_LEFT), top
    for place, name in enumerate(names):
        width = 36 + len(name) * _LETTER
        if x > _LEFT and x + width > 2 * _WIDTH:
            x, y = float(_LEFT), y + _LINE
        parts.append(
            f'<rect x="{x:.0f}" y="{y - 6}" width="16" height="4" fill="{_colour(place)}"/>'
        )
        parts.append(_text(x + 22, y, "start", name))
        x += width
    return parts, y + _LINE


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def ticks(end: float) -> list[float]:
    """Return round values from 0 to an end, to name on an axis."""
    step = _step(end)
    return [number * step for number in range(int(end / step + 1e-9) + 1)]


def _step(end: float) -> float:
    """Return a round step, three to six of them from 0 to the end."""
    power = 10.0 ** math.floor(math.log10(end / 5 * 1.0000001))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * 5 >= end * 0.999999)


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]
