"""The URLs that wait, by host and rank: one small index that everybody changes the same way.

Layout: host (4 bytes), rank, number (5 bytes) → nothing. The rank is the order's business. Invariant: a
host's `waiting` is the number of its keys here, and `low` is not after the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.trie import pack_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocksdict import WriteBatch

    from rdfaspider.frontier.database import Database
    from rdfaspider.frontier.hosts import Host
    from rdfaspider.frontier.orders import Order


class WaitingUrls:
    def __init__(self, database: Database, order: Order) -> None:
        self._family = database.waiting
        self._order = order

    def add(self, batch: WriteBatch, host: Host, key: bytes, depth: int, number: int) -> None:
        self.add_all(batch, host, [key], {key: depth}, number)

    def add_all(
        self,
        batch: WriteBatch,
        host: Host,
        keys: list[bytes],
        depths: Mapping[bytes, int],
        first: int,
    ) -> None:
        """Let URLs of a host wait, with the numbers from `first` on."""
        rank, put, handle, prefix = self._order.rank, batch.put, self._family.handle, host.prefix
        places = [
            rank(key, depths[key]) + number.to_bytes(5, "big")
            for number, key in enumerate(keys, start=first)
        ]
        for place in places:
            put(prefix + place, b"", handle)
        host.low = min(host.low, *places)
        host.waiting += len(keys)

    def remove(self, batch: WriteBatch, host: Host, key: bytes, depth: int, number: int) -> None:
        place = self._order.rank(key, depth) + pack_number(number)
        batch.delete(host.prefix + place, self._family.handle)
        host.waiting -= 1
