"""Orders: which of the waiting URLs of a host come next, and which of the ready hosts.

An order is a small strategy over the trie on disk. It chooses the `rank` by which a host's waiting
URLs are sorted, picks from them, and says how ready hosts are compared. It never sees politeness:
the host heap asks it only for hosts that may be fetched from.
"""

from __future__ import annotations

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
    """The waiting URLs of one host, in order of rank; a cursor over part of a column family."""

    def __init__(self, family: Family, host: Host) -> None:
        self._host = host
        self._prefix = host.prefix
        self._cursor = family.cursor()
        self._cursor.seek(self._prefix + host.low)
        if self._cursor.valid() and self._cursor.key().startswith(self._prefix):
            host.low = self._cursor.key()[4:]

    def __iter__(self) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield (rank, number, value) from the first on."""
        yield from self.beginning(b"")

    def beginning(self, rank: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield (rank, number, value) from the first whose rank is at least this one."""
        cursor, prefix = self._cursor, self._prefix
        cursor.seek(prefix + max(rank, self._host.low))
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):
                return
            yield key[4:-5], unpack_number(key[-5:]), cursor.value()
            cursor.next()


class Order(Protocol):
    """What the frontier asks of an order."""

    def __init__(self, database: Database) -> None: ...

    def rank(self, key: bytes, depth: int) -> bytes:
        """Return the bytes by which a waiting URL is sorted among those of its host."""

    def pick(self, host: Host, count: int, skip: set[int]) -> list[Picked]:
        """Return up to `count` of a host's waiting URLs but those to skip, the next ones first."""

    def urgency(self, depth: int) -> int:
        """Return how a host compares with others that are ready, by its next URL: small is first."""

    def save(self, batch: WriteBatch) -> None:
        """Add to the batch what the order must remember over a restart."""


class Breadth:
    """Shallow pages first, within a depth in order of arrival.

    Invariant: the rank is the depth, and numbers are given in order of arrival.
    """

    def __init__(self, database: Database) -> None:
        self._family = database.waiting

    def rank(self, key: bytes, depth: int) -> bytes:
        return bytes((depth,))

    def pick(self, host: Host, count: int, skip: set[int]) -> list[Picked]:
        picked: list[Picked] = []
        for _, number, value in Waiting(self._family, host):
            if number not in skip:
                picked.append((number, value))
                if len(picked) == count:
                    break
        return picked

    def urgency(self, depth: int) -> int:
        return depth

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
        self._family = database.waiting
        self._meta = database.meta
        self._moved: dict[bytes, bytes] = {}

    def rank(self, key: bytes, depth: int) -> bytes:
        return key[key.index(b"/") :]

    def pick(self, host: Host, count: int, skip: set[int]) -> list[Picked]:
        picked: list[Picked] = []
        waiting = Waiting(self._family, host)
        passed = set(skip)
        while len(picked) < count and (found := self._next(waiting, host.id, passed)) is not None:
            picked.append(found)
            passed.add(found[0])
        return picked

    def urgency(self, depth: int) -> int:
        return 0

    def save(self, batch: WriteBatch) -> None:
        for name, child in self._moved.items():
            batch.put(name, child, self._meta.handle)
        self._moved.clear()

    def _next(self, waiting: Waiting, host: int, passed: set[int]) -> Picked | None:
        node = b""
        while True:
            pointer = self._pointer(host, node)
            found = _first(waiting, past(pointer), node, passed) if pointer else None
            found = found or _first(waiting, node, node, passed)
            if found is None:
                return None
            rank, number, value = found
            child = cut(rank, len(node))
            self._moved[_name(host, node)] = child
            if child == rank:
                return number, value
            node = child

    def _pointer(self, host: int, node: bytes) -> bytes:
        name = _name(host, node)
        return self._moved.get(name) or self._meta.get(name) or b""


def _name(host: int, node: bytes) -> bytes:
    return b"pointer " + host.to_bytes(4, "big") + node


def _first(
    waiting: Waiting, start: bytes, node: bytes, passed: set[int]
) -> tuple[bytes, int, bytes] | None:
    for rank, number, value in waiting.beginning(start):
        if not rank.startswith(node):
            return None
        if number not in passed:
            return rank, number, value
    return None


ORDERS: dict[str, type[Order]] = {"breadth": Breadth, "roundrobin": RoundRobin}
