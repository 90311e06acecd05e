"""Links not yet forwarded to other shards.

Usually a worker sends the links of a page to the other shards before it ends the page here. Links that it
could not send because a shard was away, and links that must be sent again because the page was found by a
shorter way, are written here with the change that caused it. They stay until a worker confirms that it has
forwarded them.

Layout: key of a page → depth of its links (1 byte), then the links as in the inbox. A page has one entry,
to which links are added: when it is fetched again it may have others, and the earlier ones are still owed.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.tables.links.inbox import pack_links, unpack_links
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database

# Seconds after which an unconfirmed entry is handed out again.
_AGAIN = 5.0


class Owed(NamedTuple):
    """Links to forward to other shards, and the page that has them."""

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
        """Yield entries that no worker is forwarding."""
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
        """Remove an entry that was forwarded at this depth."""
        value = self._family.get(page)
        if value is not None and value[0] >= depth:
            self.size -= 1
            self._handed.pop(page, None)
            batch.delete(page, self._family.handle)


def _joined(
    value: bytes, links: list[bytes], contexts: Sequence[int]
) -> tuple[list[bytes], list[int]]:
    """Return the links of an entry and others, each once, with their contexts."""
    earlier, said, _ = unpack_links(value[1:])
    known = dict(zip(earlier, said or repeat(0), strict=False))
    for link, context in zip(links, contexts or repeat(0), strict=False):
        known[link] = context or known.get(link, 0)
    return list(known), list(known.values())
