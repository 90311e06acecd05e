"""URLs that wait for a time of their own: they failed, and are to be tried again then.

Layout: time (8 bytes, a float that sorts as it is positive) and number (5 bytes) → nothing. `first` is
the time of the first, read from disk once and after each pop; `_low` is where the keys begin, since
before it there may be the remains of many.
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
        """Remove the URLs whose time has come, at most so many, and return their numbers."""
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
