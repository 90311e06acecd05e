"""Reads the frontier of a crawl, running or not, without changing it."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.closable import Closable
from rdfaspider.focus.topics import topic_of
from rdfaspider.focus.topics.names import NOTE, read_names
from rdfaspider.frontier import BranchView, Counts, FrontierUnavailable, State, UrlView
from rdfaspider.frontier.engine.admission import count_admitted
from rdfaspider.frontier.engine.counters import Counters
from rdfaspider.frontier.engine.terms import limits_of, order_of, shard_begun
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.schedule.hosts import Host, Hosts
from rdfaspider.frontier.tables.database import Database, explain
from rdfaspider.frontier.tables.trie import DONE, KEPT, Trie
from rdfaspider.frontier.views.pages import PageViews
from rdfaspider.frontier.views.urls import UrlViews
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfaspider.frontier import HostView


class DatabaseReader(Closable):
    """Opens the database of a local frontier to read it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._database = Database(self._path, read_only=True)
        self.trie = Trie(self._database)
        self.shard = shard_begun(self._database)

    def close(self) -> None:
        self._database.close()

    def __exit__(self, *exception: object) -> None:
        self.close()
        if exception[0] is Exception:  # rocksdict raises nothing more special for a damaged file
            raise FrontierUnavailable(explain(self._path, exception[1]))


class FrontierReader(DatabaseReader):
    """Reads what a local frontier has written. What is in flight counts as waiting."""

    def __init__(self, path: str, *, delay: float) -> None:
        super().__init__(path)
        self._hosts = Hosts(self._database, Politeness(delay=delay))
        self.limits = limits_of(self._database)
        self.order = order_of(self._database)
        self._views = UrlViews(self._database)
        self.pages = PageViews(self._database, self.shard)

    @cached_property
    def _arriving(self) -> Counter[bytes]:
        """Return how many URLs of each host are only in the inbox; they count as waiting."""
        return count_admitted(self._database, self.limits)

    def counts(self) -> Counts:
        return Counters(self._database).counts(arriving=self._arriving.total())

    def hosts(self, now: float) -> Iterator[HostView]:
        arriving = self._arriving.copy()
        for host in self._hosts.all():
            host.waiting += arriving.pop(host.key, 0)
            yield self._hosts.view(host, now)
        for key, count in arriving.items():
            host = Host(key, 0)
            host.waiting = count
            yield self._hosts.view(host, now)

    def url(self, url: str) -> UrlView | None:
        """Return what is known of a normalised URL, None if nothing is."""
        return self._views.of(url)

    def number_of(self, url: str) -> int | None:
        """Return the number of a normalised URL, which no other shard uses; None if it has none."""
        record = self.trie.record(url)
        return None if record is None else record.number * self.shard.total + self.shard.number

    def url_of(self, number: int) -> str | None:
        """Return the URL with a number, None if this shard has none."""
        local, shard = divmod(number, self.shard.total)
        with suppress(IndexError, OverflowError):
            return self.trie.url(local) if shard == self.shard.number else None
        return None

    def ranks(self, urls: Iterable[str]) -> dict[str, float]:
        """Return the PageRank of those URLs that have one, 1 for the mean."""
        return self._views.ranks(urls)

    def ended(self, state: State, pattern: str = "") -> Iterator[UrlView]:
        """Yield the URLs that ended in a state and match a regular expression."""
        return (view for view in self._views.scan(state, pattern) if view is not None)

    def ended_for(self, state: State, reason: str, after: int = 0) -> Iterator[UrlView]:
        """Yield the URLs that ended in a state for a reason, by number, from a number on."""
        return (view for view in self._views.scan(state, "", reason, after) if view is not None)

    def below(self, prefix: bytes, state: State) -> Iterator[UrlView]:
        """Yield the URLs below a prefix of keys that ended in a state."""
        return (view for view in self._views.below(prefix, state) if view is not None)

    def under(self, prefix: bytes) -> Iterator[BranchView]:
        return (view for view in self._views.branches(prefix) if view is not None)

    def note(self, name: str) -> bytes | None:
        return self._database.notes.get(name.encode())

    def hubs(self, most: int) -> dict[str, list[str]]:
        """Return up to `most` hub pages of each topic; "" stands for none."""
        return hubs_of(self._database, most)


def hubs_of(database: Database, most: int) -> dict[str, list[str]]:
    """Return up to `most` done pages by topic, those first on which most URLs were first found.

    WebParF starts from such hubs; a later crawl takes them from an earlier one (section IV.A; row P9).
    Pages of no topic, and all pages of a crawl without topics, are under "".
    """
    found = _found_on_each(database)
    names = read_names(database.notes.get(NOTE.encode())) or [""]
    pages: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for key, record in Trie(database).subtree():
        if record.state in (DONE, KEPT) and (count := found[record.number]):
            topic = topic_of(record.hint)
            those = pages[topic if topic < len(names) else 0]
            those.append((count, key))
            if len(those) > 4 * most:
                those[:] = nlargest(most, those)
    return {
        names[topic]: [to_url(key) for _, key in nlargest(most, those)]
        for topic, those in sorted(pages.items())
    }


def _found_on_each(database: Database) -> Counter[int]:
    """Return how many URLs were first found on each page, by the page's number."""
    found: Counter[int] = Counter()
    for _, value in database.referrers.pairs():
        block = array("Q")
        block.frombytes(value)
        found.update(block)
    found.pop(0, None)  # found on no page
    return Counter({number - 1: count for number, count in found.items()})
