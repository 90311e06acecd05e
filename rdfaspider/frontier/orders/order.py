"""What an order is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.schedule.queue import FED_AT_ONCE, INBOX_PAGE, MOST_OF_A_HOST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.waiting import WaitingCursor


# The number and the value of a waiting URL (waiting.py).
Picked = tuple[int, bytes]


class Order:
    """A small strategy over the trie on disk; this one goes by arrival, and others change what they like.

    It chooses the `rank` by which a host's waiting URLs are sorted, picks from them, and says how ready
    hosts are compared. It never sees politeness: it is only asked for hosts that may be fetched from. A
    *hint* is what it keeps with each URL, a number of 24 bits, made of what the finder said of the link.
    """

    # Whether URLs are told apart by hints; if not, none are kept.
    reads_hints = False
    # How many URLs of a host may be at hand, of how many hosts they are fetched at once, and how many links
    # are worth a look: an order that learns wants all this small.
    most_at_hand = MOST_OF_A_HOST
    fed_at_once = FED_AT_ONCE
    inbox_page = INBOX_PAGE

    def __init__(self, database: Database) -> None:
        """Take up what was saved."""

    def hint(self, context: int) -> int:
        """Return the hint for a link of which the finder said this."""
        return context

    def combine(self, old: int, new: int) -> int:
        """Return the hint of a URL that was found once more."""
        return max(old, new)

    def requested(self, hint: int) -> int:
        """Return the hint of a URL that was asked for."""
        return hint

    def done(self, hint: int, gain: float) -> int:
        """Return the hint of a URL that is done, by what its page was worth."""
        return hint

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        """Return the bytes by which a waiting URL is sorted among those of its host, before its number."""
        return b""

    def arrived(self, host: Host, keys: Sequence[bytes], findings: Mapping[bytes, int]) -> None:
        """Take in that new URLs of a host wait (findings.py)."""

    def forgotten(self, host: Host) -> None:
        """Take in that a host has no work any more."""

    def pick(self, waiting: WaitingCursor, host: Host, count: int) -> list[Picked]:
        """Return up to `count` of a host's waiting URLs that are not in flight, the next ones first."""
        return [(number, value) for _, number, value in islice(waiting.of(host), count)]

    def urgency(self, host: Host) -> Any:
        """Return how a host compares with others that are ready: small is first.

        It is asked each time a host gets ready, so it reads nothing from disk: there is the URL at hand,
        and before there is one, `low`, the first rank as far as is known.
        """
        return host.turn

    def taken(self, host: Host, taken: Taken) -> None:
        """Take in that a URL of a host was handed out."""

    def learn(self, host: Host, key: bytes, hint: int, gain: float) -> None:
        """Take in what a page of a host was worth that is done."""

    def save(self, batch: WriteBatch) -> None:
        """Add to the batch what the order must remember over a restart."""

    def close(self, batch: WriteBatch) -> None:
        """Add to the batch what may be saved seldom."""
