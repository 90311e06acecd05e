"""Finds out at which servers hosts are, before their turn comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfaspider.frontier import Frontier

Place = Callable[[int, str], None]
Ask = Callable[[list[tuple[int, str]], Place], None]

# Hosts whose addresses are asked for at a time: enough for a thousand pages a second.
_AT_ONCE = 200
# Seconds after which a host that is not found yet no longer holds up others.
_SOON = 2.0


class Placing:
    """Asks for the servers of hosts that wait to be placed.

    Layout: hosts asked for since a moment ago, with its time, and those that take longer. The latter are
    placed when they are found, and do not count.
    """

    def __init__(self, frontier: Frontier, ask: Ask, placed: Callable[[], None]) -> None:
        """`ask(hosts, place)` has `place(host, address)` called for each host in the end."""
        self._frontier = frontier
        self._ask = ask
        self._placed = placed
        self._recent: dict[int, float] = {}
        self._late: set[int] = set()
        self._closed = False

    def __bool__(self) -> bool:
        """Tell whether hosts are being looked up."""
        return bool(self._recent or self._late)

    def look_ahead(self, now: float) -> None:
        """Ask whoever knows at which servers the next hosts are."""
        recent = self._recent
        while recent and recent[first := next(iter(recent))] < now - _SOON:
            del recent[first]
            self._late.add(first)
        hosts = self._frontier.hosts_to_resolve(_AT_ONCE - len(recent))
        if hosts:
            recent.update((host, now) for host, _ in hosts)
            self._late.difference_update(recent)  # some are named again
            self._ask(hosts, self._place)

    def close(self) -> None:
        """Take no more answers."""
        self._closed = True

    def _place(self, host: int, address: str) -> None:
        self._recent.pop(host, None)
        self._late.discard(host)
        if not self._closed:
            self._frontier.set_address(host, address)
            self._placed()
