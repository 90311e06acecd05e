"""A row for each ended URL: what is known of its page (rdfaspider/pages/row.py packs it).

Layout: number (5 bytes) → the row, as the worker has packed it.

Invariant. A URL that ended with a row has it here, that of its last end; it is written with the change of
state. URLs that ended while no rows were kept have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.tables.trie import pack_number
from rdfaspider.pages.row import MOST, topic_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database


class Pages:
    def __init__(self, database: Database) -> None:
        self._family = database.pages

    def keep(self, batch: WriteBatch, number: int, row: bytes) -> None:
        """Add the row of a URL to a batch; one that is too long is left out."""
        if len(row) <= MOST:
            batch.put(pack_number(number), row, self._family.handle)

    def topic_of(self, number: int) -> str:
        """Return the best topic of a page, "" if it has none."""
        return topic_in(self._family.get(pack_number(number)) or b"")

    def rows(self, numbers: Iterable[int]) -> list[bytes | None]:
        """Return the row of each URL, None if it has none."""
        return self._family.get_all([pack_number(number) for number in numbers])
