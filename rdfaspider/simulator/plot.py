"""Shows runs: four sets of curves over fetches as one SVG, and a table as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.curves import Panel, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rdfaspider.simulator.drive import Point, Run

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
    panels = [
        Panel(
            name,
            "fetches",
            [[(point.fetches, value(point)) for point in run.points] for run in runs.values()],
        )
        for name, value in _PANELS
    ]
    return draw(panels, list(runs), title)
