"""Turns of other hosts that are borrowed from shards: for a robots.txt that has moved there.

The turn of a host is with its shard, and that of its server with the server's keeper. Both are asked for,
one after the other; if the server must rest, the host's turn goes back. A borrower that must wait may never
return, because its page went to another worker: then its turns are returned after a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider import clock
from rdfaspider.frontier.sharding import keeper_of, shard_of
from rdfaspider.service.worker.session import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.service.shards.serverturns import ServerTurns
    from rdfaspider.service.worker.client import ServedFrontier

# Seconds after which the turn of a host is returned, if that of its server was not asked for again.
_FORGOTTEN = 60.0


class HostTurns:
    """Borrows turns of hosts. Layout: `_halves` has URLs with the turn of their host only, and when it was
    last asked for; `_keepers` has the keeper of each URL that has the turn of a server too."""

    def __init__(self, shards: Sequence[ServedFrontier], keepers: ServerTurns) -> None:
        self._shards = shards
        self._servers = keepers
        self._halves: dict[str, float] = {}
        self._keepers: dict[str, int] = {}

    def borrow(self, host: int | None, url: str, address: str, now: float) -> float:
        total = len(self._shards)
        home = shard_of(url, total)
        if host is not None and address == self._servers.address_of(host):
            address = ""
        keeper = keeper_of(address, total) if address else home
        if url not in self._halves:
            alone = not address or keeper != home
            seconds = self._shards[home].borrow(None, url, address, now, alone=alone)
            if seconds or keeper == home:
                return seconds
        self._halves[url] = clock.now()
        lent = self._servers.ask(_name(url), address, keeper, home, now)
        if lent is None:
            return LONGEST
        del self._halves[url]
        if lent:
            self._shards[home].repay(url, now)
        else:
            self._keepers[url] = keeper
        return lent

    def repay(self, url: str, now: float) -> None:
        """Return the borrowed turns of a fetch that has ended."""
        if (keeper := self._keepers.pop(url, None)) is not None:
            self._shards[keeper].session.give_back(_name(url))
            self._shards[keeper].flush(now)
        self._shards[shard_of(url, len(self._shards))].repay(url, now)

    def run(self, now: float) -> None:
        """Return the turns that are no longer asked for."""
        before = clock.now() - _FORGOTTEN
        for url in [url for url, asked in self._halves.items() if asked < before]:
            del self._halves[url]
            self._servers.forget(_name(url))
            self._shards[shard_of(url, len(self._shards))].repay(url, now)


def _name(url: str) -> str:
    """Return the name of a turn that is not for a page."""
    return f"other {url}"
