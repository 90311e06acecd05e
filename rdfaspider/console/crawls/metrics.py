"""The counters of a crawl in the text format of Prometheus, under the names of the stats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPE = "text/plain; version=0.0.4; charset=utf-8"

_FORBIDDEN = re.compile("[^a-zA-Z0-9_]+")


def exposition(stats: Mapping[str, Any]) -> str:
    """Return every stat that is a number: `frontier/done/page` as `rdfaspider_frontier_done_page`."""
    metrics: dict[str, int | float] = {}
    for name, value in stats.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            metric = f"rdfaspider_{_FORBIDDEN.sub('_', name).strip('_')}"
            # Labels that differ in special characters only count together.
            metrics[metric] = metrics.get(metric, 0) + value
    return "".join(f"{name} {value!r}\n" for name, value in sorted(metrics.items()))
