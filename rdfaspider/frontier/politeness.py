"""How long a host is left alone: between two fetches, at its own request, and when it is in trouble.

`Manners` (manners.py) is what is remembered of one host, `Experience` what one fetch adds, `Demand` what is
asked for beside the fetches, `Politeness` the rules. A new number to remember is a field of `Manners` in
`stored`, one of `Experience` or `Demand`, which all frontiers pass on as they are, and a rule, here; who
learns it, mostly middlewares/politeness.py; and a new VERSION of the database (tables/database.py) and of the
messages (service/messages.py), because those of before lack it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.urls.own import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdfaspider.frontier.manners import Manners, ServerManners
    from rdfaspider.urls.own import OwnServers

# How many times as often as one host the hosts at one address are asked, if they have few names: BUbiNG has
# 4 s for a host and 0.5 s for an address.
_USUAL_PACE = 8.0
# By how much an answer brings back the pace of a server that has refused: 35 make up for a refusal.
_RECOVERY = 1.02


class Experience(NamedTuple):
    """How one fetch of a host went: it answered after `latency` seconds; or it refused (429, 503), perhaps
    naming a pause (`wanted`); or it was one of `strikes` recent pages of its domain that crashed an
    extraction process; or, if none of these, there was no answer."""

    latency: float | None = None
    refused: bool = False
    wanted: float | None = None
    strikes: int = 0


class Demand(NamedTuple):
    """What is asked for a host: the delay in its robots.txt (0 for none), or a pause from now on."""

    crawl_delay: float | None = None
    pause: float | None = None


@dataclass(frozen=True, slots=True)
class Politeness:
    """The rules of one crawl. Times are seconds.

    A host's pause is the longest of three: the configured one (another for large sites, row W2, or one of its
    own), the Crawl-delay of its robots.txt, and a multiple of the time it takes to answer. The user's own
    hosts have no pause, and no back-off unless they ask for one.

    The hosts at one address are asked more often than one host: eight times, and more if they have many
    names. Each refusal halves that pace, and answers bring it back. A host that is alone at its address has
    only its own pause.
    """

    delay: float = 1.0
    at_once: int = 1
    # For hosts with `large_pages` fetched.
    large_delay: float | None = None
    large_pages: int = 100
    latency_factor: float = 0.0
    longest_adaptive: float = 60.0
    first_backoff: float = 60.0
    longest_backoff: float = 86_400.0
    forgiven_after: float = 1_800.0
    # This many consecutive failures count as bad luck.
    failures_in_a_row: int = 3
    # How many times as often as one host the hosts at one address are asked, at most; with 0 and without a
    # `server_delay`, a pause that is always kept, each host has only its own clock.
    server_pace: float = 0.0
    server_delay: float | None = None
    own: OwnServers | None = None
    # For hosts with a delay of their own, by key: in place of `delay`.
    delays: Mapping[bytes, float] = field(default_factory=dict)

    def mark(self, host: Manners, *, is_own: bool) -> None:
        """Set whether a host is the user's own, and so how many of its URLs may be in flight."""
        host.is_own = is_own
        host.at_once = AT_ONCE if is_own else self.at_once

    def pause(self, host: Manners) -> float:
        """Return the seconds from the end of one fetch of a host to the start of the next."""
        if host.is_own:
            return 0.0
        configured = self.delay
        if self.large_delay is not None and host.pages >= self.large_pages:
            configured = self.large_delay
        if self.delays:
            configured = self.delays.get(host.key, configured)
        longest = host.crawl_delay if host.crawl_delay > configured else configured
        if not self.latency_factor:
            return longest
        return max(longest, min(self.latency_factor * host.latency, self.longest_adaptive))

    @property
    def has_servers(self) -> bool:
        """Return whether the hosts at one address share a clock."""
        return self.server_pace > 0 or self.server_delay is not None

    def server_pause(self, server: ServerManners, host: Manners | None = None) -> float:
        """Return the seconds from the end of one fetch at an address, of a host if it is known, to the start
        of the next."""
        if host is not None and host.is_own:
            return 0.0
        if self.server_delay is not None:
            return self.server_delay
        if not self.server_pace:
            return 0.0
        pace = max(_USUAL_PACE, sqrt(_USUAL_PACE * server.hosts))
        pause = self.delay / max(min(pace, self.server_pace) * server.share, 1.0)
        return min(pause, self.pause(host)) if host and server.hosts <= 1 else pause

    def learn_server(self, server: ServerManners, fetch: Experience) -> None:
        """Update what is remembered of a server after a fetch."""
        if fetch.refused:
            server.share = max(server.share / 2, 1 / max(self.server_pace, 1.0))
        elif fetch.latency is not None:
            server.share = min(server.share * _RECOVERY, 1.0)

    def learn(self, host: Manners, now: float, fetch: Experience) -> None:
        """Update what is remembered of a host after a fetch."""
        if fetch.strikes:
            self._back_off(host, now, fetch.strikes)
        elif fetch.refused:
            self._learn_refusal(host, now, fetch.wanted)
        elif fetch.latency is None:
            host.failures += 1
            self._back_off(host, now, host.failures - self.failures_in_a_row)
        else:
            host.failures = 0
            before = host.latency or fetch.latency
            host.latency = 0.8 * before + 0.2 * fetch.latency

    def heed(self, host: Manners, now: float, demand: Demand) -> bool:
        """Remember what is asked for a host; return False if that changes nothing."""
        before = host.crawl_delay, host.blocked
        if demand.crawl_delay is not None:
            host.crawl_delay = demand.crawl_delay
        if demand.pause is not None:
            host.blocked = max(host.blocked, now + demand.pause)
        return (host.crawl_delay, host.blocked) != before

    def _back_off(self, host: Manners, now: float, times: int) -> None:
        """Leave a host alone, twice as long each time."""
        if times > 0 and not host.is_own:
            seconds = self.first_backoff * 2 ** min(times - 1, 20)
            host.blocked = max(host.blocked, now + min(seconds, self.longest_backoff))

    def _learn_refusal(self, host: Manners, now: float, wanted: float | None) -> None:
        """Leave a host alone for as long as it wants.

        If it names no pause, double the last one and add a little jitter, so that hosts that refused
        together do not return together. Refusals long past are forgiven.
        """
        if host.is_own or now - host.blocked > self.forgiven_after:
            host.backoff = 0.0
        first = 0.0 if host.is_own else self.first_backoff
        host.backoff = min(max(first, 2 * host.backoff), self.longest_backoff)
        seconds = (
            host.backoff * host.jitter if wanted is None else min(wanted, self.longest_backoff)
        )
        host.blocked = max(host.blocked, now + seconds)
