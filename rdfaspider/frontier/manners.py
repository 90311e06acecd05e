"""What is remembered of one host, for politeness.py."""

from __future__ import annotations

from typing import Final

# failures in a row; crawl delay, latency, back-off, clock, blocked until
MANNERS_FORMAT: Final = "Hddddd"
_MOST_FAILURES: Final = 65_535


class Manners:
    """What is remembered of one host, for politeness. Times are seconds.

    The host may be asked again at `clock`, its delay after the last fetch, and not before `blocked`,
    because of trouble or at its own request. Up to `at_once` of its URLs may be in flight. `is_own` marks
    the user's own hosts. `key` is its name as in keys (urls/keys.py).
    """

    __slots__ = (
        "at_once",
        "backoff",
        "blocked",
        "clock",
        "crawl_delay",
        "failures",
        "is_own",
        "key",
        "latency",
    )

    def __init__(self, key: bytes = b"") -> None:
        self.key = key
        self.failures = 0
        self.crawl_delay = self.latency = self.backoff = self.clock = self.blocked = 0.0
        self.is_own = False
        self.at_once = 1

    @property
    def pages(self) -> int:
        """Return how many pages of the host were fetched."""
        return 0

    @property
    def jitter(self) -> float:
        """Return a factor a little above 1 that differs from host to host."""
        return 1.0

    @property
    def stored(self) -> tuple[int, float, float, float, float, float]:
        """The numbers to remember, as MANNERS_FORMAT has them."""
        failures = self.failures if self.failures < _MOST_FAILURES else _MOST_FAILURES
        return failures, self.crawl_delay, self.latency, self.backoff, self.clock, self.blocked

    @stored.setter
    def stored(self, numbers: tuple[int, float, float, float, float, float]) -> None:
        (self.failures, self.crawl_delay, self.latency, self.backoff, self.clock, self.blocked) = (
            numbers
        )
