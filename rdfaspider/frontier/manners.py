"""What is remembered of one host, and of one server, for politeness.py."""

from __future__ import annotations

# failures in a row; crawl delay, latency, back-off, asked until, blocked until
MANNERS_FORMAT = "Hddddd"
_MOST_FAILURES = 65_535
NEVER_ASKED = float("-inf")


class Manners:
    """What is remembered of one host, for politeness. Times are seconds.

    The last fetch of the host ended at `asked`, from which its delay counts, and it is not asked before
    `blocked`, because of trouble or at its own request. Up to `at_once` of its URLs may be in flight.
    `is_own` marks the user's own hosts. `key` is its name as in keys (urls/keys.py).
    """

    __slots__ = (
        "asked",
        "at_once",
        "backoff",
        "blocked",
        "crawl_delay",
        "failures",
        "is_own",
        "key",
        "latency",
    )

    def __init__(self, key: bytes = b"") -> None:
        self.key = key
        self.failures = 0
        self.crawl_delay = self.latency = self.backoff = self.blocked = 0.0
        self.asked = NEVER_ASKED
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
        return failures, self.crawl_delay, self.latency, self.backoff, self.asked, self.blocked

    @stored.setter
    def stored(self, numbers: tuple[int, float, float, float, float, float]) -> None:
        (self.failures, self.crawl_delay, self.latency, self.backoff, self.asked, self.blocked) = (
            numbers
        )


class ServerManners:
    """What is remembered of one server: how many names it has among the `hosts` with work, and which share of
    its pace it keeps to since it refused a fetch."""

    __slots__ = ("hosts", "share")

    def __init__(self) -> None:
        self.hosts = 0
        self.share = 1.0
