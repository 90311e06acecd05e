"""The URLs that wait, by host and rank: one small index that everybody changes the same way.

Layout: host (4 bytes), rank, number (5 bytes) → depth and attempts (a byte each), hint (3 bytes), for the
target of a redirect the hops (1 byte, less than any character of a key), then the URL's key without its host,
so that a URL is handed out by this one read. Rank and hint are the order's.
Invariant: a host's `waiting` is the number of its keys here, and `low` is not after the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.tables.trie import pack_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocksdict import WriteBatch

    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.trie import Record


# The beginning of the value of a URL that was never tried, by depth.
_NEW = [bytes((depth, 0, 0, 0, 0)) for depth in range(256)]

# Hops that a value can tell of: one more is a character.
_MOST_HOPS = 31


def split(value: bytes) -> tuple[int, int, bytes]:
    """Return the hint, the hops and the end of the key that a value has."""
    hint, hops = int.from_bytes(value[2:5], "big"), value[5]
    return (hint, hops, value[6:]) if hops <= _MOST_HOPS else (hint, 0, value[5:])


class WaitingUrls:
    def __init__(self, database: Database, order: Order) -> None:
        self._family = database.waiting
        self._order = order

    def add(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> None:
        """Let one URL wait, as its record says."""
        place = self.write(batch, host, key, record)
        host.low = min(host.low, place)
        host.waiting += 1
        self._order.arrived(host, [key], {key: record.depth | record.hint << 8})

    def write(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> bytes:
        """Write down a URL that waits, once more if it does already; return its place."""
        place = self._order.rank(key, record.depth, record.hint) + pack_number(record.number)
        head = bytes((record.depth, record.attempts)) + record.hint.to_bytes(3, "big")
        hops = bytes((record.hops,)) if record.hops else b""
        value = head + hops + key[len(host.key) :]
        batch.put(host.prefix + place, value, self._family.handle)
        return place

    def add_all(
        self,
        batch: WriteBatch,
        host: Host,
        keys: list[bytes],
        findings: Mapping[bytes, int],
        first: int,
    ) -> None:
        """Let new URLs of a host wait, with the numbers from `first` on (findings: Trie.add)."""
        rank, put, handle, prefix = self._order.rank, batch.put, self._family.handle, host.prefix
        start, low = len(host.key), host.low
        for number, key in enumerate(keys, start=first):
            finding = findings[key]
            depth, hint = finding & 255, finding >> 8
            place = rank(key, depth, hint) + number.to_bytes(5, "big")
            head = _NEW[depth] if not hint else _NEW[depth][:2] + hint.to_bytes(3, "big")
            put(prefix + place, head + key[start:], handle)
            if place < low:
                low = place
        host.low = low
        host.waiting += len(keys)
        self._order.arrived(host, keys, findings)

    def remove(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> None:
        place = self._order.rank(key, record.depth, record.hint) + pack_number(record.number)
        batch.delete(host.prefix + place, self._family.handle)
        host.waiting -= 1
