"""The links of finished pages, kept while the depth of the page may still decrease.

A page that ended deeper than some unfinished URL may be found again by a shorter way through it. Then its
links are needed once more, but another fetch is not (guarantees G2 and G6). Breadth first hardly ever needs
this; other orders, and slow hosts, do.

Layout: depth (1 byte) and number of the page → how much deeper its links are (1 byte, plus 8 times the hops
if it is a redirect), then their keys, one a line.

Invariant: every done page deeper than the floor has an entry. When the floor rises, all entries that it
reaches go in one deletion of a range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.sharding import Shard
from rdfaspider.frontier.tables.trie import pack_number

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.links.inbox import Inbox
    from rdfaspider.frontier.tables.links.outbox import Outbox

_DEEPER = 7
_HOPS = 3


class Outlinks:
    """The table of these links. Links of other shards than `shard` go to the outbox."""

    def __init__(self, database: Database, outbox: Outbox, shard: Shard) -> None:
        self._family = database.links
        self._outbox = outbox
        self._shard = shard
        self._pruned = -1

    def keep(
        self,
        batch: WriteBatch,
        depth: int,
        number: int,
        depth_step: int,
        links: list[bytes],
        hops: int = 0,
    ) -> None:
        value = bytes((depth_step | hops << _HOPS,)) + b"\n".join(links)
        batch.put(_key(depth, number), value, self._family.handle)

    def pass_on(
        self, batch: WriteBatch, inbox: Inbox, page: bytes, number: int, old: int, new: int
    ) -> bool:
        """Put the links of a page in the inbox by its new depth; return whether they were on record."""
        value: bytes | None = self._family.get(_key(old, number))
        if value is None:
            return False
        batch.delete(_key(old, number), self._family.handle)
        batch.put(_key(new, number), value, self._family.handle)
        links = value[1:].split(b"\n") if len(value) > 1 else []
        depth_step, hops = value[0] & _DEEPER, value[0] >> _HOPS
        if self._shard.total > 1:
            abroad = [link for link in links if not self._shard.has(link)]
            links = [link for link in links if self._shard.has(link)]
            self._outbox.add(batch, page, new + depth_step, abroad, hops=hops)
        inbox.add(batch, new + depth_step, links, referrer=number, hops=hops)
        return True

    def prune(self, batch: WriteBatch, floor: int) -> None:
        """Remove the pages that can no longer be found by a shorter way."""
        if floor == self._pruned:
            return
        self._pruned = floor
        end = bytes((floor + 1,)) if floor < 255 else b"\xff" * 7
        batch.delete_range(b"", end, self._family.handle)


def _key(depth: int, number: int) -> bytes:
    return bytes((depth,)) + pack_number(number)
