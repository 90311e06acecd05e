"""The counters of a crawl in the text format of Prometheus, under the names of the stats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPE = "text/plain; version=0.0.4; charset=utf-8"

_FORBIDDEN = re.compile("[^a-zA-Z0-9_]+")
# Stats that are measured, or can become less; the others are counted.
_GAUGES = re.compile(
    "frontier/(seen|waiting|in_flight|done|failed|denied|kept|copies|pages|unsafe|topic/.*)"
    "|store/(backlog.*|held|latency)|memusage/.*|loop/.*|.*(_seconds|/longest|/max)"
)


def exposition(stats: Mapping[str, Any]) -> str:
    """Return every stat that is a number: `frontier/done/page` as `rdfaspider_frontier_done_page`."""
    metrics: dict[str, int | float] = {}
    stat_of: dict[str, str] = {}
    for name, value in stats.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            metric = f"rdfaspider_{_FORBIDDEN.sub('_', name).strip('_')}"
            # Labels that differ in special characters only count together.
            metrics[metric] = metrics.get(metric, 0) + value
            stat_of.setdefault(metric, name)
    return "".join(
        f"# HELP {metric} The stat {_text(stat_of[metric])}\n"
        f"# TYPE {metric} {_kind(stat_of[metric], value)}\n"
        f"{metric} {value!r}\n"
        for metric, value in sorted(metrics.items())
    )


def _kind(stat: str, value: float) -> str:
    is_measured = isinstance(value, float) or _GAUGES.fullmatch(stat)
    return "gauge" if is_measured else "counter"


def _text(stat: str) -> str:
    """Return the name of a stat for a line: labels come from the network."""
    return stat.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", " ")
