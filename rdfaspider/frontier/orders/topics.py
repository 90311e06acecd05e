"""One URL of each topic in turn, the best of each first: WebParF's allocator and ranker (rows P2, P3).

What a topic is, and which links belong to it, is said by whoever finds them (frontier/topics).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier.orders.order import Order

if TYPE_CHECKING:
    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.database import Database
    from rdfaspider.frontier.hosts import Host
    from rdfaspider.frontier.orders.order import Picked, Waiting


class Topics(Order):
    """The hint is the topic (a byte) and the score (a byte, large is good).

    The turns are those of fair queueing: a URL at hand gets the next tag of its topic, one more than the last
    of that topic but not less than what is served now. So a topic with a thousand ready hosts and one with
    a single host are served alternately, as long as both have any.

    Invariant: the rank is topic and score, so a host's pool of a topic is a range, the best first.
    """

    reads_hints = True

    def __init__(self, database: Database) -> None:
        self._now = 0
        self._last: dict[int, int] = {}
        self._tags: dict[int, int] = {}  # host → tag of the URL it has at hand

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return bytes((hint >> 8 & 255, 255 - (hint & 255)))

    def pick(self, waiting: Waiting, host: Host, count: int) -> list[Picked]:
        """Go round the topics of the host, from the one after that it was last served of."""
        topics = self._topics(waiting, host, count)
        pools = [self._best(waiting, host, topic, -(-count // len(topics))) for topic in topics]
        rows = range(max(map(len, pools)))
        return [pool[row] for row in rows for pool in pools if row < len(pool)][:count]

    def _topics(self, waiting: Waiting, host: Host, most: int) -> list[int]:
        """Return the next topics of which URLs of a host wait that are not in flight."""
        topics: list[int] = []
        start = int(host.due) + 1
        for first, end in ((start, 256), (0, start)):
            while first < end and len(topics) < most:
                found = next(waiting.of(host, bytes((first,))), None)
                if found is None or found[0][0] >= end:
                    break
                topics.append(found[0][0])
                first = topics[-1] + 1
        return topics

    def _best(self, waiting: Waiting, host: Host, topic: int, count: int) -> list[Picked]:
        pool: list[Picked] = []
        for rank, number, value in waiting.of(host, bytes((topic,))):
            if rank[0] != topic or len(pool) == count:
                break
            pool.append((number, value))
        return pool

    def urgency(self, host: Host) -> int:
        if not host.queue:
            return self._now  # it is given URLs first, and a place among them after
        topic = host.queue[-1][1].hint >> 8
        tag = max(self._now, self._last.get(topic, 0)) + 1
        self._last[topic] = self._tags[host.id] = tag
        return tag

    def taken(self, host: Host, taken: Taken) -> None:
        self._now = max(self._now, self._tags.pop(host.id, 0))
        host.due = taken.hint >> 8
