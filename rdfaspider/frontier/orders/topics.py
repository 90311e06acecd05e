"""One URL of each topic in turn, the best of each first: WebParF's allocator and ranker (rows P2, P3).

The finder of a link decides its topic (focus/topics).
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from rdfaspider.focus.topics.ranker import (
    judged,
    links_of,
    merge,
    requested,
    requests_of,
    score_of,
    standing,
    topic_of,
    with_links,
)
from rdfaspider.frontier.orders.order import Order
from rdfaspider.linkgraph.weights import doublings_of

if TYPE_CHECKING:
    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.waiting import Picked, WaitingCursor

_TOPIC = 0xFF00  # its bits in a hint
_MOST = 1023  # greater than any standing


class Topics(Order):
    """The hint is the topic and the input of its ranker: score, links, requests (topics/ranker.py).

    Topics take turns by fair queueing: a URL at hand gets the next tag of its topic, one more than the
    topic's last tag but not less than the tag being served. So a topic with a thousand ready hosts and one
    with a single host are served alternately, as long as both have any.

    Invariant: the rank is topic and inverted standing, so a host's pool of a topic is a range, the best
    first.
    """

    advice = "topics"
    reads_hints = True
    reads_ranks = True

    def __init__(self, database: Database) -> None:
        self._chance = Random(0)
        self._places: dict[int, bytes] = {}  # by the hint without its topic: 65,536 at most
        self._now = 0
        self._last: dict[int, int] = {}
        self._tags: dict[int, int] = {}  # host → tag of the URL it has at hand

    def combine(self, old: int, new: int) -> int:
        return merge(old, new, self._chance)

    def ranked(self, hint: int, weight: int) -> int:
        return with_links(hint, round(doublings_of(weight)))

    def requested(self, hint: int) -> int:
        return requested(hint)

    def done(self, hint: int, gain: float) -> int:
        return judged(hint, gain)

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        known = hint & ~_TOPIC
        place = self._places.get(known)
        if place is None:
            place = self._places[known] = self._place(hint)
        return bytes((topic_of(hint),)) + place

    def _place(self, hint: int) -> bytes:
        """Return the place in the pool of a topic."""
        rank = standing(score_of(hint), links_of(hint), requests_of(hint))
        return (_MOST - rank).to_bytes(2, "big")

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        """Go round the topics of the host, from the one after the last that was served."""
        pools = self._pools(waiting, host, count, -(-count // 4))
        if 0 < sum(map(len, pools)) < count:  # with so few topics, take more of each
            pools = self._pools(waiting, host, count, -(-count // len(pools)))
        rows = range(max(map(len, pools), default=0))
        return [pool[row] for row in rows for pool in pools if row < len(pool)][:count]

    def _pools(
        self, waiting: WaitingCursor, host: Host, most: int, share: int
    ) -> list[list[Picked]]:
        """Return the best URLs of the host's next topics, leaving out those in flight."""
        pools: list[list[Picked]] = []
        start = int(host.due) + 1
        for first, end in ((start, 256), (0, start)):
            while first < end and len(pools) < most:
                topic, pool = self._first(waiting, host, first, share)
                if topic >= end:
                    break
                pools.append(pool)
                first = topic + 1
        return pools

    def _first(
        self, waiting: WaitingCursor, host: Host, first: int, count: int
    ) -> tuple[int, list[Picked]]:
        """Return the first topic from a number on that has any, 256 if none, and its best, with one seek."""
        topic = 256
        pool: list[Picked] = []
        for rank, number, value in waiting.of(host, bytes((first,))):
            if pool and (rank[0] != topic or len(pool) == count):
                break
            topic = rank[0]
            pool.append((number, value))
        return topic, pool

    def urgency(self, host: Host) -> int:
        if not host.queue:
            return self._now  # it gets URLs first, and a place among them later
        topic = topic_of(host.queue[-1][1].hint)
        tag = max(self._now, self._last.get(topic, 0)) + 1
        self._last[topic] = self._tags[host.id] = tag
        return tag

    def taken(self, host: Host, taken: Taken) -> None:
        self._now = max(self._now, self._tags.pop(host.id, 0))
        host.due = topic_of(taken.hint)
