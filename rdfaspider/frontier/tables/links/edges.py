"""The links of done pages, by the numbers of the pages: the link graph while it grows.

Layout: number of the page → its links (linkgraph/edges.py). A page has one entry, which its next fetch
replaces.

Invariant: a page that ended as done since the graph is kept has an entry, or its links are in the inbox.
The entry is written in the batch that takes the links out of the inbox, so no kill loses or doubles one. A
target without a number then (it is too deep, of another shard, or not followed) is kept by its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.tables.trie import pack_number, unpack_number
from rdfaspider.linkgraph.edges import (
    CANONICAL,
    FOLLOW,
    NOFOLLOW,
    REDIRECT,
    Links,
    pack,
    pack_rest,
    unpack,
    with_keys,
)
from rdfaspider.urls.keys import to_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Beside
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.links.inbox import Entry


# Bytes of keys that are kept of a page: more than real pages need, and a bound for hostile ones.
_MOST_BYTES = 1 << 18


class Edges:
    def __init__(self, database: Database) -> None:
        self._family = database.edges

    def add_all(
        self, batch: WriteBatch, entries: Iterable[Entry], numbers: dict[bytes, int]
    ) -> None:
        """Add the links of pages to a batch; `numbers` has the targets that are known."""
        put, handle = batch.put, self._family.handle
        for entry in entries:
            if entry.beside is None or entry.referrer is None:
                continue
            page, kind, rest = entry.referrer, REDIRECT if entry.hops else FOLLOW, entry.beside
            known = list(map(numbers.get, entry.keys))
            if None in known:
                unknown = [key for key in entry.keys if key not in numbers]
                rest = with_keys(rest, kind, _bounded(unknown))
            value = pack(page, kind, [number for number in known if number is not None], rest)
            put(pack_number(page), value, handle)

    def add(
        self, batch: WriteBatch, page: int, keys: Iterable[bytes], hops: int, rest: bytes
    ) -> None:
        """Add the links of a page to a batch by their keys alone."""
        kind = REDIRECT if hops else FOLLOW
        value = pack(page, kind, (), with_keys(rest, kind, _bounded(keys)))
        batch.put(pack_number(page), value, self._family.handle)

    def of(self, page: int) -> Links | None:
        """Return the links of a page, None if there is no entry."""
        value = self._family.get(pack_number(page))
        return None if value is None else unpack(page, value)

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Yield the numbers of pages and their links as stored, in order."""
        for key, value in self._family.pairs():
            yield unpack_number(key), value


def rest_of(beside: Beside, abroad: Iterable[bytes], hops: int) -> bytes:
    """Return what a page has beside the links of its own shard, for its entry."""
    keys: list[tuple[int, Iterable[bytes]]] = []
    if abroad:
        keys.append((REDIRECT if hops else FOLLOW, _bounded(abroad)))
    if nofollow := beside.get("nofollow"):
        keys.append((NOFOLLOW, _bounded(map(to_key, nofollow))))
    if canonical := beside.get("canonical"):
        keys.append((CANONICAL, (to_key(canonical),)))
    return pack_rest(beside.get("media", {}), beside.get("outside", {}), keys)


def _bounded(keys: Iterable[bytes]) -> Iterator[bytes]:
    room = _MOST_BYTES
    for key in keys:
        room -= len(key)
        if room < 0:
            return
        yield key
