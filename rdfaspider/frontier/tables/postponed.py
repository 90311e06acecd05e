"""Postponed URLs: they failed, and are to be retried at a time of their own.

Layout: time (8 bytes, a float, which sorts because it is positive) and number (5 bytes) → nothing. `first`
is the earliest time, read from disk once and after each pop. `_low` is where the keys begin; before it
there may be many deleted ones, which RocksDB would have to step over.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rdfaspider.frontier.tables.trie import pack_number, unpack_number

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database

_TIME = struct.Struct(">d")


class Postponed:
    def __init__(self, database: Database) -> None:
        self._family = database.later
        self._low = b""
        self.first: float | None = None
        for key, _ in self._family.pairs():
            self.first = _TIME.unpack(key[:8])[0]
            break

    def add(self, batch: WriteBatch, host: Host, number: int, time: float) -> None:
        key = _TIME.pack(time) + pack_number(number)
        batch.put(key, b"", self._family.handle)
        host.postponed += 1
        self._low = min(self._low, key)
        self.first = time if self.first is None else min(self.first, time)

    def pop(self, batch: WriteBatch, now: float, most: int) -> list[int]:
        """Remove up to `most` URLs whose time has come, and return their numbers."""
        numbers: list[int] = []
        self.first = None
        for key, _ in self._family.pairs(self._low):
            self._low = key
            time = _TIME.unpack(key[:8])[0]
            if time > now or len(numbers) == most:
                self.first = time
                break
            batch.delete(key, self._family.handle)
            numbers.append(unpack_number(key[8:]))
        return numbers
