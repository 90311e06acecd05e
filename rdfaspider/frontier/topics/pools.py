"""URL pools: for each topic a queue of score → FIFO, served one URL of each in turn (Figures 5 and 6).

Layout. A pool is a heap of scores, the highest first, each with its URLs in order of arrival. `take` goes
round the topics from where it stopped.

Invariant. A score is in the heap of its topic if and only if URLs wait with it, so every pool that has
URLs is served once before any is served twice.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


def rank_of(topic: int, score: int) -> bytes:
    """Return the same order as bytes, for a sorted store: by topic, then the best first."""
    return bytes((topic, 255 - score))


class Pools(Generic[Item]):
    """Waiting URLs, or whatever stands for them, by topic and score."""

    def __init__(self, topics: int) -> None:
        self._scores: list[list[int]] = [[] for _ in range(topics)]
        self._lists: list[dict[int, deque[Item]]] = [{} for _ in range(topics)]
        self._next = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, topic: int, score: int, item: Item) -> None:
        """Let something wait in the pool of a topic behind all with the same score."""
        waiting = self._lists[topic].get(score)
        if waiting is None:
            waiting = self._lists[topic][score] = deque()
            heapq.heappush(self._scores[topic], -score)
        waiting.append(item)
        self._size += 1

    def take(self) -> tuple[int, Item] | None:
        """Return the best of the next topic that has any, with the topic; None if all are empty."""
        topics = len(self._scores)
        for step in range(topics):
            topic = (self._next + step) % topics
            if self._scores[topic]:
                self._next = (topic + 1) % topics
                return topic, self._take_from(topic)
        return None

    def _take_from(self, topic: int) -> Item:
        score = -self._scores[topic][0]
        waiting = self._lists[topic][score]
        item = waiting.popleft()
        if not waiting:
            del self._lists[topic][score]
            heapq.heappop(self._scores[topic])
        self._size -= 1
        return item
