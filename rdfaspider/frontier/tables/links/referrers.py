"""The page on which the link to a URL was first found.

Layout: first number of a block → for each URL of the block, 1 + the number of that page in 8 bytes; 0 means
none, as for seeds. Blocks without any are left out. Numbers given in one arrival are in order of keys, so
most neighbours have the same referrer, which compresses well.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from rdfaspider.frontier.tables.trie import pack_number, unpack_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.links.inbox import Entry

_BLOCK = 256


class Referrers:
    def __init__(self, database: Database) -> None:
        self._family = database.referrers

    def add(
        self, batch: WriteBatch, keys: list[bytes], finders: dict[bytes, int], first: int
    ) -> None:
        """Add to a batch the referrers of new keys, whose numbers begin at `first`."""
        if not finders:
            return
        for start in range(0, len(keys), _BLOCK):
            block = array("Q", [finders[key] for key in keys[start : start + _BLOCK]])
            if any(block):
                batch.put(pack_number(first + start), block.tobytes(), self._family.handle)

    def of(self, number: int) -> int | None:
        """Return the number of the page on which a URL was first found, None if there is none."""
        cursor = self._family.cursor()
        cursor.seek_for_prev(pack_number(number))
        if not cursor.valid():
            cursor.status()  # raises if a file is damaged
            return None
        block = array("Q")
        block.frombytes(cursor.value())
        place = number - unpack_number(cursor.key())
        return block[place] - 1 if place < len(block) and block[place] else None


def finders(entries: Iterable[Entry]) -> dict[bytes, int]:
    """Return for each key 1 + the number of the page that found it first; {} if no page found any."""
    found: dict[bytes, int] = {}
    known = [(entry.keys, entry.referrer) for entry in entries]
    if all(referrer is None for _, referrer in known):
        return found
    for keys, referrer in reversed(known):
        found.update(dict.fromkeys(keys, 0 if referrer is None else referrer + 1))
    return found
