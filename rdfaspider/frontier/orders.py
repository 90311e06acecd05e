"""Orders: which of the waiting URLs of a host come next, and which of the ready hosts.

An order is a small strategy over the trie on disk. It chooses the `rank` by which a host's waiting
URLs are sorted, picks from them, and says how ready hosts are compared. It never sees politeness:
the host heap asks it only for hosts that may be fetched from.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

from rdfaspider.frontier.trie import cut, past, unpack_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier.database import Database, Family
    from rdfaspider.frontier.hosts import Host


# The number and the value of a waiting URL (waiting.py).
Picked = tuple[int, bytes]


class Waiting:
    """The waiting URLs of one host after the other, in order of rank, by one cursor."""

    def __init__(self, family: Family) -> None:
        self._cursor = family.cursor()

    def of(self, host: Host, rank: bytes = b"") -> Iterator[tuple[bytes, int, bytes]]:
        """Yield (rank, number, value) of those not in flight, from the first with this rank or a later one.

        The next call ends it: there is one cursor.
        """
        cursor, prefix, flying = self._cursor, host.prefix, host.in_flight
        start = max(rank, host.low)
        cursor.seek(prefix + start)
        if start == host.low and cursor.valid() and (key := cursor.key()).startswith(prefix):
            host.low = key[4:]
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):
                return
            number = unpack_number(key[-5:])
            if number not in flying:
                yield key[4:-5], number, cursor.value()
            cursor.next()


class Order(Protocol):
    """What the frontier asks of an order."""

    def __init__(self, database: Database) -> None: ...

    def rank(self, key: bytes, depth: int) -> bytes:
        """Return the bytes by which a waiting URL is sorted among those of its host."""

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        """Return up to `count` of a host's waiting URLs that are not in flight, the next ones first."""

    def urgency(self, host: Host) -> float:
        """Return how a host compares with others that are ready: small is first.

        It is asked each time a host gets ready, so it reads nothing from disk: there is the URL at hand,
        and before there is one, `low`, the first rank as far as is known.
        """

    def save(self, batch: WriteBatch) -> None:
        """Add to the batch what the order must remember over a restart."""


class Breadth:
    """Shallow pages first, within a depth in order of arrival.

    Invariant: the rank is the depth, and numbers are given in order of arrival.
    """

    def __init__(self, database: Database) -> None:
        """Remember nothing."""

    def rank(self, key: bytes, depth: int) -> bytes:
        return bytes((depth,))

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        return [(number, value) for _, number, value in islice(waiting.of(host), count)]

    def urgency(self, host: Host) -> float:
        if host.queue:
            return host.queue[-1][1].depth
        return host.low[0] if host.low else 0

    def save(self, batch: WriteBatch) -> None:
        """Nothing: the ranks say it all."""


class RoundRobin:
    """One URL of each branch in turn, at every level: the XTrie of the RDFa Web Spider.

    A node of the trie is a prefix of the path; its pointer is the child that was last gone down. The
    next URL is found from the root by going, at each node, to the next child after its pointer that has
    something waiting, wrapping round, until a waiting URL ends there. What the paper kept as inherited
    to-do flags is only that a waiting key exists under a prefix, which is one seek.

    Invariant: the rank is the path, and pointers are on disk as of the last queue page.
    """

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        self._moved: dict[bytes, bytes] = {}

    def rank(self, key: bytes, depth: int) -> bytes:
        return key[key.index(b"/") :]

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        picked: list[Picked] = []
        passed: set[int] = set()
        while len(picked) < count and (found := self._next(waiting, host, passed)) is not None:
            picked.append(found)
            passed.add(found[0])
        return picked

    def urgency(self, host: Host) -> float:
        return host.turn

    def save(self, batch: WriteBatch) -> None:
        for name, child in self._moved.items():
            batch.put(name, child, self._meta.handle)
        self._moved.clear()

    def _next(self, waiting: Waiting, host: Host, passed: set[int]) -> Picked | None:
        node = b""
        while True:
            pointer = self._pointer(host.id, node)
            found = _first(waiting.of(host, past(pointer)), node, passed) if pointer else None
            found = found or _first(waiting.of(host, node), node, passed)
            if found is None:
                return None
            rank, number, value = found
            child = cut(rank, len(node))
            self._moved[_name(host.id, node)] = child
            if child == rank:
                return number, value
            node = child

    def _pointer(self, host: int, node: bytes) -> bytes:
        name = _name(host, node)
        return self._moved.get(name) or self._meta.get(name) or b""


def _name(host: int, node: bytes) -> bytes:
    return b"pointer " + host.to_bytes(4, "big") + node


def _first(
    urls: Iterator[tuple[bytes, int, bytes]], node: bytes, passed: set[int]
) -> tuple[bytes, int, bytes] | None:
    """Return the first URL below a node that was not passed yet."""
    for rank, number, value in urls:
        if not rank.startswith(node):
            return None
        if number not in passed:
            return rank, number, value
    return None


ORDERS: dict[str, type[Order]] = {"breadth": Breadth, "roundrobin": RoundRobin}
