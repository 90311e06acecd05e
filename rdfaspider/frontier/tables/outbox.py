"""Links to other shards that these have yet to be told of.

Mostly a worker tells the other shards of the links of a page before it ends the page here. What it could not
tell them, because one was away, and what they must hear again, because the page was found by a shorter way,
is written down here with the change that caused it, and stays until a worker says that it has told them.

Layout: key of a page → depth of its links (1 byte), then the links as in the inbox. A page has one entry, to
which links are added: a page that is fetched again may have others, and those that it had are owed still.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.tables.inbox import pack_links, unpack_links
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database

# Seconds after which an entry is handed out again that nobody has said to have told.
_AGAIN = 5.0


class Owed(NamedTuple):
    """Links that other shards are to be told of, and the page that they are on."""

    page: str
    depth: int
    hops: int
    links: list[str]
    contexts: list[int]


class Outbox:
    def __init__(self, database: Database) -> None:
        self._family = database.outbox
        self._handed: dict[bytes, float] = {}
        self.size = sum(1 for _ in self._family.pairs())

    def add(
        self,
        batch: WriteBatch,
        page: bytes,
        depth: int,
        links: list[bytes],
        contexts: Sequence[int] = (),
        hops: int = 0,
    ) -> None:
        """Add an entry to a batch, which must be written."""
        if links:
            if (before := self._family.get(page)) is None:
                self.size += 1
            else:
                depth = min(depth, before[0])
                links, contexts = _joined(before, links, contexts)
            self._handed.pop(page, None)
            value = bytes((depth,)) + pack_links(links, contexts, hops)
            batch.put(page, value, self._family.handle)

    def hand_out(self, most: int, now: float) -> Iterator[Owed]:
        """Yield entries that nobody is about to tell others of."""
        if not self.size or most <= 0:
            return
        for page, value in self._family.pairs():
            if self._handed.get(page, 0.0) > now:
                continue
            self._handed[page] = now + _AGAIN
            links, contexts, hops = unpack_links(value[1:])
            yield Owed(to_url(page), value[0], hops, [to_url(key) for key in links], list(contexts))
            most -= 1
            if not most:
                return

    def remove(self, batch: WriteBatch, page: bytes, depth: int) -> None:
        """Remove an entry that others have been told of, by this depth."""
        value = self._family.get(page)
        if value is not None and value[0] >= depth:
            self.size -= 1
            self._handed.pop(page, None)
            batch.delete(page, self._family.handle)


def _joined(
    value: bytes, links: list[bytes], contexts: Sequence[int]
) -> tuple[list[bytes], list[int]]:
    """Return the links of an entry and others, each once, with what is known of them."""
    earlier, said, _ = unpack_links(value[1:])
    known = dict(zip(earlier, said or repeat(0), strict=False))
    for link, context in zip(links, contexts or repeat(0), strict=False):
        known[link] = context or known.get(link, 0)
    return list(known), list(known.values())
