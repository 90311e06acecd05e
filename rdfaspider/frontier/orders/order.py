"""The interface of an order, and its simplest form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.schedule.queue import FED_AT_ONCE, INBOX_PAGE, MOST_OF_A_HOST
from rdfaspider.frontier.schedule.ready import ReadyHosts
from rdfaspider.frontier.tables.trie import DEPTH, HINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.waiting import Picked, WaitingCursor


class Order:
    """Chooses the next URL. This one goes by arrival; subclasses override what they need.

    An order chooses the `rank` by which a host's waiting URLs are sorted, picks from them, and compares
    ready hosts. It never sees politeness: it is only asked about hosts that may be fetched from. A *hint*
    is a number of 24 bits that it keeps with each URL, made from the context of the link.
    """

    # What it is told of pages and links: as the order `harvest` is, or `topics`, or nothing
    # (scheduler/answers/advice.py).
    advice = ""
    # Whether the order uses hints; if not, none are kept.
    reads_hints = False
    # Whether the weight of the links to a URL is in its hint, which PageRank corrects (engine/steering.py).
    reads_ranks = False
    # URLs of one host at hand, hosts in one queue page, and links that make a sieve worthwhile: an order
    # that learns wants these small.
    most_at_hand = MOST_OF_A_HOST
    fed_at_once = FED_AT_ONCE
    inbox_page = INBOX_PAGE
    # How many links may still have to be looked up when a URL is chosen, as a share of the waiting URLs; with
    # 0 every choice is made among all.
    patience = 0.0

    def __init__(self, database: Database) -> None:
        """Load what was saved."""

    def hint(self, context: int) -> int:
        """Return the hint for a link with a context."""
        return context

    def combine(self, old: int, new: int) -> int:
        """Return the hint of a URL that was found again."""
        return max(old, new)

    def ranked(self, hint: int, weight: int) -> int:
        """Return the hint of a URL whose links have a weight (linkgraph/weights.py); the same hint if it
        says nearly that already."""
        return hint

    def requested(self, hint: int) -> int:
        """Return the hint of a URL after a request for it."""
        return hint

    def done(self, hint: int, gain: float) -> int:
        """Return the hint of a done URL, given what its page was worth."""
        return hint

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        """Return the bytes that sort a waiting URL among those of its host, before its number."""
        return b""

    def arrived(self, host: Host, keys: Sequence[bytes], findings: Sequence[int]) -> list[bytes]:
        """Notice URLs of a host that begin to wait, with their findings (tables/trie.py); return their ranks.

        The host does not count them yet.
        """
        rank, pairs = self.rank, zip(keys, findings, strict=True)
        return [rank(key, found & DEPTH, found >> HINT) for key, found in pairs]

    def is_stirred(self, host: Host) -> bool:
        """Return whether the URLs that arrived last may have changed how a ready host compares."""
        return self.reads_hints

    def forgotten(self, host: Host) -> None:
        """Notice that a host has no more work."""

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        """Return up to `count` of a host's waiting URLs that are not in flight, the next ones first."""
        return waiting.first_of(host, b"", count)

    def ready_hosts(self) -> ReadyHosts:
        """Return what chooses between ready hosts; by default their urgency does."""
        return ReadyHosts()

    def urgency(self, host: Host) -> Any:
        """Return how a host compares with other ready hosts: the smallest comes first.

        It is called each time a host gets ready, so it must not read from disk: use the URL at hand and,
        before there is one, `low`, the first rank as far as is known.
        """
        return host.turn

    def taken(self, host: Host, taken: Taken) -> None:
        """Notice that a URL of a host was handed out."""

    def learn(self, host: Host, key: bytes, hint: int, gain: float) -> None:
        """Learn what a done page of a host was worth."""

    @property
    def has_news(self) -> bool:
        """Return whether there may be something to save; an order that has `save` and not this is asked
        each time."""
        return type(self).save is not Order.save

    def save(self, batch: WriteBatch) -> None:
        """Add to the batch what the order must remember across a restart."""

    def close(self, batch: WriteBatch) -> None:
        """Add to the batch what need not be saved often."""
