"""How much a crawl takes in (row W8); what is beyond is counted by reason and not kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class FrontierLimits:
    """Depths count links from a seed; the numbers of WIRE are the defaults."""

    depth: int = 15
    dynamic_depth: int = 5  # of URLs with a query: they can be made without end
    host_urls: int = 25_000  # taken in of one host, over the whole crawl
    host_waiting: int = 25_000  # waiting of one host at a time
    as_begun: bool = False  # go on no deeper than the crawl was begun, instead of refusing to

    def __post_init__(self) -> None:
        for name in ("depth", "dynamic_depth"):
            if not 0 <= getattr(self, name) <= 250:
                raise ValueError(f"{name} must be between 0 and 250, not {getattr(self, name)}")

    def within(self, depth: int) -> Self:
        """Return the limits of a crawl that was begun with a depth."""
        return replace(
            self, depth=min(self.depth, depth), dynamic_depth=min(self.dynamic_depth, depth)
        )
