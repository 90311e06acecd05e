"""Shallow pages first, within a depth in order of arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.orders.order import Order

if TYPE_CHECKING:
    from rdfaspider.frontier.schedule.hosts import Host


class Breadth(Order):
    """Invariant: the rank is the depth, and numbers are given in order of arrival."""

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return bytes((depth,))

    def urgency(self, host: Host) -> int:
        if host.queue:
            return host.queue[-1][1].depth
        return host.low[0] if host.low else 0
