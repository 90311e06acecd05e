"""Exchanges with Redis in a thread of its own, so that the crawl never waits for the network.

One exchange is under way at a time. The thread only sends and receives; all that the frontier knows is
changed by whoever collects the replies. When Redis is away, the thread tries again, with growing pauses,
until it is back; the replies say that there was a gap.
"""

from __future__ import annotations

import logging
import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.redis.link import RedisAway

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfaspider.frontier.redis.link import RedisLink, Script

logger = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The replies to an exchange, when it was sent and received, and whether Redis was away."""

    replies: list[list[Any]]
    sent: float
    received: float
    gap: bool


class Exchange:
    """Runs one batch of scripts after the other in the background."""

    def __init__(self, link: RedisLink, clock: Callable[[], float]) -> None:
        self._link = link
        self._clock = clock
        self._requests: queue.SimpleQueue[Sequence[Sequence[Script]] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer | Exception] = queue.SimpleQueue()
        self._closing = threading.Event()
        self.is_busy = False
        self.is_away = False
        self._thread = threading.Thread(target=self._work, name="frontier", daemon=True)
        self._thread.start()

    def submit(self, stages: Sequence[Sequence[Script]]) -> None:
        assert not self.is_busy
        self.is_busy = True
        self._requests.put(stages)

    def collect(self, timeout: float | None = None) -> Answer | None:
        """Return the answer to what was submitted, None if there is none yet.

        FrontierUnavailable if there will be none.
        """
        if not self.is_busy:
            return None
        try:
            answer = self._answers.get(timeout is not None, timeout)
        except queue.Empty:
            return None
        self.is_busy = False
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the thread, also if it waits for Redis."""
        self._closing.set()
        self._requests.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (stages := self._requests.get()) is not None:
            try:
                self._answers.put(self._run(stages))
            except Exception as error:  # it must reach whoever collects, whatever it is
                self._answers.put(error)

    def _run(self, stages: Sequence[Sequence[Script]]) -> Answer:
        pause = 0.0
        while True:
            try:
                sent = self._clock()
                replies = self._link.run(stages)
                if self.is_away:
                    logger.info("Redis at %s is back.", self._link.url)
                self.is_away = False
                return Answer(replies, sent, self._clock(), gap=pause > 0)
            except RedisAway as error:
                if not self.is_away:
                    logger.warning("Redis at %s is away (%s): waiting.", self._link.url, error)
                self.is_away = True
                pause = min(max(_FIRST_PAUSE, 2 * pause), _LONGEST_PAUSE)
                if self._closing.wait(pause):
                    raise FrontierUnavailable(
                        f"Redis at {self._link.url} was away at the end ({error}): what this worker"
                        " had in flight is handed out again."
                    ) from error
