"""How much a crawl takes in. A link beyond a limit is counted by reason and not kept.

Seeds (URLs of depth 0) count towards the limits of their host but are never turned away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from rdfaspider.terminal import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Why a link was not taken in (`Counts.rejected`), and the setting behind it.
SETTINGS = {
    "depth": "FRONTIER_DEPTH",
    "dynamic_depth": "FRONTIER_DYNAMIC_DEPTH",
    "host_depth": "FRONTIER_HOST_DEPTH",
    "host_urls": "FRONTIER_HOST_URLS",
    "host_waiting": "FRONTIER_HOST_WAITING",
    "copies": "FRONTIER_FOLLOW_COPIES",
}


MAX_DEPTH = 250
# Redirects of a page to follow in a row: longer chains are traps.
MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class FrontierLimits:
    """Depths count links from a seed, or folders; the numbers of WIRE are the defaults."""

    depth: int = 15
    dynamic_depth: int = 5  # of URLs with a query: they can be made without end
    host_depth: int = MAX_DEPTH  # folders below the name of a host
    host_urls: int = 25_000  # taken in of one host, over the whole crawl
    host_waiting: int = 25_000  # waiting of one host at a time
    # If the crawl was begun with a smaller depth, keep that and do not refuse.
    as_begun: bool = False

    def __post_init__(self) -> None:
        for name in ("depth", "dynamic_depth", "host_depth"):
            if not 0 <= getattr(self, name) <= MAX_DEPTH:
                raise ValueError(
                    f"{name} must be between 0 and {MAX_DEPTH}, not {getattr(self, name)}"
                )

    def within(self, depth: int) -> Self:
        """Return the limits of a crawl that was begun with a depth."""
        return replace(
            self, depth=min(self.depth, depth), dynamic_depth=min(self.dynamic_depth, depth)
        )


def explain(rejected: Mapping[str, int], limits: FrontierLimits | None = None) -> Iterator[str]:
    """Yield, for each reason, how many links lay beyond which setting, most first.

    These are links, not URLs: a rejected URL is not kept, so it counts each time it is found.
    """
    for reason, count in sorted(rejected.items(), key=lambda item: -item[1]):
        value = getattr(limits, reason, None)
        setting = SETTINGS.get(reason, reason)
        yield f"{plural(count, 'link')} beyond {setting}{'' if value is None else f'={value}'}"
