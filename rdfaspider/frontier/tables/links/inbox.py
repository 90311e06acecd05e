"""Links found and not yet looked up, one entry for each page they were found on.

When enough have gathered, or a caller waits for them, they are sieved against the trie in one batch, in key
order, which keeps the cost of a look-up small and constant (IRLbot's DRUM, BUbiNG's sieve).

Layout: sequence number (8 bytes), number of the page (5 bytes; seeds have none) → depth (1 byte), then the
links (`pack_links`), then, if the links are for the link graph, an empty line and the rest of the page's
entry there (edges.py). An entry is written with the state change that found its links, so it survives a kill.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.tables.trie import pack_number

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.tables.database import Database


# Bytes beside the links of a page that count as a link: about what one takes.
_BYTES = 64
# No key is empty.
_BREAK = b"\n\n"


class Entry(NamedTuple):
    """Links found together, with a context for each, or none.

    `place` is the key on disk: a number by which entries sort (8 bytes), then the number of the page that
    has the links, the `referrer` (5 bytes); seeds have none. `hops` counts the redirects that led to the
    links. `beside` is what the page has beside them, None if they are not for the link graph.
    """

    place: bytes
    depth: int
    keys: list[bytes]
    contexts: Sequence[int]
    hops: int = 0
    beside: bytes | None = None

    @property
    def referrer(self) -> int | None:
        return int.from_bytes(self.place[8:], "big") if len(self.place) > 8 else None


class Inbox:
    """The inbox. `entries` mirrors the disk; it is bounded because a full inbox is emptied: `size` counts
    links, and what is beside them. `floor` is the smallest depth of an entry, 256 if there is none."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._family = database.inbox
        self.entries: list[Entry] = []
        self.size = 0
        self.floor = 256
        self._next = 0
        for place, value in database.inbox.pairs():
            self._remember(_entry(place, value))
            self._next = int.from_bytes(place[:8], "big") + 1

    def add(
        self,
        batch: WriteBatch,
        depth: int,
        keys: list[bytes],
        contexts: Sequence[int] = (),
        referrer: int | None = None,
        hops: int = 0,
        beside: bytes | None = None,
    ) -> None:
        """Add an entry, in the batch and in memory: the batch must be written."""
        _check(keys, contexts)
        if keys:
            place = self._next.to_bytes(8, "big")
            if referrer is not None:
                place += pack_number(referrer)
            self._next += 1
            value = bytes((depth,)) + pack_links(keys, contexts, hops)
            if beside is not None:
                value += _BREAK + beside
            batch.put(place, value, self._family.handle)
            self._remember(Entry(place, depth, keys, contexts, hops, beside))

    def write(
        self, depth: int, keys: list[bytes], contexts: Sequence[int] = (), hops: int = 0
    ) -> None:
        """Write an entry that comes alone, without a page: a batch of one costs twice as much."""
        _check(keys, contexts)
        place = self._next.to_bytes(8, "big")
        self._database.put(self._family, place, bytes((depth,)) + pack_links(keys, contexts, hops))
        self._next += 1
        self._remember(Entry(place, depth, keys, contexts, hops))

    def empty(self, batch: WriteBatch) -> list[Entry]:
        """Remove all entries, in the batch and in memory, and return them.

        One deletion for all: they are what the disk has, from the first to the last. A single one is deleted
        by its key, which costs less than a range.
        """
        entries = self.entries
        if len(entries) == 1:
            batch.delete(entries[0].place, self._family.handle)
        elif entries:
            end = entries[-1].place + b"\0"
            batch.delete_range(entries[0].place, end, self._family.handle)
        self.entries, self.size, self.floor = [], 0, 256
        return entries

    def _remember(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.size += len(entry.keys)
        if entry.beside:
            self.size += len(entry.beside) // _BYTES
        if entry.depth < self.floor:
            self.floor = entry.depth


def _check(keys: list[bytes], contexts: Sequence[int]) -> None:
    if contexts and len(contexts) != len(keys):
        raise ValueError(f"{len(keys)} links have {len(contexts)} contexts")


def _entry(place: bytes, value: bytes) -> Entry:
    end = _end_of_contexts(value, 1)
    lines, line, beside = value[end:].partition(_BREAK)
    keys, contexts, hops = unpack_links(value[1:end] + lines)
    return Entry(place, value[0], keys, contexts, hops, beside if line else None)


def pack_links(keys: list[bytes], contexts: Sequence[int], hops: int) -> bytes:
    """Pack links: hops (1 byte), number of contexts (3 bytes), contexts (4 bytes each), then keys, one a
    line."""
    head = (len(contexts) | hops << 24).to_bytes(4, "big")
    if contexts:
        head += array("I", contexts).tobytes()
    return head + b"\n".join(keys)


def unpack_links(data: bytes) -> tuple[list[bytes], Sequence[int], int]:
    end = _end_of_contexts(data, 0)
    contexts = array("I")
    contexts.frombytes(data[4:end])
    return data[end:].split(b"\n"), contexts, data[0]


def _end_of_contexts(data: bytes, start: int) -> int:
    return start + 4 + 4 * int.from_bytes(data[start + 1 : start + 4], "big")
