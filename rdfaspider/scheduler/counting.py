"""The counters of a worker, for whoever adds up those of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Counters that the crawl keeps itself, and such as make no sense as a sum.
_OWN = frozenset(
    [f"frontier/{state}" for state in ("seen", "waiting", "in_flight", "done", "failed", "denied")]
    + [f"store/{name}" for name in ("batches", "sent", "aside", "rebuilt", "latency")]
    + ["loop/longest", "elapsed_time_seconds", "frontier/unsafe"]
)
_OWN_FAMILIES = ("frontier/rejected/", "store/backlog", "store/failed/", "memusage/", "log_count/")


class Counting:
    """Tells what the counters of a worker have grown by since it was last asked."""

    def __init__(self, stats: Mapping[str, Any]) -> None:
        self._stats = stats
        self._told: dict[str, int] = {}

    def growth(self) -> dict[str, int]:
        grown = {}
        for name, value in self._stats.items():
            if type(value) is int and value != self._told.get(name, 0) and _is_shared(name):
                grown[name] = value - self._told.get(name, 0)
                self._told[name] = value
        return grown


def _is_shared(name: str) -> bool:
    return name not in _OWN and not name.startswith(_OWN_FAMILIES)
