"""The paged queue: URLs are handed out in pages in which the URLs of one host are far apart.

When ready hosts have nothing at hand, a queue page is made for them: each gives as many URLs as the
diversity threshold allows, and the page is spread so that the URLs of one host are as far apart as
possible. The page decides in which order ready hosts are served.

The threshold is the RDFa Web Spider's: the reciprocal of the URLs taken per second. No host has a larger
share of a page, so at a steady rate none is asked more often than once a second. If all ready hosts are in
the page and are too few for that, no host has more than an equal share. A host has at least one URL in its
page and at most 20. Where each host rests for a second after a fetch anyway, a page may have more of it: that
saves reads. The same holds for a host that may have as many URLs in flight as a page may have of it, such as
a server of the user.

What survives a kill. A queue page is not written: its URLs count as waiting until they are finished, so the
next page finds them again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from rdfaspider.frontier import Taken
from rdfaspider.frontier.tables.waiting import WaitingCursor, entry_of
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Family

Kind = TypeVar("Kind", bound="Hashable")

# An inbox with this many links is sieved, and at most this many URLs are put in one batch.
INBOX_PAGE = 20_000

# Hosts in one queue page, if they are ready together.
FED_AT_ONCE = 256

# URLs in a queue page, and the most of one host in it (row K4).
QUEUE_PAGE = 2_000
MOST_OF_A_HOST = 20

# URLs at hand of all hosts: a few queue pages. Beyond that, a host that goes to sleep drops its own.
MOST_AT_HAND = 10_000


class Queue:
    """The URLs at hand: read from disk, and about to be handed out or in flight.

    Layout: `_loaded` has them by number. Each host has its own in `queue`, with their places in a page,
    until they are taken. When there are too many, a host that goes to sleep drops its own.
    """

    def __init__(self, waiting: Family, order: Order, *, rests: bool = False) -> None:
        self._waiting = waiting
        self._order = order
        self._rests = rests  # whether each host rests for a second after a fetch
        self._loaded: dict[int, Taken] = {}
        self._diversity = Diversity()
        self._places = 0
        self.popped = 0  # new URLs handed out

    def __len__(self) -> int:
        return len(self._loaded)

    def get(self, number: int) -> Taken | None:
        """Return a URL at hand; its depth may have decreased since it was read."""
        return self._loaded.get(number)

    def fill(self, hosts: list[Host], now: float) -> bool:
        """Make a queue page of ready hosts: give each its next URLs, and each URL its place.

        Return whether there were any.
        """
        room = (MOST_AT_HAND - len(self._loaded)) // len(hosts)
        most = max(1, min(self._order.most_at_hand, room))
        quota = min(self._diversity.quota(now), most)
        if not self._rests:
            are_all = len(hosts) < self._order.fed_at_once
            quota = self._diversity.fair(quota, [host.waiting for host in hosts], are_all=are_all)
            most = most if are_all else quota
        cursor = WaitingCursor(self._waiting)
        found = {
            host.id: self._order.pick(
                cursor, host, quota if host.at_once < MOST_OF_A_HOST else most
            )
            for host in sorted(hosts, key=lambda host: host.id)  # neighbours share blocks on disk
        }
        picked = [(host, number, value) for host in hosts for number, value in found[host.id]]
        page = spread([host.id for host, _, _ in picked])
        for place in reversed(range(len(page))):
            host, number, value = picked[page[place]]
            depth, attempts, hint, hops, rest = entry_of(value)
            taken = Taken(to_url(host.key + rest), depth, attempts, number, host.id, hint, hops)
            self._loaded[number] = taken
            host.queue.append((self._places + place, taken))
        self._places += len(page)
        return bool(picked)

    def pop(self, host: Host) -> Taken:
        _, taken = host.queue.pop()
        self.popped += 1
        self._diversity.taken()
        return taken

    def tidy(self, host: Host) -> None:
        """Drop the URLs of a host that goes to sleep, if there are too many; they will be read again."""
        if len(self._loaded) > MOST_AT_HAND:
            self.put_back(host)

    def put_back(self, host: Host) -> None:
        """Drop the URLs of a host that are not taken, so that they are chosen again."""
        for _, taken in host.queue:
            del self._loaded[taken.number]
        host.queue.clear()

    def recall(self, host: Host, pages: list[Taken]) -> None:
        """Add pages of a host that are to be visited again, the next one last."""
        host.recalled = pages
        for taken in pages:
            self._loaded[taken.number] = taken

    def put_back_recalled(self, host: Host) -> list[Taken]:
        """Drop the pages of a host that are to be visited again and are not taken; return them."""
        pages, host.recalled = [*host.recalled], []
        for taken in pages:
            del self._loaded[taken.number]
        return pages

    def pop_recalled(self, host: Host) -> Taken:
        self._diversity.taken()
        assert isinstance(host.recalled, list)
        return host.recalled.pop()

    def adopt(self, host: Host, taken: Taken) -> None:
        """Add a URL that is in flight already; it may be at hand too."""
        host.queue = [entry for entry in host.queue if entry[1].number != taken.number]
        host.recalled = [each for each in host.recalled if each.number != taken.number]
        self._loaded[taken.number] = taken

    def drop(self, taken: Taken) -> None:
        del self._loaded[taken.number]


class Diversity:
    """Measures the rate of takes and derives how many URLs one host may have in a page."""

    def __init__(self) -> None:
        self._takes = 0
        self._since: float | None = None
        self._is_known = False
        self.threshold = 1.0

    def taken(self) -> None:
        self._takes += 1

    def quota(self, now: float) -> int:
        """Update the threshold by the takes since the last update, and return its share of a page.

        It is updated at most once a second: a shorter time says little about the rate.
        """
        if self._since is None:
            self._takes, self._since = 0, now
        elif now - self._since >= 1.0:
            if self._takes:
                self.threshold = min(1.0, (now - self._since) / self._takes)
                self._is_known = True
            self._takes, self._since = 0, now
        return max(1, min(MOST_OF_A_HOST, int(QUEUE_PAGE * self.threshold)))

    def fair(self, quota: int, waiting: Sequence[int], *, are_all: bool) -> int:
        """Lower a quota until no host exceeds its share of the page, but not below one.

        `waiting` has the number of waiting URLs of each host; `are_all` says that no other host is ready.
        """
        share = self.threshold if self._is_known else 0.0
        if are_all:
            share = max(share, 1 / len(waiting))
        while quota > 1 and quota > round(share * sum(min(count, quota) for count in waiting)):
            quota -= 1
        return quota


def spread(hosts: Sequence[Kind]) -> list[int]:
    """Return the indexes of a page in an order that puts each host's entries far apart.

    The most frequent host goes first and takes every n/f-th place of the n; each next one takes the first
    free places at or after its own even steps. Entries of one host keep their order.
    """
    if len(hosts) == 1:  # as an order that learns asks for them
        return [0]
    places: list[int | None] = [None] * len(hosts)
    free = _Free(len(hosts))
    entries: dict[Kind, list[int]] = {}
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
