"""Pages whose body another page had before, by the digests of the bodies.

A look-up for each page would be an access to the disk in the middle of the crawl. So digests wait, like links
in the inbox, and are looked up all at once in the order of their keys when the sieve runs.

Layout, in one family:

    0, number (5)    → digest (10): a page that waits to be looked up
    1, digest (10)   → number (5): the first page that had this body
    2, number (5)    → number (5): a copy, and the first page that had its body

Invariant. A digest waits from the batch that ends its page to the batch that looks it up, so a kill loses
none. In what order pages end decides which of them is the first. It stays the first if it changes later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.tables.trie import pack_number, unpack_number
from rdfaspider.pages.row import KEY, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database

_WAITS, _FIRST, _COPY = b"\0", b"\1", b"\2"
# Digests that wait at most: some 200 bytes of memory each.
_MOST = 1_000


class Copies:
    """Finds copies. `waiting` mirrors the digests on disk that are not looked up."""

    def __init__(self, database: Database) -> None:
        self._family = database.digests
        self._found: set[int] = set()  # by the last look-up, whose batch may not be written yet
        self.waiting: dict[int, bytes] = {}
        for place, digest in database.digests.pairs():
            if not place.startswith(_WAITS):
                break
            self.waiting[unpack_number(place[1:])] = digest

    @property
    def is_due(self) -> bool:
        """Return whether enough digests have gathered."""
        return len(self.waiting) >= _MOST

    def add(self, batch: WriteBatch, number: int, row: bytes) -> None:
        """Let the digest in the row of an ended page wait, in the batch and in memory."""
        if digest := digest_of(row)[:KEY]:
            batch.put(_WAITS + pack_number(number), digest, self._family.handle)
            self.waiting.pop(number, None)  # it comes after those that ended before
            self.waiting[number] = digest

    def look_up(self, batch: WriteBatch) -> set[int]:
        """Look up all that wait; return the numbers of the pages that are copies."""
        self._found = set()
        if not self.waiting:
            return self._found
        keys = sorted({_FIRST + digest for digest in self.waiting.values()})
        known = dict(zip(keys, self._family.get_all(keys), strict=True))
        put, handle = batch.put, self._family.handle
        copies: set[int] = set()
        for number, digest in self.waiting.items():
            packed, key = pack_number(number), _FIRST + digest
            batch.delete(_WAITS + packed, handle)
            if (first := known[key]) is None:
                known[key] = packed
                put(key, packed, handle)
            elif first != packed:
                put(_COPY + packed, first, handle)
                copies.add(number)
        self.waiting, self._found = {}, copies
        return copies

    def forget(self, batch: WriteBatch, number: int) -> bool:
        """Remove the mark of a page that is fetched again; return whether it had one."""
        if not self.has(number):
            return False
        self._found.discard(number)
        batch.delete(_COPY + pack_number(number), self._family.handle)
        return True

    def has(self, number: int) -> bool:
        """Return whether a page is marked as a copy."""
        return number in self._found or self.first_of([number]) != [None]

    def first_of(self, numbers: Iterable[int]) -> list[int | None]:
        """Return the first page with the body of each page, None for those that are no copies."""
        found = self._family.get_all([_COPY + pack_number(number) for number in numbers])
        return [None if first is None else unpack_number(first) for first in found]

    def having(self, digests: Iterable[bytes]) -> list[int | None]:
        """Return the first page with each body, None for bodies that no page had."""
        found = self._family.get_all([_FIRST + digest for digest in digests])
        return [None if first is None else unpack_number(first) for first in found]
