"""What a frontier tells and owes the other shards of its crawl (sharding.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.engine.parts import Parts
from rdfaspider.frontier.tables.database import guarded
from rdfaspider.urls.keys import to_key, to_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier.tables.links.outbox import Owed


class Forwarding(Parts):
    """The links that a frontier owes to others, and the depths at which they are unfinished."""

    def address_of(self, host: int) -> str:
        """Return the server address of a host with work, "" if it has a server to itself."""
        known = self._hosts.by_id(host)
        server = None if known is None else known.server
        return "" if server is None else server.address or ""

    @property
    def floor(self) -> int:
        """Return the smallest depth at which anything is unfinished, 256 if nothing is."""
        return 0 if self._sieve.outbox.size else self._sieve.floor

    @property
    def floor_elsewhere(self) -> int:
        """Return the smallest unfinished depth of the other shards, as far as is known."""
        return self._sieve.floor_elsewhere

    def set_floor_elsewhere(self, depth: int) -> None:
        """Set the smallest unfinished depth of the other shards."""
        self._sieve.floor_elsewhere = depth

    @property
    def is_owing(self) -> bool:
        """Return whether some links have yet to be forwarded to other shards."""
        return self._sieve.outbox.size > 0

    @guarded
    def owed(self, most: int, now: float) -> list[Owed]:
        """Return links to forward to other shards; the caller confirms them with `forwarded`."""
        return list(self._sieve.outbox.hand_out(most, now))

    @guarded
    def owe(
        self, page: str, depth: int, links: Sequence[str], contexts: Sequence[int], hops: int
    ) -> None:
        """Store links of a page that have yet to be forwarded to other shards."""
        batch = self._database.batch()
        self._sieve.outbox.add(batch, to_key(page), depth, to_keys(links), contexts, hops)
        self._database.write(batch)

    @guarded
    def forwarded(self, page: str, depth: int) -> None:
        """Record that other shards have the links of a page, at a depth of the links."""
        batch = self._database.batch()
        self._sieve.outbox.remove(batch, to_key(page), depth)
        self._database.write(batch)
