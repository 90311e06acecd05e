"""How long a host is left alone: between two fetches, when it asks for it, and when it is in trouble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfaspider.urls.own import AT_ONCE

if TYPE_CHECKING:
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.urls.own import OwnServers


@dataclass(frozen=True, slots=True)
class Politeness:
    """The rules of one crawl. Times are seconds.

    A host's pause is the longest of three: the configured one (another for large sites, row W2), the
    Crawl-delay of its robots.txt, and a multiple of the time it takes to answer. Hosts that are `own`
    have none, nor back-off unless they say for how long.
    """

    delay: float = 1.0
    at_once: int = 1
    large_delay: float | None = None  # for hosts of which `large_pages` were fetched
    large_pages: int = 100
    latency_factor: float = 0.0
    longest_adaptive: float = 60.0
    first_backoff: float = 60.0
    longest_backoff: float = 86_400.0
    forgiven_after: float = 1_800.0
    failures_in_a_row: int = 3  # that are taken for bad luck
    server_delay: float | None = (
        None  # for all hosts of one address together; None: each is its own
    )
    own: OwnServers | None = None

    def mark(self, host: Host) -> None:
        """Say of a host whether it is own, which its name or its address tells, and so its limit."""
        host.is_own = self.own is not None and self.own.includes(host.name, host.address)
        host.at_once = AT_ONCE if host.is_own else self.at_once

    def pause(self, host: Host) -> float:
        """Return the seconds from the end of one fetch of a host to the start of the next."""
        if host.is_own:
            return 0.0
        is_large = self.large_delay is not None and host.done + host.failed >= self.large_pages
        configured = self.large_delay if is_large and self.large_delay is not None else self.delay
        adaptive = min(self.latency_factor * host.latency, self.longest_adaptive)
        return max(configured, host.crawl_delay, adaptive)

    def note_answer(self, host: Host, latency: float) -> None:
        """Take in that a host answered, after so long."""
        host.failures = 0
        host.latency = latency if not host.latency else 0.8 * host.latency + 0.2 * latency

    def note_refusal(self, host: Host, now: float, wanted: float | None) -> None:
        """Take in that a host said it has too much to do, and perhaps for how long (Retry-After).

        Without a time the host is left alone twice as long as the last time, and a little longer by a
        share of its own, so that hosts that were refused together do not come back together. What is
        long past is forgiven.
        """
        if host.is_own or now - host.blocked > self.forgiven_after:
            host.backoff = 0.0
        first = 0.0 if host.is_own else self.first_backoff
        host.backoff = min(max(first, 2 * host.backoff), self.longest_backoff)
        own_share = 1 + host.id * 2654435761 % 1000 / 10_000
        seconds = host.backoff * own_share if wanted is None else min(wanted, self.longest_backoff)
        host.blocked = max(host.blocked, now + seconds)

    def note_failure(self, host: Host, now: float) -> None:
        """Take in that a host did not answer, or with an error of its own."""
        host.failures += 1
        beyond = host.failures - self.failures_in_a_row
        if beyond > 0 and not host.is_own:
            seconds = self.first_backoff * 2 ** min(beyond - 1, 20)
            host.blocked = max(host.blocked, now + min(seconds, self.longest_backoff))

    def note_strikes(self, host: Host, now: float, strikes: int) -> None:
        """Take in that so many pages of a host's domain have cost a worker lately."""
        if not host.is_own:
            seconds = self.first_backoff * 2 ** min(strikes - 1, 20)
            host.blocked = max(host.blocked, now + min(seconds, self.longest_backoff))
