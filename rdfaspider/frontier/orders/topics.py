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
        pools: list[list[Picked]] = []
        found = next(waiting.of(host), None)
        while found is not None:
            topic = found[0][0]
            pools.append(self._best(waiting, host, topic, count))
            found = next(waiting.of(host, bytes((topic + 1,))), None) if topic < 255 else None
        start = sum(pool[0][1][3] <= host.due for pool in pools) % max(len(pools), 1)
        pools = pools[start:] + pools[:start]
        rows = range(max(map(len, pools), default=0))
        return [pool[row] for row in rows for pool in pools if row < len(pool)][:count]

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
