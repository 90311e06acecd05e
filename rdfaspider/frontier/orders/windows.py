"""Tarantula's sliding windows (section 5.2): over the hosts, and over the leaves of each.

A leaf is a waiting URL whose successor in its host, in order of keys, is not below it: /a/b is below /a/,
/a/ below /. The rank is the path, so leaves are found by scanning. (Where /a-b stands between /a and /a/b,
/a counts as a leaf: `-` sorts before `/`.)

A window has a size, and a ranking may decide what comes first in it ("used in conjunction with the URL
prioritization and ranking schemes", section 5.2; row T11). Both are kept with the crawl (terms.py).
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.engine.terms import window_of
from rdfaspider.frontier.orders.order import Order
from rdfaspider.frontier.orders.profit import Profit, standing
from rdfaspider.frontier.tables.trie import is_below
from rdfaspider.frontier.tables.waiting import entry_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.waiting import Found, Picked, WaitingCursor

# The longest chain of URLs, each below the last, that is followed; deeper URLs count as leaves.
_LONGEST_CHAIN = 64

# Puts a host before every host outside the window.
_IN_WINDOW = -1.0


class _Windowed(Order):
    """What both windows share: a size, and an optional ranking by the profit of pages."""

    def __init__(self, database: Database) -> None:
        self._size, ranking = window_of(database)
        self._ranking = Profit(database) if ranking == "profit" else None
        self.reads_hints = self.reads_ranks = self._ranking is not None

    def hint(self, context: int) -> int:
        return 0 if self._ranking is None else self._ranking.hint(context)

    def ranked(self, hint: int, weight: int) -> int:
        return hint if self._ranking is None else self._ranking.ranked(hint, weight)

    def combine(self, old: int, new: int) -> int:
        return old if self._ranking is None else self._ranking.combine(old, new)

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return key[key.index(b"/") :]

    def _worth(self, depth: int, hint: int) -> int:
        return 0 if self._ranking is None else -standing(depth, hint)


class TopWindow(_Windowed):
    """The leftmost leaf of each host; the window slides over the hosts from left to right.

    So hosts are served one after the other in order of their keys; after the last, the next round begins.
    The rest of a host is served leaf by leaf too: a folder after its contents.

    A window of several hosts is the queue page: it has one URL of each of the next hosts, which are
    compared by their worth. When none of them is ready any more, the next page is made.

    Invariant: the window stands at (`_round`, `_key`), and a host's `due` is the round of its next turn.
    The hosts in a window of several are those with a URL at hand.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._round: float = 1
        self._key = b""
        if self._size:
            self.most_at_hand, self.fed_at_once = 1, self._size

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        if self._size:  # its turn, even if another host of the window comes first
            host.due, _ = self._position(host)
        return [
            (number, value) for _, number, value in islice(_leaves_first(waiting.of(host)), count)
        ]

    def urgency(self, host: Host) -> tuple[Any, ...]:
        if self._size and host.queue:
            taken = host.queue[-1][1]
            return (_IN_WINDOW, -self._worth(taken.depth, taken.hint), host.key)
        return self._position(host)

    def _position(self, host: Host) -> tuple[float, bytes]:
        passed = host.key <= self._key
        return (host.due or self._round + passed, host.key)

    def taken(self, host: Host, taken: Taken) -> None:
        self._round, self._key = max((self._round, self._key), self._position(host))
        host.due = self._round + 1


class LeafWindow(_Windowed):
    """A window over the leaves of each host that moves back and forth; the windows are read by row.

    Each queue page is the table: a column is the window of a host, and its rows are served one after the
    other, because the host served longest ago comes first.

    A window with a size stays in place until all its leaves were served, however few are taken at once.

    Invariant: the position and direction of each host's window are on disk as of the last queue page: the
    direction, the path it begins at and, while it stays, a line feed and the last path in it.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._meta = database.meta
        self._moved: dict[bytes, bytes] = {}

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        name = b"window " + host.prefix
        state = self._moved.get(name) or self._meta.get(name) or b">"
        way = state[:1]
        place, _, end = state[1:].partition(b"\n")
        for _ in range(4):  # the rest of the window, to the end, back, and once more
            found = list(islice(_window(waiting, host, way, place, end), self._size or count))
            if found:
                chosen = self._ranked(found)[:count]
                stays = len(chosen) < len(found)
                self._moved[name] = way + (place + b"\n" if stays else b"") + found[-1][0]
                return [(number, value) for _, number, value in chosen]
            if end:
                place, end = end, b""
            else:
                way, place = (b"<", b"\xff") if way == b">" else (b">", b"")
        return super().pick(waiting, host, count)

    def _ranked(self, found: list[Found]) -> list[Found]:
        """Return the leaves in a window, the best first if there is a ranking."""
        if self._ranking is None:
            return found
        entries = [entry_of(value) for _, _, value in found]
        worths = [self._worth(entry.depth, entry.hint) for entry in entries]
        order = sorted(range(len(found)), key=lambda place: -worths[place])
        return [found[place] for place in order]

    @property
    def has_news(self) -> bool:
        return bool(self._moved)

    def save(self, batch: WriteBatch) -> None:
        for name, state in self._moved.items():
            batch.put(name, state, self._meta.handle)
        self._moved.clear()


def _window(
    waiting: WaitingCursor, host: Host, way: bytes, place: bytes, end: bytes
) -> Iterator[Found]:
    """Yield the leaves of a host from a place on, to the right or to the left, up to an end if given."""
    if way == b">":
        leaves = _leaves(waiting.of(host, place))
        return takewhile(lambda found: found[0] <= end, leaves) if end else leaves
    leaves = _leaves_backwards(waiting.before(host, place))
    return takewhile(lambda found: found[0] >= end, leaves) if end else leaves


def _leaves(urls: Iterator[Found]) -> Iterator[Found]:
    """Yield those of sorted URLs whose successor is not below them."""
    previous: Found | None = None
    for found in urls:
        if previous is not None and not is_below(found[0], previous[0]):
            yield previous
        previous = found
    if previous is not None:
        yield previous


def _leaves_backwards(urls: Iterator[Found]) -> Iterator[Found]:
    """Yield the leaves among URLs that are sorted backwards."""
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
