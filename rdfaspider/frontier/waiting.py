"""The URLs that wait, by host and rank: one small index that everybody changes the same way.

Layout: host (4 bytes), rank, number (5 bytes) → depth and attempts (a byte each), then the URL's key
without its host, so that a URL is handed out by this one read. The rank is the order's business.
Invariant: a host's `waiting` is the number of its keys here, and `low` is not after the first of them.
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
    from rdfaspider.frontier.trie import Record


# The beginning of the value of a URL that was never tried, by depth.
_NEW = [bytes((depth, 0)) for depth in range(256)]


class WaitingUrls:
    def __init__(self, database: Database, order: Order) -> None:
        self._family = database.waiting
        self._order = order

    def add(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> None:
        """Let one URL wait, as its record says."""
        place = self._order.rank(key, record.depth) + pack_number(record.number)
        value = bytes((record.depth, record.attempts)) + key[len(host.key) :]
        batch.put(host.prefix + place, value, self._family.handle)
        host.low = min(host.low, place)
        host.waiting += 1

    def add_all(
        self,
        batch: WriteBatch,
        host: Host,
        keys: list[bytes],
        depths: Mapping[bytes, int],
        first: int,
    ) -> None:
        """Let new URLs of a host wait, with the numbers from `first` on."""
        rank, put, handle, prefix = self._order.rank, batch.put, self._family.handle, host.prefix
        start, low = len(host.key), host.low
        for number, key in enumerate(keys, start=first):
            depth = depths[key]
            place = rank(key, depth) + number.to_bytes(5, "big")
            put(prefix + place, _NEW[depth] + key[start:], handle)
            if place < low:
                low = place
        host.low = low
        host.waiting += len(keys)

    def remove(self, batch: WriteBatch, host: Host, key: bytes, depth: int, number: int) -> None:
        place = self._order.rank(key, depth) + pack_number(number)
        batch.delete(host.prefix + place, self._family.handle)
        host.waiting -= 1
