"""Schedule of other hosts that are borrowed from shards: for a robots.txt that has moved there.

The turn of a host is with its shard, and that of its server with the server's keeper. Both are asked for, one
after the other; if the server must rest, the host's turn goes back. Whoever is told to wait may not come
back, because the page that it was for has gone to another worker: then turns are given back after a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider import clock
from rdfaspider.frontier.sharding import keeper_of, shard_of
from rdfaspider.service.session import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.service.client import ServedFrontier
    from rdfaspider.service.shards.keepers import Keepers

# Seconds after which the turn of a host goes back, if nobody has asked for that of its server again.
_FORGOTTEN = 60.0


class Borrowed:
    """Layout: `_halves` has URLs with the turn of their hosts only, and when these were last asked for;
    `_keepers` has the keeper of each URL that has the turn of a server too."""

    def __init__(self, shards: Sequence[ServedFrontier], keepers: Keepers) -> None:
        self._shards = shards
        self._servers = keepers
        self._halves: dict[str, float] = {}
        self._keepers: dict[str, int] = {}

    def borrow(self, host: int | None, url: str, address: str, now: float) -> float:
        """Do as the protocol says."""
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
        """Say that a fetch has ended for which turns were borrowed."""
        if (keeper := self._keepers.pop(url, None)) is not None:
            self._shards[keeper].session.give_back(_name(url))
            self._shards[keeper].flush(now)
        self._shards[shard_of(url, len(self._shards))].repay(url, now)

    def run(self, now: float) -> None:
        """Give back what nobody asks for any more."""
        before = clock.now() - _FORGOTTEN
        for url in [url for url, asked in self._halves.items() if asked < before]:
            del self._halves[url]
            self._servers.forget(_name(url))
            self._shards[shard_of(url, len(self._shards))].repay(url, now)


def _name(url: str) -> str:
    """Return the name of a turn for a URL that is no page, or not this one."""
    return f"other {url}"
