"""Draws figures as SVG, in the colours of the page that they stand in.

Each mark has a tip, which browsers show. Colours are variables of CSS, so one picture
serves light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from rdfaspider.curves import short, ticks
from rdfaspider.report.model import Figure, Point

_WIDTH, _HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 12, 46
# Of horizontal bars: the height of one, the room for names and for numbers.
_BAR, _NAMES, _NUMBERS = 20, 170, 64
# Bars that are drawn; the CSV has all.
_SHOWN = 12
# The font is unknown: a name of more letters would leave its place.
_LETTERS = 26
_COLOURS = 6


def draw(figure: Figure) -> str:
    """Return a figure as an svg element."""
    if figure.kind == "bars":
        return _bars(figure)
    if figure.kind == "columns":
        return _columns(figure)
    return _plot(figure)


class _Axis(NamedTuple):
    """Where a value is drawn, and the values that are named."""

    place: Callable[[float], float]
    named: Sequence[float]


def _plot(figure: Figure) -> str:
    every = [point for points in figure.points for point in points]
    across = _axis([x for x, _ in every], _LEFT, _WIDTH - _RIGHT, figure.is_logarithmic)
    up = _axis([y for _, y in every], _HEIGHT - _BOTTOM, _TOP, figure.is_logarithmic)
    parts = _axes(figure, across, up)
    for number, (name, points) in enumerate(zip(figure.names, figure.points, strict=True)):
        if figure.kind == "lines":
            parts.append(_line(points, across, up, number, name))
        else:
            parts += [_dot(point, across, up, number, figure, name) for point in points]
    for number, line in enumerate(figure.fits):
        if line is None:
            continue
        begin, end = line
        (x, y), (to_x, to_y) = ((across.place(p[0]), up.place(p[1])) for p in (begin, end))
        parts.append(
            f'<path class="fit s{number % _COLOURS}" d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"/>'
        )
    return _svg(_WIDTH, _HEIGHT, figure, parts)


def _axis(values: Sequence[float], begin: float, end: float, is_logarithmic: bool) -> _Axis:
    highest = max(values, default=0.0) or 1.0
    if not is_logarithmic:
        named = ticks(highest)
        top = max(highest, named[-1])
        return _Axis(lambda value: begin + value / top * (end - begin), named)
    lowest = min((value for value in values if value > 0), default=1.0)
    low, high = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    high = max(high, low + 1)
    step = max(1, (high - low + 5) // 6)

    def place(value: float) -> float:
        return begin + (math.log10(max(value, 10.0**low)) - low) / (high - low) * (end - begin)

    return _Axis(place, [10.0**power for power in range(low, high + 1, step)])


def _axes(figure: Figure, across: _Axis, up: _Axis) -> list[str]:
    base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for value in up.named:
        y = up.place(value)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(_text(_LEFT - 6, y + 4, "end", short(value)))
    for value in across.named:
        x = across.place(value)
        parts.append(f'<path class="axis" d="M{x:.1f} {base}v4"/>')
        parts.append(_text(x, base + 17, "middle", short(value)))
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{base}H{right}"/>')
    parts.append(_text((_LEFT + right) / 2, base + 36, "middle", figure.across))
    middle = (_TOP + base) / 2
    parts.append(
        f'<text class="name" transform="translate(13 {middle:.0f}) rotate(-90)"'
        f' text-anchor="middle">{escape(figure.up)}</text>'
    )
    return parts


def _line(points: Sequence[Point], across: _Axis, up: _Axis, number: int, name: str) -> str:
    line = " ".join(f"{across.place(x):.1f},{up.place(y):.1f}" for x, y in points)
    tip = f"<title>{escape(name)}</title>"
    return f'<polyline class="line s{number % _COLOURS}" points="{line}">{tip}</polyline>'


def _dot(point: Point, across: _Axis, up: _Axis, number: int, figure: Figure, name: str) -> str:
    x, y = point
    of = f"{name}, " if len(figure.names) > 1 else ""
    tip = f"{of}{figure.across} {x:,.10g}: {y:,.10g} {figure.up}"
    return (
        f'<circle class="dot s{number % _COLOURS}" cx="{across.place(x):.1f}"'
        f' cy="{up.place(y):.1f}" r="2.6"><title>{escape(tip)}</title></circle>'
    )


def _columns(figure: Figure) -> str:
    """Return upright bars, for labels that are numbers in order."""
    base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    up = _axis([value or 0 for row in figure.values for value in row], base, _TOP, False)
    slot = (right - _LEFT) / max(1, len(figure.labels))
    width = max(1.0, slot * 0.8 / len(figure.names))
    parts = _axes(figure, _Axis(lambda value: value, ()), up)
    each = max(1, math.ceil(len(figure.labels) / 14))
    for place, label in enumerate(figure.labels):
        left = _LEFT + slot * (place + 0.1)
        if place % each == 0:
            parts.append(_text(left + slot * 0.4, base + 17, "middle", _label(label)))
        for number, row in enumerate(figure.values):
            top = up.place(row[place] or 0)
            parts.append(
                f'<rect class="bar s{number % _COLOURS}" x="{left + number * width:.1f}" y="{top:.1f}"'
                f' width="{width:.1f}" height="{max(0.0, base - top):.1f}">'
                f"<title>{escape(_tip(figure, place, number))}</title></rect>"
            )
    return _svg(_WIDTH, _HEIGHT, figure, parts)


def _bars(figure: Figure) -> str:
    """Return bars one below the other, with their names to the left; of many only the first."""
    count, shown = len(figure.names), figure.labels[:_SHOWN]
    row_height = _BAR * count + 6
    left_out = len(figure.labels) - len(shown)
    height = row_height * len(shown) + 8 + (_BAR if left_out else 0)
    highest = max((value or 0 for row in figure.values for value in row), default=0) or 1
    parts = []
    for place, label in enumerate(shown):
        top = 4 + place * row_height
        # The end of an address tells more than its beginning.
        name = label if len(label) <= _LETTERS else f"…{label[1 - _LETTERS :]}"
        parts.append(_text(_NAMES - 8, top + row_height / 2 + 1, "end", name, label))
        for number, row in enumerate(figure.values):
            parts += _bar(figure, place, number, top + number * _BAR, (row[place] or 0) / highest)
    if left_out:
        parts.append(_text(_NAMES, height - 6, "start", f"{left_out:,} more are in the CSV"))
    return _svg(_WIDTH, height, figure, parts)


def _bar(figure: Figure, place: int, number: int, y: float, share: float) -> list[str]:
    width = share * (_WIDTH - _NAMES - _NUMBERS)
    return [
        f'<rect class="bar s{number % _COLOURS}" x="{_NAMES}" y="{y + 2:.1f}"'
        f' width="{max(width, 0.5):.1f}" height="{_BAR - 4}" rx="2">'
        f"<title>{escape(_tip(figure, place, number))}</title></rect>",
        _text(_NAMES + width + 6, y + 14, "start", _number(figure.values[number][place])),
    ]


def _tip(figure: Figure, place: int, number: int) -> str:
    of = f"{figure.names[number]}, " if len(figure.names) > 1 else ""
    value = figure.values[number][place]
    written = "not known" if value is None else f"{value:,.10g} {figure.up}".strip()
    return f"{of}{figure.labels[place]}: {written}"


def _number(value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,.0f}" if value < 1e6 and value == int(value) else short(value)


def _label(label: str) -> str:
    return short(float(label)) if label.isdecimal() else label


def _text(x: float, y: float, anchor: str, text: str, tip: str = "") -> str:
    title = f"<title>{escape(tip)}</title>" if tip and tip != text else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{title}{escape(text)}</text>'


def _svg(width: int, height: int, figure: Figure, parts: Sequence[str]) -> str:
    name = escape(f"{figure.title}. {figure.sentence}", quote=True)
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}">{"".join(parts)}</svg>'
    )
