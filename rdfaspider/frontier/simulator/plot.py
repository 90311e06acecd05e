"""Draws runs: four sets of curves over fetches as one SVG, and a table as text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rdfaspider.frontier.simulator.drive import Point, Run

_WIDTH, _HEIGHT, _MARGIN = 420, 260, 56
_COLOURS = ("#1b6ca8", "#d1495b", "#2a9d4a", "#b8860b", "#6a4c93", "#555555", "#008b8b", "#c2185b")
_PANELS: tuple[tuple[str, Callable[[Point], float]], ...] = (
    ("gain, summed", lambda point: point.gain),
    ("hosts fetched from", lambda point: point.hosts),
    ("seconds that connections waited, summed", lambda point: point.idle),
    ("URLs found", lambda point: point.seen),
)


def table(runs: Mapping[str, Run]) -> str:
    """Return a line for each run: what a fetch brought, how many hosts, how long."""
    head = f"{'order':<14} {'fetches':>9} {'gain/fetch':>10} {'rich':>6} {'hosts':>7} {'found':>10}"
    lines = [f"{head} {'seconds':>9} {'waited':>9}"]
    for name, run in runs.items():
        rich = run.rich / run.fetches if run.fetches else 0.0
        lines.append(
            f"{name:<14} {run.fetches:>9,} {run.harvest:>10.2f} {rich:>6.1%} {len(run.hosts):>7,}"
            f" {run.seen:>10,} {run.seconds:>9,.0f} {run.idle:>9,.0f}"
        )
    return "\n".join(lines)


def plot(runs: Mapping[str, Run], title: str = "") -> str:
    """Return the curves of all runs as an SVG picture of four panels."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{2 * _HEIGHT + 70}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_MARGIN}" y="20" font-size="15">{escape(title)}</text>',
    ]
    for place, (name, value) in enumerate(_PANELS):
        x, y = place % 2 * _WIDTH, place // 2 * _HEIGHT + 30
        parts.append(f'<g transform="translate({x} {y})">{_panel(runs, name, value)}</g>')
    for place, name in enumerate(runs):
        x, y = _MARGIN + 110 * place, 2 * _HEIGHT + 50
        parts.append(f'<rect x="{x}" y="{y - 9}" width="16" height="4" fill="{_colour(place)}"/>')
        parts.append(f'<text x="{x + 22}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(runs: Mapping[str, Run], name: str, value: Callable[[Point], float]) -> str:
    across = max((point.fetches for run in runs.values() for point in run.points), default=1)
    up = max((value(point) for run in runs.values() for point in run.points), default=0.0) or 1.0
    width, height = _WIDTH - _MARGIN - 12, _HEIGHT - 60
    parts = [
        f'<text x="{_MARGIN}" y="16">{name}</text>',
        f'<path d="M{_MARGIN} 24v{height}h{width}" fill="none" stroke="#999"/>',
        f'<text x="{_MARGIN - 4}" y="34" text-anchor="end">{_short(up)}</text>',
        f'<text x="{_WIDTH - 12}" y="{height + 40}" text-anchor="end">{across:,} fetches</text>',
    ]
    for place, run in enumerate(runs.values()):
        points = " ".join(
            f"{_MARGIN + point.fetches / across * width:.1f},"
            f"{24 + height - value(point) / up * height:.1f}"
            for point in run.points
        )
        colour = _colour(place)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
    return "".join(parts)


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def _short(number: float) -> str:
    """Return a number in at most five characters."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
