"""The paged queue: links are gathered in pages, sieved in pages, and handed out in pages.

In. New links go to the inbox, one entry for each page they were found on. When enough have gathered,
or somebody is waiting for them, they are sieved against the trie in one batch, in key order, which
makes the cost of a look-up small and constant (IRLbot's DRUM, BUbiNG's sieve).

Out. When hosts that are ready have nothing at hand, a queue page is made for them: each gives as many
URLs as the diversity threshold allows, and the page is spread so that the URLs of one host are as far
apart as they can be. The page says in which order hosts that are ready are served.

The threshold is the RDFa Web Spider's: the reciprocal of the URLs taken a second,
so that at a steady rate no host is asked more often than once a second whatever its share.

What survives a kill. The inbox is written with the state change that filled it. A queue page is not
written: its URLs count as waiting until they are finished, so the next page finds them again.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rdfaspider.frontier.trie import pack_number

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier.database import Database

Host = TypeVar("Host", bound="Hashable")

# So many links are worth a sieve of their own accord, and at most so many URLs are put in one batch.
INBOX_PAGE = 20_000

# Hosts that are fed in one queue page, if they are ready together.
FED_AT_ONCE = 256

# URLs of a queue page, and the most of one host in it (row K4).
QUEUE_PAGE = 2_000
MOST_OF_A_HOST = 20

# URLs at hand of all hosts together: a few queue pages. Beyond, a host that goes to sleep leaves its own.
MOST_AT_HAND = 10_000


class Entry(NamedTuple):
    """Links that were found together, and what the order may want to know of each, or nothing.

    The place is a number by which entries sort, in 8 bytes, and the `referrer`: the number of the page
    on which the links are, in 5 bytes. Seeds have none. `hops` are the redirects that led to the links.
    """

    place: bytes
    depth: int
    keys: list[bytes]
    contexts: Sequence[int]
    hops: int = 0

    @property
    def referrer(self) -> int | None:
        return int.from_bytes(self.place[8:], "big") if len(self.place) > 8 else None


class Inbox:
    """Links that were found and not yet looked up.

    `entries` mirrors what is on disk; its size is bounded because a full inbox is emptied. `floor` is the
    smallest depth of an entry, 256 if there is none.
    """

    def __init__(self, database: Database) -> None:
        self._family = database.inbox
        self.entries: list[Entry] = []
        self.size = 0
        self.floor = 256
        self._next = 0
        for place, value in database.inbox.pairs():
            self._remember(Entry(place, value[0], *unpack_links(value[1:])))
            self._next = int.from_bytes(place[:8], "big") + 1

    def add(
        self,
        batch: WriteBatch,
        depth: int,
        keys: list[bytes],
        contexts: Sequence[int] = (),
        referrer: int | None = None,
        hops: int = 0,
    ) -> None:
        """Add an entry, in the batch and in memory: the batch must be written."""
        if contexts and len(contexts) != len(keys):
            raise ValueError(f"{len(keys)} links have {len(contexts)} contexts")
        if keys:
            place = self._next.to_bytes(8, "big")
            if referrer is not None:
                place += pack_number(referrer)
            self._next += 1
            value = bytes((depth,)) + pack_links(keys, contexts, hops)
            batch.put(place, value, self._family.handle)
            self._remember(Entry(place, depth, keys, contexts, hops))

    def empty(self, batch: WriteBatch) -> list[Entry]:
        """Remove all entries, likewise, and return them."""
        entries = self.entries
        for entry in entries:
            batch.delete(entry.place, self._family.handle)
        self.entries, self.size, self.floor = [], 0, 256
        return entries

    def _remember(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.size += len(entry.keys)
        self.floor = min(self.floor, entry.depth)


def pack_links(keys: list[bytes], contexts: Sequence[int], hops: int) -> bytes:
    """Write keys down, a line each, after the hops (1 byte) and their contexts: how many (3 bytes), then
    4 bytes each."""
    numbers = array("I", contexts)
    return (len(numbers) | hops << 24).to_bytes(4, "big") + numbers.tobytes() + b"\n".join(keys)


def unpack_links(data: bytes) -> tuple[list[bytes], Sequence[int], int]:
    end = 4 + 4 * int.from_bytes(data[1:4], "big")
    contexts = array("I")
    contexts.frombytes(data[4:end])
    return data[end:].split(b"\n"), contexts, data[0]


class Diversity:
    """Measures the rate of takes and derives how many URLs one host may have in a page."""

    def __init__(self) -> None:
        self._takes = 0
        self._since: float | None = None
        self.threshold = 1.0

    def taken(self) -> None:
        self._takes += 1

    def quota(self, now: float) -> int:
        """Set the threshold by the takes since it was last set, and return its share of a page.

        It is set once a second at most: what is taken in a moment says little of the rate.
        """
        if self._since is None:
            self._takes, self._since = 0, now
        elif now - self._since >= 1.0:
            if self._takes:
                self.threshold = min(1.0, (now - self._since) / self._takes)
            self._takes, self._since = 0, now
        return max(1, min(MOST_OF_A_HOST, int(QUEUE_PAGE * self.threshold)))


def spread(hosts: Sequence[Host]) -> list[int]:
    """Return the indexes of a page in an order that puts each host's entries far apart.

    The most frequent host goes first and takes every n/f-th place of the n, each next one the first
    free places at or after its own even steps. Entries of one host keep their order.
    """
    if len(hosts) == 1:  # as an order that learns asks for them
        return [0]
    places: list[int | None] = [None] * len(hosts)
    free = _Free(len(hosts))
    entries: dict[Host, list[int]] = {}
    for index, host in enumerate(hosts):
        entries.setdefault(host, []).append(index)
    for host, count in Counter(hosts).most_common():
        step = len(hosts) / count
        start = free.first(0)
        own = sorted(free.take(int(start + turn * step)) for turn in range(count))
        for place, index in zip(own, entries[host], strict=True):
            places[place] = index
    return [place for place in places if place is not None]


class _Free:
    """Finds the first free place at or after a given one, wrapping round, in almost constant time."""

    def __init__(self, size: int) -> None:
        # next[p] is p if it is free, else a place nearer to the next free one; next[size] is the end.
        self._next = list(range(size + 1))

    def first(self, place: int) -> int:
        end = len(self._next) - 1
        found = self._find(min(place, end))
        return found if found < end else self._find(0)

    def take(self, place: int) -> int:
        """Take the first free place at or after a given one and return it."""
        found = self.first(place)
        self._next[found] = found + 1
        return found

    def _find(self, place: int) -> int:
        root = place
        while self._next[root] != root:
            root = self._next[root]
        while self._next[place] != root:
            self._next[place], place = root, self._next[place]
        return root
