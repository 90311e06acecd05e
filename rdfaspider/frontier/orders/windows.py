"""Tarantula's sliding windows (seed 001): over the hosts, and over the leaves of each.

A leaf is a waiting URL that the next one of its host, in order of keys, is not below: /a/b is below /a/, /a/
below /. The rank is the path, so leaves are found by walking. (Where /a-b stands between /a and /a/b, /a
is taken for a leaf: `-` sorts before `/`.)
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rdfaspider.frontier.orders.order import Order
from rdfaspider.frontier.trie import is_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.database import Database
    from rdfaspider.frontier.hosts import Host
    from rdfaspider.frontier.orders.order import Picked, Waiting

# Of a chain of URLs each below the last, so many are walked through; deeper ones count as leaves.
_LONGEST_CHAIN = 64

Found = tuple[bytes, int, bytes]


class TopWindow(Order):
    """The leftmost leaf of each host, and the window slides over the hosts from left to right.

    So one host after the other is served in order of their keys; after the last, the next round begins.
    What is left of a host is served leaf by leaf too: a folder after what is in it.

    Invariant: the window stands at (`_round`, `_key`), and a host's `due` is the round of its next turn.
    """

    def __init__(self, database: Database) -> None:
        self._round: float = 1
        self._key = b""

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return key[key.index(b"/") :]

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        return [
            (number, value) for _, number, value in islice(_leaves_first(waiting.of(host)), count)
        ]

    def urgency(self, host: Host) -> tuple[float, bytes]:
        passed = host.key <= self._key
        return (host.due or self._round + passed, host.key)

    def taken(self, host: Host, taken: Taken) -> None:
        self._round, self._key = max((self._round, self._key), self.urgency(host))
        host.due = self._round + 1


class LeafWindow(Order):
    """A window over the leaves of each host that moves to and fro; the windows are read by row.

    Each queue page is the table: a column is the window of a host, and its rows are served one after
    the other, for the host that was served longest ago comes first.

    Invariant: where the window of a host stands, and which way it moves, is on disk as of the last
    queue page.
    """

    def __init__(self, database: Database) -> None:
        self._meta = database.meta
        self._moved: dict[bytes, bytes] = {}

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return key[key.index(b"/") :]

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        name = b"window " + host.prefix
        state = self._moved.get(name) or self._meta.get(name) or b">"
        way, place = state[:1], state[1:]
        for _ in range(3):  # to the end, back, and once more if it stood at the end
            found = list(islice(_window(waiting, host, way, place), count))
            if found:
                self._moved[name] = way + found[-1][0]
                return [(number, value) for _, number, value in found]
            way, place = (b"<", b"\xff") if way == b">" else (b">", b"")
        return super().pick(waiting, host, count)

    def save(self, batch: WriteBatch) -> None:
        for name, state in self._moved.items():
            batch.put(name, state, self._meta.handle)
        self._moved.clear()


def _window(waiting: Waiting, host: Host, way: bytes, place: bytes) -> Iterator[Found]:
    """Yield the leaves of a host from a place on, to the right or to the left."""
    if way == b">":
        return _leaves(waiting.of(host, place))
    return _leaves_backwards(waiting.before(host, place))


def _leaves(urls: Iterator[Found]) -> Iterator[Found]:
    """Yield those of sorted URLs that the next one is not below."""
    previous: Found | None = None
    for found in urls:
        if previous is not None and not is_below(found[0], previous[0]):
            yield previous
        previous = found
    if previous is not None:
        yield previous


def _leaves_backwards(urls: Iterator[Found]) -> Iterator[Found]:
    """Yield those of URLs sorted backwards that none before them is below."""
    later = b""
    for found in urls:
        if not (later and is_below(later, found[0])):
            yield found
        later = found[0]


def _leaves_first(urls: Iterator[Found]) -> Iterator[Found]:
    """Yield sorted URLs so that each comes after those below it."""
    chain: list[Found] = []
    for found in urls:
        while chain and not is_below(found[0], chain[-1][0]):
            yield chain.pop()
        chain.append(found)
        if len(chain) > _LONGEST_CHAIN:
            yield chain.pop()
    yield from reversed(chain)
