"""One URL of each branch in turn, at every level: the XTrie of the RDFa Web Spider (row R2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.orders.order import Order
from rdfaspider.frontier.schedule.ready import ReadyBranches
from rdfaspider.frontier.tables.trie import cut, past

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.schedule.ready import ReadyHosts
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.waiting import Found, Picked, WaitingCursor


class RoundRobin(Order):
    """The branch served longest ago comes first: of the names of hosts, label by label, and within a host of
    its paths.

    Domains and hosts take turns in memory (schedule/ready.py), so after a restart all begin again.

    Within a host, a node of the trie is a prefix of the path; its pointer is the child that was last visited.
    To find the next URL, start at the root; at each node go to the next child after its pointer that has
    something waiting, wrapping round, until a waiting URL ends there. The paper's inherited to-do flags are
    here the existence of a waiting key under a prefix, which is one seek.

    Invariant: the rank is the path, and pointers are on disk as of the last queue page.
    """

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        self._moved: dict[bytes, bytes] = {}

    def ready_hosts(self) -> ReadyHosts:
        return ReadyBranches()

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return key[key.index(b"/") :]

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        picked: list[Picked] = []
        passed: set[int] = set()
        while len(picked) < count and (found := self._next(waiting, host, passed)) is not None:
            picked.append(found)
            passed.add(found[0])
        return picked

    @property
    def has_news(self) -> bool:
        return bool(self._moved)

    def save(self, batch: WriteBatch) -> None:
        for name, child in self._moved.items():
            batch.put(name, child, self._meta.handle)
        self._moved.clear()

    def _next(self, waiting: WaitingCursor, host: Host, passed: set[int]) -> Picked | None:
        node = b"/"
        found: Found | None = None
        while True:
            pointer = self._pointer(host.id, node)
            if pointer or found is None:
                found = _first(waiting.of(host, past(pointer)), node, passed) if pointer else None
                found = found or _first(waiting.of(host, node), node, passed)
            # Without a pointer, the first URL found below the node is its first.
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


def _first(urls: Iterator[Found], node: bytes, passed: set[int]) -> Found | None:
    """Return the first URL below a node that was not picked yet."""
    for rank, number, value in urls:
        if not rank.startswith(node):
            return None
        if number not in passed:
            return rank, number, value
    return None
